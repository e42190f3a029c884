import { isEnded } from '../../../domain/transitions.ts'
import type { PrunePage, PruneRequest } from '../../../store/maintenance.ts'
import { FROM_JOBS, JOB_COLUMNS, type JobRow, statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { findLastOfChain, isChainOccupied } from './history.ts'

// The first Jobs of chains in the order of their acceptance.
const SELECT_OLD_CHAINS = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where j.seq > ? and j.chain_id is null
order by j.seq
limit ?`

const SELECT_LOG_PATHS = `
select log_path
from pawl_runs
where log_path is not null and seq in (select seq from pawl_jobs where job_id = ? union all select seq from pawl_jobs where chain_id = ?)`

const DELETE_LOGS = `
delete from pawl_run_logs
where seq in (select seq from pawl_jobs where job_id = ? union all select seq from pawl_jobs where chain_id = ?)`

const DELETE_RUNS = `
delete from pawl_runs
where seq in (select seq from pawl_jobs where job_id = ? union all select seq from pawl_jobs where chain_id = ?)`

const DELETE_RETRIES = 'delete from pawl_jobs where chain_id = ?'
const DELETE_FIRST = 'delete from pawl_jobs where job_id = ?'

export function pruneChains(transaction: Transaction, request: PruneRequest): PrunePage {
  const { connection } = transaction
  const cursor = request.cursor === null ? 0 : Number(request.cursor)
  const rows = connection.all<JobRow>(SELECT_OLD_CHAINS, cursor, request.limit)
  const logPaths: string[] = []
  let jobsRemoved = 0
  for (const first of rows) {
    if (!isPrunable(transaction, first, request.endedBefore)) continue
    for (const { log_path } of connection.all<{ log_path: string }>(SELECT_LOG_PATHS, first.job_id, first.job_id)) {
      logPaths.push(log_path)
    }
    jobsRemoved += removeChain(transaction, first.job_id)
  }
  // Rows follow the time of acceptance, but a clock may have been ahead for a while: a whole page must be too young.
  const isLastPage = rows.length < request.limit || rows.every((first) => first.created_at >= request.endedBefore)
  return { jobsRemoved, logPaths, nextCursor: isLastPage ? null : String(rows[rows.length - 1]?.seq) }
}

function isPrunable(transaction: Transaction, first: JobRow, endedBefore: number): boolean {
  if (first.created_at >= endedBefore && (first.finished_at ?? first.cancelled_at ?? endedBefore) >= endedBefore)
    return false
  const last = findLastOfChain(transaction.connection, first)
  const endedAt = last.finished_at ?? last.cancelled_at
  if (!isEnded(statusOf(last)) || endedAt === null || endedAt >= endedBefore) return false
  return !isChainOccupied(transaction.connection, first.job_id)
}

// The highest number ever pruned, so that it is not given again.
const REMEMBER_PRUNED = `
insert into pawl_counters (name, value)
select 'last_pruned_job', max(seq) from (
  select seq from pawl_jobs where job_id = ? union all select seq from pawl_jobs where chain_id = ?
)
where true
on conflict (name) do update set value = max(value, excluded.value)`

function removeChain(transaction: Transaction, chainId: string): number {
  const { connection } = transaction
  connection.run(REMEMBER_PRUNED, chainId, chainId)
  connection.run(DELETE_LOGS, chainId, chainId)
  connection.run(DELETE_RUNS, chainId, chainId)
  return connection.run(DELETE_RETRIES, chainId) + connection.run(DELETE_FIRST, chainId)
}
