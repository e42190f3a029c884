import type { Transaction } from '../transaction.ts'

const SELECT_BUSINESS_KEY = 'select chain_id from pawl.business_keys where business_key = $1'

/** The chain that holds this key, if one does. */
export async function findBusinessKey({ connection }: Transaction, key: string): Promise<string | undefined> {
  return (await connection.get<{ chain_id: string }>(SELECT_BUSINESS_KEY, key))?.chain_id
}

// Fails as a duplicate when another transaction was faster; then all of this one is begun anew and finds it taken.
const INSERT_BUSINESS_KEY = 'insert into pawl.business_keys (business_key, chain_id) values ($1, $2)'

export async function holdBusinessKey({ connection }: Transaction, key: string, chainId: string): Promise<void> {
  await connection.run(INSERT_BUSINESS_KEY, key, chainId)
}

const RELEASE_BUSINESS_KEY = 'delete from pawl.business_keys where business_key = $1 and chain_id = $2'

export async function releaseBusinessKey({ connection }: Transaction, key: string, chainId: string): Promise<void> {
  await connection.run(RELEASE_BUSINESS_KEY, key, chainId)
}
