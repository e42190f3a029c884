import { ARTIFACTS_MAX, type Artifact, LOG_LINES_MAX } from '../../../domain/run.ts'
import type { ChildIdentity, Claim, ClaimedJob, RunReport } from '../../../store/runs.ts'
import type { SqlRow } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { laneById } from './interned.ts'

const INSERT_LOG = `
insert into pawl_run_logs (seq, line, at, level, text, fields)
values (?, ?, ?, ?, ?, ?)`

const UPDATE_PROGRESS = 'update pawl_runs set progress = ?, progress_message = ? where seq = ?'

const UPDATE_LOG_COUNTS = 'update pawl_runs set log_lines = ?, logs_dropped = logs_dropped + ? where seq = ?'

const SELECT_ARTIFACTS = 'select artifacts from pawl_runs where seq = ?'
const UPDATE_ARTIFACTS = 'update pawl_runs set artifacts = ? where seq = ?'

const SELECT_LOG_LINES = 'select log_lines from pawl_runs where seq = ?'

/** Writes what a body reported since the last time. */
export function writeReport(transaction: Transaction, seq: number, report: RunReport): void {
  const { connection } = transaction
  if (report.progress !== null) {
    connection.run(UPDATE_PROGRESS, report.progress.fraction, report.progress.message, seq)
  }
  if (report.artifacts.length > 0) {
    const stored = connection.get<{ artifacts: string | null }>(SELECT_ARTIFACTS, seq)?.artifacts ?? '[]'
    const artifacts = [...(JSON.parse(stored) as Artifact[]), ...report.artifacts].slice(0, ARTIFACTS_MAX)
    connection.run(UPDATE_ARTIFACTS, JSON.stringify(artifacts), seq)
  }
  if (report.logs.length === 0 && report.logsDropped === 0) return
  const linesBefore = connection.get<{ log_lines: number }>(SELECT_LOG_LINES, seq)?.log_lines ?? 0
  const kept = report.logs.slice(0, Math.max(0, LOG_LINES_MAX - linesBefore))
  let line = linesBefore
  for (const log of kept) connection.run(INSERT_LOG, seq, ++line, log.at, log.level, log.text, log.fields)
  connection.run(UPDATE_LOG_COUNTS, line, report.logs.length - kept.length + report.logsDropped, seq)
}

const SELECT_OPEN_RUN = `
select r.seq, r.status, r.log_lines, j.chain_id, j.lane_id, j.attempt
from pawl_runs r
join pawl_jobs j on j.seq = r.seq
where r.run_id = ?`

interface OpenRunRow extends SqlRow {
  seq: number
  status: string | null
  log_lines: number
  chain_id: string | null
  lane_id: number
  attempt: number
}

export function recordReports(
  transaction: Transaction,
  reports: readonly { claim: Claim; report: RunReport }[],
  now: number,
): ('recorded' | 'late')[] {
  return reports.map(({ claim, report }) => {
    const row = transaction.connection.get<OpenRunRow>(SELECT_OPEN_RUN, claim.runId)
    if (row === undefined) return 'late'
    if (row.status !== null) {
      const dropped = report.logs.length + report.logsDropped
      if (dropped > 0) transaction.connection.run(UPDATE_LOG_COUNTS, row.log_lines, dropped, row.seq)
      return 'late'
    }
    writeReport(transaction, row.seq, report)
    const type = laneById(transaction.connection, transaction.interned, row.lane_id).type
    const job = { claim, chainId: row.chain_id ?? claim.jobId, type, attempt: row.attempt }
    noteProgress(transaction, row.seq, job, report, now)
    return 'recorded'
  })
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

const RECORD_CHILD = `
update pawl_occupancies
set child = ?
where seq = (select seq from pawl_runs where run_id = ? and status is null)`

const RECORD_LOG_PATH = 'update pawl_runs set log_path = ? where run_id = ? and status is null'

export function recordChild(
  transaction: Transaction,
  claim: Claim,
  child: ChildIdentity,
  logPath: string | null,
): 'recorded' | 'late' {
  // 0 rows: the Run has ended, or its occupancy is gone.
  if (transaction.connection.run(RECORD_CHILD, JSON.stringify(child), claim.runId) === 0) return 'late'
  if (logPath !== null) transaction.connection.run(RECORD_LOG_PATH, logPath, claim.runId)
  return 'recorded'
}
