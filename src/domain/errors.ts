/** Every code an error of Pawl can carry. They are stable: programs may switch on them. */
export type ErrorCode =
  | 'already_started'
  | 'body_too_large'
  | 'business_key_taken'
  | 'closed'
  | 'config_invalid'
  | 'conflict'
  | 'database_corrupt'
  | 'database_migration_changed'
  | 'database_not_ours'
  | 'database_too_new'
  | 'database_unavailable'
  | 'delivery_not_found'
  | 'delivery_pending'
  | 'dependency_cycle'
  | 'direct_busy'
  | 'direct_expired'
  | 'direct_failed'
  | 'direct_wait_timeout'
  | 'driver_mismatch'
  | 'driver_missing'
  | 'duplicate_type'
  | 'forbidden'
  | 'group_ended'
  | 'group_not_found'
  | 'host_refused'
  | 'idempotency_key_reused'
  | 'inexact_number'
  | 'internal_error'
  | 'invalid_option'
  | 'invalid_params'
  | 'job_ended'
  | 'job_not_found'
  | 'job_not_queued'
  | 'key_not_found'
  | 'malformed_request'
  | 'method_not_allowed'
  | 'no_node'
  | 'not_found'
  | 'not_last_attempt'
  | 'not_retryable'
  | 'operation_ended'
  | 'operation_not_found'
  | 'origin_refused'
  | 'params_too_large'
  | 'parent_not_found'
  | 'precondition_failed'
  | 'rate_limited'
  | 'run_not_found'
  | 'schedule_not_found'
  | 'shutting_down'
  | 'storage_full'
  | 'store_busy'
  | 'template_archived'
  | 'template_not_found'
  | 'unauthenticated'
  | 'unknown_resource'
  | 'unknown_type'
  | 'unserialisable_params'
  | 'unsupported_media_type'
  | 'webhook_not_found'
  | 'webhook_url_refused'
  | 'wrong_database'

/** What a caller gets when a request is refused: a stable code, and a sentence with what was expected and what came. */
export class PawlError extends Error {
  override readonly name = 'PawlError'
  readonly code: ErrorCode
  /** Where in the input the fault lies, such as `params.genre`, when there is such a place. */
  readonly path: string | undefined
  /** Ids and numbers that the message mentions, for programs. */
  readonly details: Readonly<Record<string, string | number | boolean | null>>

  constructor(
    code: ErrorCode,
    message: string,
    options: { path?: string; details?: Record<string, string | number | boolean | null>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.path = options.path
    this.details = options.details ?? {}
  }

  /** Also one that another copy of Pawl has made: a global command may load a project that has a copy of its own. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    try {
      return value instanceof Error && value.name === 'PawlError' && 'code' in value && typeof value.code === 'string'
    } catch {
      // A proxy or a getter that throws: whatever it is, Pawl has not made it.
      return false
    }
  }
}

/** Throw this from a handler when trying again cannot help: the Run fails and no retry follows. */
export class NonRetryableError extends Error {
  override readonly name = 'NonRetryableError'
}

/** For programmer errors: states that no input can reach. */
export function assert(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new Error(`Pawl has a bug: ${sentence}`)
}
