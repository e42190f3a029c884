import type { Page } from '../../../store/jobs.ts'
import type { ApiKey, KeyFilter } from '../../../store/keys.ts'
import { KEY_COLUMNS, type KeyRow, toApiKey } from '../../shared/api-key-rows.ts'
import { readCursor } from '../../shared/list-spots.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

// 1 row, or an error: ids and hashes are unique.
const INSERT_KEY = `
insert into pawl.api_keys (key_id, name, role, prefix, hash, created_by, created_at, expires_at, revoked_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

export async function createKey({ connection }: Transaction, key: ApiKey, hash: string): Promise<void> {
  const { keyId, name, role, prefix, createdBy, createdAt, expiresAt, revokedAt } = key
  await connection.run(INSERT_KEY, keyId, name, role, prefix, hash, createdBy, createdAt, expiresAt, revokedAt)
}

const SELECT_KEY_BY_HASH = `select ${KEY_COLUMNS} from pawl.api_keys where hash = $1`

export async function findKeyByHash(
  connection: Connection,
  hash: string,
): Promise<{ apiKey: ApiKey; hash: string } | null> {
  const row = await connection.get<KeyRow>(SELECT_KEY_BY_HASH, hash)
  return row === undefined ? null : { apiKey: toApiKey(row), hash: row.hash }
}

const SELECT_KEY = `select ${KEY_COLUMNS} from pawl.api_keys where key_id = $1`

export async function findKey(connection: Connection, keyId: string): Promise<ApiKey | null> {
  const row = await connection.get<KeyRow>(SELECT_KEY, keyId)
  return row === undefined ? null : toApiKey(row)
}

// 1 row: revoked. 0 rows: it was before, or it never existed.
const REVOKE_KEY = `
update pawl.api_keys
set revoked_at = $1
where key_id = $2 and revoked_at is null`

export async function revokeKey(
  { connection }: Transaction,
  keyId: string,
  now: number,
): Promise<'revoked' | 'not-found'> {
  if ((await connection.run(REVOKE_KEY, now, keyId)) === 1) return 'revoked'
  return (await findKey(connection, keyId)) === null ? 'not-found' : 'revoked'
}

const HAS_KEYS = 'select key_seq from pawl.api_keys limit 1'

/** Nothing ever removes a key, so this stays true once it is. */
export async function hasKeys(connection: Connection): Promise<boolean> {
  return (await connection.get(HAS_KEYS)) !== undefined
}

const SELECT_KEYS = `
select ${KEY_COLUMNS}
from pawl.api_keys
where key_seq < $1::bigint
order by key_seq desc
limit $2`

export async function listKeys(connection: Connection, { limit, cursor }: KeyFilter): Promise<Page<ApiKey>> {
  const rows = await connection.all<KeyRow>(SELECT_KEYS, ...readCursor(cursor, 1), limit)
  const last = rows[rows.length - 1]
  return {
    items: rows.map(toApiKey),
    nextCursor: rows.length === limit && last !== undefined ? String(last.key_seq) : null,
  }
}
