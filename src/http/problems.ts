import { type ErrorCode, PawlError } from '../domain/errors.ts'
import { capText } from '../domain/run.ts'
import { wireInstant } from '../domain/wire.ts'

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
export const STATUS: Readonly<Record<ErrorCode, number>> = {
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
  inexact_number: 422,
  internal_error: 500,
  invalid_option: 422,
  invalid_params: 422,
  job_ended: 409,
  job_not_found: 404,
  job_not_queued: 409,
  key_not_found: 404,
  malformed_request: 400,
  method_not_allowed: 405,
  no_node: 503,
  not_found: 404,
  not_last_attempt: 409,
  not_retryable: 409,
  operation_ended: 409,
  operation_not_found: 404,
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

/** What a request was about, as far as its errors need it. */
export interface About {
  /** The ids in its path: what is missing there is 404, what is missing elsewhere is an invalid value. */
  readonly ids: readonly string[]
  /** The schema of its body, for the names of its fields. */
  readonly body?: unknown
}

const NOTHING_IN_PARTICULAR: About = { ids: [] }

/** What the caller is told of an error. An error that is not ours tells nothing: no stack, no SQL, no path of a file. */
export function problemOf(error: unknown, about: About = NOTHING_IN_PARTICULAR): Problem {
  if (!(error instanceof PawlError)) return problem('internal_error', SOMETHING_WRONG)
  const { code, path, details } = error
  const status = statusOf(error, about.ids)
  if (status === 500) return problem('internal_error', SOMETHING_WRONG)
  const told = path === undefined ? undefined : capText(wirePath(path, fieldsOf(about.body)), PATH_LENGTH_MAX)
  return {
    // Of a store that fails they name its file, which is not the caller's business.
    ...(status === 503 ? {} : wireDetails(details)),
    ...problem(code, status === 503 ? withoutPaths(error) : capText(withWirePath(error, told), DETAIL_MAX), status),
    ...(told !== undefined && { path: told }),
  }
}

const SOMETHING_WRONG = 'Something went wrong here. It was logged.'

/** Names of fields are the caller's, and may be long. */
export const PATH_LENGTH_MAX = 500

/** What an operation says may quote what came, which may be long. */
const DETAIL_MAX = 2_000

/** A message that names the field says it by the name that the caller knows; of one of a list without the list. */
function withWirePath({ message, path }: PawlError, told: string | undefined): string {
  if (path === undefined || told === undefined) return message
  const named = message.replace(`\`${path}\``, `\`${told}\``)
  return named.replace(`\`${withinItem(path)}\``, `\`${withinItem(told)}\``)
}

function withinItem(path: string): string {
  return path.replace(/^jobs\.\d+\./, '')
}

function statusOf({ code, details }: PawlError, ids: readonly string[]): number {
  const isInPath = Object.values(details).some((value) => ids.includes(String(value)))
  if (code === 'unknown_type') return isInPath ? 404 : 422
  if (STATUS[code] !== 404) return STATUS[code]
  return isInPath || Object.keys(details).length === 0 ? 404 : 422
}

export function problem(code: ErrorCode, detail: string, status = STATUS[code]): Problem {
  return { type: `urn:pawl:problem:${code}`, title: TITLES[status] ?? 'Problem', status, detail, code }
}

/** Errors of the database name its file. */
function withoutPaths({ code, message }: PawlError): string {
  if (code === 'closed') return 'This scheduler is closed or closing. Nothing was changed; try again later.'
  if (code === 'store_busy') return 'The store is busy. Nothing was changed; try again.'
  if (!/^(database_|wrong_database|storage_full)/.test(code)) return message
  return 'The store does not answer as it should. Nothing was changed; the server has logged why.'
}

/** What operations call otherwise than the API. The first that the body has is meant. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  type: ['type', 'job_type'],
  retry: ['retry_policy'],
  overrides: ['params'],
  params: ['params', 'param_overrides'],
}

/** Behind these the names are the caller's own. */
const OWN_NAMES_BEHIND = ['params', 'overrides', 'defaultParams', 'default_params', 'paramOverrides', 'param_overrides']

/** `dependsOn.0` becomes `depends_on.0`; what follows `params` are the caller's own names. */
export function wirePath(path: string, fields: ReadonlySet<string> = new Set()): string {
  const parts = path.split('.')
  const own = parts.findIndex((part) => OWN_NAMES_BEHIND.includes(part))
  const told = parts.map((part, index) => (own !== -1 && index > own ? part : wireName(part, fields)))
  return (told[0] === 'target' ? told.slice(1) : told).join('.')
}

function wireName(part: string, fields: ReadonlySet<string>): string {
  const names = Object.hasOwn(OTHER_NAMES, part) ? OTHER_NAMES[part] : undefined
  return names?.find((name) => fields.has(name)) ?? names?.[0] ?? snakeCase(part)
}

/** The names of a body's fields, and of those of its Jobs. */
function fieldsOf(body: unknown): ReadonlySet<string> {
  return new Set(Object.keys((body as { readonly shape?: object } | undefined)?.shape ?? {}))
}

/** Problem details have fields of these names already. */
const RENAMED: Readonly<Record<string, string>> = { type: 'job_type', status: 'state', path: 'at' }

/** Instants leave as everywhere in the API. */
function wireDetails(details: PawlError['details']): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => [
      RENAMED[name] ?? snakeCase(name),
      name.endsWith('At') && typeof value === 'number' ? wireInstant(value) : value,
    ]),
  )
}

/** Only our own options are camelCase; the names of headers are not. */
function snakeCase(name: string): string {
  if (!/^[a-z]/.test(name)) return name
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** A refusal that somebody has put into words already, with what belongs to it. */
export class RefusedAnswer extends Error {
  readonly problem: Problem
  readonly headers: Readonly<Record<string, string>>

  constructor(told: Problem, headers: Readonly<Record<string, string>>) {
    super(told.detail)
    this.problem = told
    this.headers = headers
  }
}
