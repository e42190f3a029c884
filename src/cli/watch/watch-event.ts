import type { StreamedEvent } from '../../client/index.ts'

/** One step of one Job, as far as the live view looks at it. */
export interface WatchEvent {
  readonly kind: string
  readonly jobId: string
  readonly runId: string | null
  readonly type: string
  readonly outcome: string | null
  readonly reason: string | null
  readonly attempt: number | null
  readonly at: string
  readonly progress: number | null
  readonly message: string | null
}

/** Null: it is not about a Job, such as `reset`. A newer server may send more than this version knows. */
export function readWatchEvent({ event, data }: StreamedEvent): WatchEvent | null {
  if (typeof data !== 'object' || data === null) return null
  const fields = data as Readonly<Record<string, unknown>>
  const jobId = textOf(fields['job_id'])
  if (jobId === null) return null
  return {
    kind: event,
    jobId,
    runId: textOf(fields['run_id']),
    type: textOf(fields['job_type']) ?? '',
    outcome: textOf(fields['outcome']),
    reason: textOf(fields['reason']),
    attempt: numberOf(fields['attempt']),
    at: textOf(fields['at']) ?? '',
    progress: numberOf(fields['progress']),
    message: textOf(fields['message']),
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}
