import { ApiProblem, type Query, searchOf, send } from './http.ts'
import type { Job } from './things.ts'

/** Up to `counted_to`; a number equal to it means that many or more. */
export interface Counts {
  readonly counted_to: number
  readonly queued: number
  readonly ready: number
  readonly running: number
  readonly finished: number
  readonly cancelled: number
}

export interface JobPage {
  readonly items: readonly Job[]
  readonly next_cursor: string | null
  /** The page is short because the server looked at as many rows as it may. */
  readonly limited?: boolean
}

export interface Failure {
  readonly fingerprint: string
  readonly job_type: string
  readonly reason: string
  readonly error_name: string | null
  readonly message: string
  readonly pattern: string
  readonly count: number
  readonly first_seen_at: string
  readonly last_seen_at: string
  readonly example_job_id: string
  readonly example_run_id: string
}

export interface Failures {
  readonly items: readonly Failure[]
  readonly looked_at: number
  readonly limited: boolean
  readonly since: string | null
}

interface Percentiles {
  readonly p50: number
  readonly p95: number
}

export interface Recent {
  readonly minutes: readonly {
    readonly minute_at: string
    readonly executed: number
    readonly completed: number
    readonly failed: number
    readonly skipped: number
    readonly cancelled: number
  }[]
  readonly times: {
    readonly runs: number
    readonly since: string | null
    readonly wait_ms: Percentiles | null
    readonly run_ms: Percentiles | null
  }
}

export interface Operation {
  readonly operation_id: string
  readonly kind: 'cancel' | 'retry'
  readonly status: 'RUNNING' | 'COMPLETED' | 'ABORTED'
  readonly filter: Readonly<Record<string, unknown>> | null
  readonly job_ids: readonly string[] | null
  readonly mode: string | null
  readonly reason: string | null
  readonly matched: number
  readonly matched_or_more: boolean
  readonly done: number
  readonly changed: number
  readonly skipped: number
  readonly failed: number
  readonly skip_reasons: Readonly<Record<string, number>>
  readonly created_by: string | null
  readonly created_at: string
  readonly ended_at: string | null
}

export interface DryRun {
  readonly matched: number
  readonly matched_or_more: boolean
}

/** A read whose shape is one of those above. */
export async function get<T>(path: string, query: Query, signal: AbortSignal | null, fallback?: T): Promise<T> {
  try {
    return (await send('GET', `${path}${searchOf(query)}`, signal === null ? {} : { signal })) as T
  } catch (error) {
    if (fallback !== undefined && error instanceof ApiProblem && error.code === 'not_found') return fallback
    throw error
  }
}
