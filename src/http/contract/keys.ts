import { z } from 'zod'
import { ROLES } from '../../domain/role.ts'
import { endpoint } from './endpoint.ts'
import { instant, instantOut, notBoth, pageOf, pageQuery, pathId } from './fields.ts'

const role = z.enum(ROLES)

const apiKey = z
  .object({
    key_id: z.string(),
    name: z.string(),
    role,
    /** Its first characters, by which a person tells keys apart. */
    prefix: z.string(),
    created_by: z.string().nullable(),
    created_at: instantOut,
    expires_at: instantOut.nullable(),
    revoked_at: instantOut.nullable(),
  })
  .meta({ id: 'ApiKey' })

export const listKeys = endpoint({
  method: 'GET',
  path: '/api/keys',
  role: 'admin',
  action: null,
  tag: 'Keys',
  summary: 'API keys, newest first, also those that open nothing any more. Never the keys themselves.',
  query: z.strictObject(pageQuery),
  responses: { 200: pageOf(apiKey) },
  problems: [],
})

export const createKey = endpoint({
  method: 'POST',
  path: '/api/keys',
  role: 'admin',
  action: 'key.create',
  auditedFields: ['name', 'role'],
  tag: 'Keys',
  summary: 'Make an API key. It is shown this once. From the first one on, the API asks for keys.',
  body: z
    .strictObject({
      name: z.string().min(1).max(128),
      role,
      expires_at: instant.optional(),
      expires_in_ms: z.int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
    })
    .refine((body) => body.expires_at === undefined || body.expires_in_ms === undefined, {
      path: ['expires_at'],
      error: 'Expected `expires_at` or `expires_in_ms`, got both.',
    })
    .meta({
      ...notBoth('expires_at', 'expires_in_ms'),
      examples: [{ name: 'ci', role: 'operator', expires_in_ms: 7_776_000_000 }],
    }),
  responses: {
    201: z
      .object({
        key_id: z.string(),
        key: z.string(),
        name: z.string(),
        role,
        expires_at: instantOut.nullable(),
      })
      .meta({ id: 'NewApiKey' }),
  },
  problems: [],
})

export const revokeKey = endpoint({
  method: 'DELETE',
  path: '/api/keys/{key_id}',
  role: 'admin',
  action: 'key.revoke',
  tag: 'Keys',
  summary: 'From now on the key opens nothing.',
  params: z.object({ key_id: pathId }),
  responses: { 200: apiKey },
  problems: ['key_not_found'],
})
