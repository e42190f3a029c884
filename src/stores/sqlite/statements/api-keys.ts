import type { Page } from '../../../store/jobs.ts'
import type { ApiKey, KeyFilter } from '../../../store/keys.ts'
import { KEY_COLUMNS, type KeyRow, toApiKey } from '../../shared/api-key-rows.ts'
import { readCursor } from '../../shared/list-spots.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

// 1 row, or an error: ids and hashes are unique.
const INSERT_KEY = `
insert into pawl_api_keys (key_id, name, role, prefix, hash, created_by, created_at, expires_at, revoked_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)`

export function createKey({ connection }: Transaction, key: ApiKey, hash: string): void {
  const { keyId, name, role, prefix, createdBy, createdAt, expiresAt, revokedAt } = key
  connection.run(INSERT_KEY, keyId, name, role, prefix, hash, createdBy, createdAt, expiresAt, revokedAt)
}

const SELECT_KEY_BY_HASH = `select ${KEY_COLUMNS} from pawl_api_keys where hash = ?`

export function findKeyByHash(connection: Connection, hash: string): { apiKey: ApiKey; hash: string } | null {
  const row = connection.get<KeyRow>(SELECT_KEY_BY_HASH, hash)
  return row === undefined ? null : { apiKey: toApiKey(row), hash: row.hash }
}

const SELECT_KEY = `select ${KEY_COLUMNS} from pawl_api_keys where key_id = ?`

export function findKey(connection: Connection, keyId: string): ApiKey | null {
  const row = connection.get<KeyRow>(SELECT_KEY, keyId)
  return row === undefined ? null : toApiKey(row)
}

// 1 row: revoked. 0 rows: it was before, or it never existed.
const REVOKE_KEY = `
update pawl_api_keys
set revoked_at = ?
where key_id = ? and revoked_at is null`

export function revokeKey({ connection }: Transaction, keyId: string, now: number): 'revoked' | 'not-found' {
  if (connection.run(REVOKE_KEY, now, keyId) === 1) return 'revoked'
  return findKey(connection, keyId) === null ? 'not-found' : 'revoked'
}

const HAS_KEYS = 'select key_seq from pawl_api_keys limit 1'

/** Nothing ever removes a key, so this stays true once it is. */
export function hasKeys(connection: Connection): boolean {
  return connection.get(HAS_KEYS) !== undefined
}

const SELECT_KEYS = `
select ${KEY_COLUMNS}
from pawl_api_keys
where key_seq < ?
order by key_seq desc
limit ?`

export function listKeys(connection: Connection, { limit, cursor }: KeyFilter): Page<ApiKey> {
  const rows = connection.all<KeyRow>(SELECT_KEYS, ...readCursor(cursor, 1), limit)
  const last = rows[rows.length - 1]
  return {
    items: rows.map(toApiKey),
    nextCursor: rows.length === limit && last !== undefined ? String(last.key_seq) : null,
  }
}
