import type { JsonObject, JsonValue } from '../domain/json.ts'
import type { Asked } from '../operations/audit.ts'
import type { Endpoint } from './contract/endpoint.ts'
import type { Actor } from './handlers/handler.ts'

/** What the audit log says of a request: who asks, what for, of what, and the fields of the body that are worth knowing. */
export function askedOf(
  endpoint: Endpoint,
  actor: Actor,
  params: Readonly<Record<string, string>>,
  body: unknown,
): Asked {
  const [subject = null] = Object.values(params)
  const asked = { actor: actor.name, action: endpoint.action ?? endpoint.method, subject }
  const details = detailsOf(endpoint, body as JsonObject | undefined)
  return details === null ? asked : { ...asked, details }
}

/** Of a change the names of what changes; never the values, which may be secrets, unless the endpoint lists them. */
function detailsOf(endpoint: Endpoint, body: JsonObject | undefined): JsonObject | null {
  if (body === undefined) return null
  if (endpoint.method === 'PATCH') return { fields: Object.keys(body) }
  if (endpoint.auditedFields === undefined) return null
  const given: [string, JsonValue][] = []
  for (const name of endpoint.auditedFields) if (body[name] !== undefined) given.push([name, body[name]])
  return given.length === 0 ? null : Object.fromEntries(given)
}
