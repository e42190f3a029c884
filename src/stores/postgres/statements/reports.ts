import { ARTIFACTS_MAX, type Artifact, LOG_LINES_MAX } from '../../../domain/run.ts'
import type { ChildIdentity, Claim, ClaimedJob, RunReport } from '../../../store/runs.ts'
import type { Transaction } from '../transaction.ts'

// As many rows as lines are kept.
const INSERT_LOGS = `
insert into pawl.run_logs (seq, line, at, level, text, fields)
select $1::bigint, $2::integer + place, at, level, text, fields
from unnest($3::bigint[], $4::text[], $5::text[], $6::text[])
  with ordinality as given (at, level, text, fields, place)`

// 1 row: written. What was not reported stays.
const UPDATE_REPORT = `
update pawl.runs
set progress = case when $2 then $3::double precision else progress end,
  progress_message = case when $2 then $4::text else progress_message end,
  artifacts = coalesce($5::text, artifacts),
  log_lines = log_lines + $6::integer,
  logs_dropped = logs_dropped + $7::integer
where seq = $1`

const SELECT_REPORTED = 'select artifacts, log_lines from pawl.runs where seq = $1'

/** Writes what a body reported since the last time. Its Run is locked. */
export async function writeReport({ connection }: Transaction, seq: number, report: RunReport): Promise<void> {
  const { progress, logs, logsDropped } = report
  if (progress === null && report.artifacts.length === 0 && logs.length === 0 && logsDropped === 0) return
  const stored = await connection.get<{ artifacts: string | null; log_lines: number }>(SELECT_REPORTED, seq)
  const linesBefore = stored?.log_lines ?? 0
  const kept = logs.slice(0, Math.max(0, LOG_LINES_MAX - linesBefore))
  if (kept.length > 0) {
    await connection.run(
      INSERT_LOGS,
      seq,
      linesBefore,
      kept.map(({ at }) => at),
      kept.map(({ level }) => level),
      kept.map(({ text }) => text),
      kept.map(({ fields }) => fields),
    )
  }
  const artifacts = [...(JSON.parse(stored?.artifacts ?? '[]') as Artifact[]), ...report.artifacts]
  await connection.run(
    UPDATE_REPORT,
    seq,
    progress !== null,
    progress?.fraction ?? null,
    progress?.message ?? null,
    report.artifacts.length === 0 ? null : JSON.stringify(artifacts.slice(0, ARTIFACTS_MAX)),
    kept.length,
    logs.length - kept.length + logsDropped,
  )
}

// Locked, in the order in which a finish locks them: a Run that ends meanwhile is not written any more.
const LOCK_RUNS = `
select r.run_id, r.seq, r.status, j.chain_id, l.type, j.attempt
from pawl.runs r
join pawl.jobs j on j.seq = r.seq
join pawl.lanes l on l.lane_id = j.lane_id
where r.run_id = any($1::text[])
order by r.seq
for no key update of r`

const COUNT_DROPPED = 'update pawl.runs set logs_dropped = logs_dropped + $2 where seq = $1'

interface ReportedRow {
  run_id: string
  seq: number
  status: string | null
  chain_id: string | null
  type: string
  attempt: number
}

export async function recordReports(
  transaction: Transaction,
  reports: readonly { claim: Claim; report: RunReport }[],
  now: number,
): Promise<('recorded' | 'late')[]> {
  const { connection } = transaction
  const locked = await connection.all<ReportedRow>(
    LOCK_RUNS,
    reports.map(({ claim }) => claim.runId),
  )
  const rows = new Map(locked.map((row) => [row.run_id, row]))
  const answers: ('recorded' | 'late')[] = []
  for (const { claim, report } of reports) {
    const row = rows.get(claim.runId)
    if (row === undefined || row.status !== null) {
      const dropped = report.logs.length + report.logsDropped
      if (row !== undefined && dropped > 0) await connection.run(COUNT_DROPPED, row.seq, dropped)
      answers.push('late')
      continue
    }
    await writeReport(transaction, row.seq, report)
    const job = { claim, chainId: row.chain_id ?? claim.jobId, type: row.type, attempt: row.attempt }
    noteProgress(transaction, row.seq, job, report, now)
    answers.push('recorded')
  }
  return answers
}

/** Progress is told as an event; log lines are not, there are too many of them. */
export function noteProgress(
  transaction: Transaction,
  seq: number,
  job: Pick<ClaimedJob, 'claim' | 'chainId' | 'type' | 'attempt'>,
  report: RunReport,
  at: number,
): void {
  if (report.progress === null) return
  transaction.note(seq, {
    kind: 'run.progress',
    jobId: job.claim.jobId,
    runId: job.claim.runId,
    chainId: job.chainId,
    type: job.type,
    status: 'RUNNING',
    attempt: job.attempt,
    at,
    progress: report.progress.fraction,
    message: report.progress.message,
  })
}

// 0 rows: the Run has ended, or its occupancy is gone. It is locked, so that it does not end before this is written.
const RECORD_CHILD = `
with open as (
  select seq
  from pawl.runs
  where run_id = $2 and status is null
  for no key update
)
update pawl.occupancies o
set child = $1
from open
where o.seq = open.seq`

const RECORD_LOG_PATH = 'update pawl.runs set log_path = $1 where run_id = $2 and status is null'

export async function recordChild(
  { connection }: Transaction,
  claim: Claim,
  child: ChildIdentity,
  logPath: string | null,
): Promise<'recorded' | 'late'> {
  if ((await connection.run(RECORD_CHILD, JSON.stringify(child), claim.runId)) === 0) return 'late'
  if (logPath !== null) await connection.run(RECORD_LOG_PATH, logPath, claim.runId)
  return 'recorded'
}
