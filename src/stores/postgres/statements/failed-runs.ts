import type { FailureReason } from '../../../domain/run.ts'
import type { FailedRun } from '../../../store/runs.ts'
import type { Connection } from '../connection.ts'

const SELECT_FAILED_RUNS = `
select j.job_id, r.run_id, l.type, r.reason, substr(r.error, 1, 2000) as error, r.started_at, r.finished_at
from pawl.uncompleted_runs u
join pawl.runs r on r.seq = u.seq
join pawl.jobs j on j.seq = u.seq
join pawl.lanes l on l.lane_id = j.lane_id
where u.status = 'FAILED' and u.started_at >= $1
order by u.started_at desc, u.seq desc
limit $2`

interface FailedRow {
  job_id: string
  run_id: string
  type: string
  reason: FailureReason | null
  error: string | null
  started_at: number
  finished_at: number | null
}

export async function listFailedRuns(connection: Connection, from: number, limit: number): Promise<FailedRun[]> {
  const rows = await connection.all<FailedRow>(SELECT_FAILED_RUNS, from, limit)
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
