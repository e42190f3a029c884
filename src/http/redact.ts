import { ROLES, type Role } from '../domain/role.ts'

/** What stands for a text that one may not see. */
export const REDACTED = '[redacted]'

/** Keys of this role, or a lesser one, see no payloads. False: everybody does. */
export type Redaction = false | Exclude<Role, 'admin'>

export function isRedactedFor(redaction: Redaction, role: Role): boolean {
  return redaction !== false && ROLES.indexOf(role) <= ROLES.indexOf(redaction)
}

/** What Jobs are given and what they make, whatever it is a part of. */
const VALUES: ReadonlySet<string> = new Set([
  'params',
  'params_snapshot',
  'default_params',
  'param_overrides',
  'result',
  'fields',
])

const TEXTS: ReadonlySet<string> = new Set(['error', 'stack', 'text', 'skipped', 'pattern', 'params_value'])

/** Of what carries something else under this name it is left: an entry of the audit log names the fields that changed. */
const LEFT_ALONE: ReadonlySet<string> = new Set(['details', 'params_schema', 'errors'])

/**
 * A copy of an answer without what Jobs were given and what they made. It goes by the names of fields, through all of the
 * answer, so that an endpoint that is new cannot forget it.
 */
export function redact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redact)
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = {}
  let hasLost = false
  for (const [name, held] of Object.entries(value)) {
    const left = LEFT_ALONE.has(name) ? held : redactField(name, held, value)
    copy[name] = left
    if (held !== null && left !== held && typeof left !== 'object') hasLost = true
    if (held !== null && left === null) hasLost = true
  }
  return hasLost ? { ...copy, redacted: true } : copy
}

function redactField(name: string, held: unknown, within: object): unknown {
  if (VALUES.has(name)) return null
  const isText = TEXTS.has(name) || (name === 'message' && ('fraction' in within || 'fingerprint' in within))
  if (isText && typeof held === 'string') return held === '' ? '' : REDACTED
  return redact(held)
}
