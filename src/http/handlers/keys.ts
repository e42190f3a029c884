import { wireInstant } from '../../domain/wire.ts'
import { createKey, listKeys, revokeKey } from '../../operations/api-keys.ts'
import type { ApiKey } from '../../store/keys.ts'
import * as contract from '../contract/keys.ts'
import { created, ok } from './answer.ts'
import { dateOf, given } from './given.ts'
import { type Route, route } from './handler.ts'
import { okPage, pageOptions } from './pages.ts'

function wireKey(apiKey: ApiKey) {
  return {
    key_id: apiKey.keyId,
    name: apiKey.name,
    role: apiKey.role,
    prefix: apiKey.prefix,
    created_by: apiKey.createdBy,
    created_at: wireInstant(apiKey.createdAt),
    expires_at: wireInstant(apiKey.expiresAt),
    revoked_at: wireInstant(apiKey.revokedAt),
  }
}

export const keyRoutes: readonly Route[] = [
  route(contract.listKeys, async ({ context, query }) => okPage(await listKeys(context, pageOptions(query)), wireKey)),

  route(contract.createKey, async ({ context, actor, body }) => {
    const { name, role, expires_at, expires_in_ms } = body
    const expiry = given({ expiresAt: dateOf(expires_at), expiresInMs: expires_in_ms })
    const { key, apiKey } = await createKey(context, { name, role, ...expiry, createdBy: actor.name })
    return created({ key_id: apiKey.keyId, key, name, role, expires_at: wireInstant(apiKey.expiresAt) }, null)
  }),

  route(contract.revokeKey, async ({ context, params }) => ok(wireKey(await revokeKey(context, params.key_id)))),
]
