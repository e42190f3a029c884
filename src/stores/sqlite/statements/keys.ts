import type { Transaction } from '../transaction.ts'

const SELECT_BUSINESS_KEY = 'select chain_id from pawl_business_keys where business_key = ?'

/** The chain that holds this key, if one does. */
export function findBusinessKey(transaction: Transaction, key: string): string | undefined {
  return transaction.connection.get<{ chain_id: string }>(SELECT_BUSINESS_KEY, key)?.chain_id
}

const INSERT_BUSINESS_KEY = 'insert into pawl_business_keys (business_key, chain_id) values (?, ?)'

export function holdBusinessKey(transaction: Transaction, key: string, chainId: string): void {
  transaction.connection.run(INSERT_BUSINESS_KEY, key, chainId)
}

const RELEASE_BUSINESS_KEY = 'delete from pawl_business_keys where business_key = ? and chain_id = ?'

export function releaseBusinessKey(transaction: Transaction, key: string, chainId: string): void {
  transaction.connection.run(RELEASE_BUSINESS_KEY, key, chainId)
}
