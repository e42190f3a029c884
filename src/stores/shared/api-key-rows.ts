import type { Role } from '../../domain/role.ts'
import type { ApiKey } from '../../store/keys.ts'

export const KEY_COLUMNS = 'key_seq, key_id, name, role, prefix, hash, created_by, created_at, expires_at, revoked_at'

export type KeyRow = {
  key_seq: number
  key_id: string
  name: string
  role: Role
  prefix: string
  hash: string
  created_by: string | null
  created_at: number
  expires_at: number | null
  revoked_at: number | null
}

export function toApiKey(row: KeyRow): ApiKey {
  return {
    keyId: row.key_id,
    name: row.name,
    role: row.role,
    prefix: row.prefix,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  }
}
