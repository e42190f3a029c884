import type { RunStatus } from '../../../domain/run.ts'
import type { RunTimes } from '../../../store/runs.ts'
import type { Connection } from '../connection.ts'

// Passes over those that execute, which are few.
const SELECT_RUN_TIMES = `
select r.status, j.run_at, r.started_at, r.finished_at
from pawl.runs r
join pawl.jobs j on j.seq = r.seq
where r.started_at >= $1 and r.status is not null
order by r.started_at desc, r.seq desc
limit $2`

interface TimesRow {
  status: RunStatus
  run_at: number
  started_at: number
  finished_at: number
}

export async function listRunTimes(connection: Connection, from: number, limit: number): Promise<RunTimes[]> {
  const rows = await connection.all<TimesRow>(SELECT_RUN_TIMES, from, limit)
  return rows.map(({ status, run_at, started_at, finished_at }) => ({
    status,
    runAt: run_at,
    startedAt: started_at,
    finishedAt: finished_at,
  }))
}
