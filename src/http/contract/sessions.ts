import { z } from 'zod'
import { ROLES } from '../../domain/role.ts'
import { endpoint } from './endpoint.ts'
import { instantOut } from './fields.ts'

const session = z
  .object({
    /** False: a key is needed, and none came. */
    authenticated: z.boolean(),
    keys_required: z.boolean(),
    /** As the audit log calls whoever asks. */
    actor: z.string().nullable(),
    key_id: z.string().nullable(),
    role: z.enum(ROLES).nullable(),
    rights: z.object({
      read: z.boolean(),
      operate: z.boolean(),
      administer: z.boolean(),
      /** Params, results, errors, logs. */
      see_payloads: z.boolean(),
    }),
    /** When the key opens nothing any more. */
    expires_at: instantOut.nullable(),
    version: z.string(),
  })
  .meta({ id: 'Session' })

export const getSession = endpoint({
  method: 'GET',
  path: '/api/session',
  role: 'viewer',
  isOpen: true,
  action: null,
  tag: 'Sessions',
  summary: 'Who asks, and what they may. Also answers who has no key.',
  responses: { 200: session },
  problems: [],
})

export const openSession = endpoint({
  method: 'POST',
  path: '/api/session',
  role: 'viewer',
  isOpen: true,
  action: 'session.open',
  tag: 'Sessions',
  summary: 'Log in with an API key: a browser gets a cookie, which no script can read.',
  body: z.strictObject({ key: z.string().min(1).max(512) }).meta({ examples: [{ key: `pawl_${'x'.repeat(43)}` }] }),
  responses: { 200: session },
  problems: [],
})

export const closeSession = endpoint({
  method: 'DELETE',
  path: '/api/session',
  role: 'viewer',
  isOpen: true,
  action: 'session.close',
  tag: 'Sessions',
  summary: 'Log out: the browser forgets the cookie.',
  responses: { 204: null },
  problems: [],
})
