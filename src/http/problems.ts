import type { ErrorCode } from '../domain/errors.ts'
import { PawlError } from '../domain/errors.ts'

/** An error as the API tells it: problem details (RFC 9457) with a stable code. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: ErrorCode
  /** Where in the request the fault lies, such as `params.genre`. */
  readonly path?: string
  /** All places with a fault, when there are several. */
  readonly errors?: readonly { readonly path: string; readonly message: string }[]
  /** Ids and numbers that the detail mentions. */
  readonly [detail: string]: unknown
}

/** Each code has one status. Those of what is not there are 404 in the path and 422 in a body: see `statusOf`. */
const STATUS: Readonly<Record<ErrorCode, number>> = {
  already_started: 409,
  body_too_large: 413,
  business_key_taken: 409,
  closed: 503,
  config_invalid: 500,
  conflict: 409,
  database_corrupt: 503,
  database_migration_changed: 503,
  database_not_ours: 503,
  database_too_new: 503,
  database_unavailable: 503,
  delivery_not_found: 404,
  delivery_pending: 409,
  dependency_cycle: 422,
  direct_busy: 409,
  direct_expired: 503,
  direct_failed: 502,
  direct_wait_timeout: 504,
  driver_mismatch: 500,
  driver_missing: 500,
  duplicate_type: 500,
  forbidden: 403,
  group_ended: 409,
  group_not_found: 404,
  host_refused: 421,
  idempotency_key_reused: 422,
  internal_error: 500,
  invalid_option: 422,
  invalid_params: 422,
  job_ended: 409,
  job_not_found: 404,
  job_not_queued: 409,
  malformed_request: 400,
  method_not_allowed: 405,
  no_node: 503,
  not_found: 404,
  not_last_attempt: 409,
  not_retryable: 409,
  origin_refused: 403,
  params_too_large: 422,
  parent_not_found: 422,
  precondition_failed: 412,
  rate_limited: 429,
  run_not_found: 404,
  schedule_not_found: 404,
  shutting_down: 503,
  storage_full: 503,
  store_busy: 503,
  template_archived: 409,
  template_not_found: 404,
  unauthenticated: 401,
  unknown_resource: 422,
  unknown_type: 422,
  unserialisable_params: 422,
  unsupported_media_type: 415,
  webhook_not_found: 404,
  webhook_url_refused: 422,
  wrong_database: 503,
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Malformed request',
  401: 'Not authenticated',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  409: 'Wrong state',
  412: 'Changed meanwhile',
  413: 'Too large',
  415: 'Unsupported media type',
  421: 'Wrong host',
  422: 'Invalid value',
  429: 'Too many requests',
  500: 'Internal error',
  502: 'The handler failed',
  503: 'Not available',
  504: 'Waited too long',
}

/**
 * What the caller is told of an error. `pathIds` are the ids in the path: what is missing there is 404, what is missing
 * elsewhere is an invalid value. An error that is not ours tells nothing: no stack, no SQL, no path of a file.
 */
export function problemOf(error: unknown, pathIds: readonly string[] = []): Problem {
  if (!(error instanceof PawlError)) return problem('internal_error', 'Something went wrong here. It was logged.')
  const { code, message, path, details } = error
  const status = STATUS[code] === 404 && !isInPath(details, pathIds) ? 422 : STATUS[code]
  if (status === 500) return problem('internal_error', 'Something went wrong here. It was logged.')
  return {
    ...snakeCaseKeys(details),
    ...problem(code, status === 503 ? withoutPaths(code, message) : message, status),
    ...(path !== undefined && { path: wirePath(path) }),
  }
}

export function problem(code: ErrorCode, detail: string, status = STATUS[code]): Problem {
  return { type: `urn:pawl:problem:${code}`, title: TITLES[status] ?? 'Problem', status, detail, code }
}

function isInPath(details: PawlError['details'], pathIds: readonly string[]): boolean {
  const ids = Object.values(details)
  return ids.length === 0 || ids.some((value) => pathIds.includes(String(value)))
}

/** Errors of the database name its file, which is not the caller's business. */
function withoutPaths(code: ErrorCode, message: string): string {
  if (!/^(database_|wrong_database|storage_full|store_busy|closed)/.test(code)) return message
  return code === 'store_busy'
    ? 'The store is busy. Nothing was changed; try again.'
    : 'The store does not answer as it should. Nothing was changed; the server has logged why.'
}

/** `dependsOn.0` becomes `depends_on.0`; what follows `params` are the caller's own names. */
export function wirePath(path: string): string {
  const parts = path.split('.')
  const own = parts.findIndex((part) => ['params', 'defaultParams', 'paramOverrides', 'overrides'].includes(part))
  return parts.map((part, index) => (own !== -1 && index > own ? part : snakeCase(part))).join('.')
}

function snakeCaseKeys(details: PawlError['details']): Record<string, unknown> {
  const shown = Object.entries(details).filter(([name]) => name !== 'path')
  return Object.fromEntries(shown.map(([name, value]) => [snakeCase(name), value]))
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
