import { createHash } from 'node:crypto'
import type { Reader } from './place.ts'

/** Everything that has ended, as the database tells it, with a digest of all that it says: none of it may ever change. */
export async function seeEnded(reader: Reader): Promise<Map<string, string>> {
  const seen = new Map<string, string>()
  for (const [kind, id, sql] of ENDED) {
    for (const row of await reader.select<Record<string, unknown>>(sql)) {
      seen.set(`${kind} ${String(row[id])}`, createHash('sha1').update(JSON.stringify(row)).digest('base64'))
    }
  }
  return seen
}

const ENDED = [
  [
    'Job',
    'job_id',
    `
select job_id, job_type, status, outcome, priority, position, attempt, chain_id, retry_of, params, policy, business_key,
  idempotency_key, schedule_id, group_id, slot_at, created_at, started_at, finished_at, cancel_requested_at, cancel_mode,
  cancel_reason
from pawl.jobs_readable
where status in ('FINISHED', 'CANCELLED')`,
  ],
  ['Run', 'run_id', 'select * from pawl.runs_readable where status is not null'],
  ['Reservation', 'reservation_id', "select * from pawl.reservations_readable where status in ('RELEASED', 'EXPIRED')"],
] as const
