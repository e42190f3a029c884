import { jobVersion } from '../../../domain/job.ts'
import type { JsonValue } from '../../../domain/json.ts'
import { type JobRow, statusOf } from '../rows.ts'

/** Whether the Job is not any more as the caller saw it. Null: the caller does not care. */
export function isStale(job: JobRow, expected: string | null | undefined): boolean {
  return expected != null && expected !== versionOf(job)
}

function versionOf(job: JobRow): string {
  return jobVersion({
    status: statusOf(job),
    priority: job.priority,
    position: job.position,
    runAt: job.run_at,
    params: JSON.parse(job.params) as JsonValue,
    cancelRequestedAt: job.cancel_requested_at,
  })
}
