import type { FailureReason } from '../../../domain/run.ts'
import type { FailedRun } from '../../../store/runs.ts'
import type { Connection, SqlRow } from '../connection.ts'

const SELECT_FAILED_RUNS = `
select j.job_id, r.run_id, l.type, r.reason, substr(r.error, 1, 2000) as error, r.started_at, r.finished_at
from pawl_runs r indexed by pawl_runs_failed
cross join pawl_jobs j on j.seq = r.seq
cross join pawl_lanes l on l.lane_id = j.lane_id
where r.status = 'FAILED' and r.started_at >= ?
order by r.started_at desc, r.seq desc
limit ?`

interface FailedRow extends SqlRow {
  job_id: string
  run_id: string
  type: string
  reason: FailureReason | null
  error: string | null
  started_at: number
  finished_at: number | null
}

export function listFailedRuns(connection: Connection, from: number, limit: number): FailedRun[] {
  const rows = connection.all<FailedRow>(SELECT_FAILED_RUNS, from, limit)
  return rows.map((row) => ({
    jobId: row.job_id,
    runId: row.run_id,
    type: row.type,
    reason: row.reason,
    error: row.error ?? '',
    startedAt: row.started_at,
    finishedAt: row.finished_at ?? row.started_at,
  }))
}
