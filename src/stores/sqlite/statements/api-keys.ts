import type { Page } from '../../../store/jobs.ts'
import type { ApiKey, KeyFilter } from '../../../store/keys.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

export function createKey(_transaction: Transaction, _key: ApiKey, _hash: string): void {
  throw new Error('being built')
}

export function findKeyByHash(_connection: Connection, _hash: string): ApiKey | null {
  throw new Error('being built')
}

export function revokeKey(_transaction: Transaction, _keyId: string, _now: number): 'revoked' | 'not-found' {
  throw new Error('being built')
}

export function findKey(_connection: Connection, _keyId: string): ApiKey | null {
  throw new Error('being built')
}

export function hasKeys(_connection: Connection): boolean {
  throw new Error('being built')
}

export function listKeys(_connection: Connection, _filter: KeyFilter): Page<ApiKey> {
  throw new Error('being built')
}
