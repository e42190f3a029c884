import { isEnded } from '../../../domain/transitions.ts'
import type { PrunableChains, PrunePage, PruneRequest } from '../../../store/maintenance.ts'
import type { Connection } from '../connection.ts'
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

const DELETE_DEPENDENCIES =
  'delete from pawl_dependencies where child_seq = (select seq from pawl_jobs where job_id = ?)'

const DELETE_DELIVERIES = `
delete from pawl_deliveries
where job_seq in (select seq from pawl_jobs where job_id = ? union all select seq from pawl_jobs where chain_id = ?)`

// Retries have the tags of the first Job.
const DELETE_TAGS = `
delete from pawl_job_tags
where (tag, seq) in (
  select t.value, chain.seq
  from (select seq from pawl_jobs where job_id = ? union all select seq from pawl_jobs where chain_id = ?) as chain
  cross join json_each(?) as t
)`

// Those that are not in the list of their lane yet have no row.
const DELETE_LANE_JOBS = `
delete from pawl_lane_jobs
where (lane_id, seq) in (select lane_id, seq from pawl_jobs where job_id = ? or chain_id = ?)`

const DELETE_RETRIES = 'delete from pawl_jobs where chain_id = ?'
const DELETE_FIRST = 'delete from pawl_jobs where job_id = ?'

// 1 row: the last member of a settled group is gone, and the group with it.
const DELETE_EMPTY_GROUP = `
delete from pawl_groups
where group_id = ? and finished_at is not null
  and not exists (select 1 from pawl_jobs where pawl_jobs.group_id = pawl_groups.group_id)`

export function pruneChains(transaction: Transaction, request: PruneRequest): PrunePage {
  const { connection } = transaction
  const { chains, nextSeq } = lookAtChains(connection, request, Number(request.cursor ?? 0))
  const logPaths: string[] = []
  let jobsRemoved = 0
  let groupsRemoved = 0
  for (const { first, goes } of chains) {
    if (!goes) continue
    for (const { log_path } of connection.all<{ log_path: string }>(SELECT_LOG_PATHS, first.job_id, first.job_id)) {
      logPaths.push(log_path)
    }
    jobsRemoved += removeChain(transaction, first)
    if (first.group_id !== null) groupsRemoved += connection.run(DELETE_EMPTY_GROUP, first.group_id)
  }
  return { jobsRemoved, groupsRemoved, logPaths, nextCursor: nextSeq === null ? null : String(nextSeq) }
}

const COUNT_CHAIN = `
select count(*) as jobs
from (select seq from pawl_jobs where job_id = ? union all select seq from pawl_jobs where chain_id = ?)`

/** Where a count stopped: behind this Job, in the middle of this group, of which all members so far would go, or not. */
type CountCursor = readonly [seq: number, groupId: string | null, goes: boolean]

const FROM_THE_FIRST: CountCursor = [0, null, false]

export function countPrunableChains(connection: Connection, request: PruneRequest): PrunableChains {
  const { cursor } = request
  const [after, groupId, goesSoFar] = cursor === null ? FROM_THE_FIRST : (JSON.parse(cursor) as CountCursor)
  const { chains, nextSeq } = lookAtChains(connection, request, after)
  let jobs = 0
  let groups = 0
  // Members were accepted together, so their chains follow each other. The group goes if all of them do.
  let group = { groupId, goes: goesSoFar }
  for (const { first, goes } of chains) {
    if (goes) jobs += connection.get<{ jobs: number }>(COUNT_CHAIN, first.job_id, first.job_id)?.jobs ?? 0
    if (first.group_id !== group.groupId) {
      if (group.goes) groups++
      group = { groupId: first.group_id, goes: first.group_id !== null }
    }
    group.goes &&= goes
  }
  if (nextSeq === null) return { jobs, groups: group.goes ? groups + 1 : groups, nextCursor: null }
  return { jobs, groups, nextCursor: JSON.stringify([nextSeq, group.groupId, group.goes] satisfies CountCursor) }
}

/** A page of chains, and whether each would go. `nextSeq`: where the next page begins; null: there is none. */
function lookAtChains(
  connection: Connection,
  { endedBefore, limit }: PruneRequest,
  after: number,
): { chains: { readonly first: JobRow; readonly goes: boolean }[]; nextSeq: number | null } {
  const rows = connection.all<JobRow>(SELECT_OLD_CHAINS, after, limit)
  // Rows follow the time of acceptance, but a clock may have been ahead for a while: a whole page must be too young.
  const isLastPage = rows.length < limit || rows.every((first) => first.created_at >= endedBefore)
  return {
    chains: rows.map((first) => ({ first, goes: isPrunable(connection, first, endedBefore) })),
    nextSeq: isLastPage ? null : (rows[rows.length - 1]?.seq ?? null),
  }
}

function isPrunable(connection: Connection, first: JobRow, endedBefore: number): boolean {
  if (first.created_at >= endedBefore && (first.finished_at ?? first.cancelled_at ?? endedBefore) >= endedBefore)
    return false
  const last = findLastOfChain(connection, first)
  const endedAt = last.finished_at ?? last.cancelled_at
  if (!isEnded(statusOf(last)) || endedAt === null || endedAt >= endedBefore) return false
  if (isChainOccupied(connection, first.job_id)) return false
  return !isNeeded(connection, first)
}

// Children that wait for it (0), and those that do not any more but live (1).
const HAS_LIVE_CHILD = `
select 1 as found from pawl_dependencies where parent_seq = ? and met = 0
union all
select 1 from pawl_dependencies where parent_seq = ? and met = 1
limit 1`

const IS_GROUP_LIVE = 'select 1 as found from pawl_groups where group_id = ? and finished_at is null'

const HAS_CASCADE = 'select 1 as found from pawl_cascades where subject = ? limit 1'

const HAS_PENDING_DELIVERY = `
select 1 as found
from pawl_deliveries d
left join pawl_webhooks w on w.webhook_seq = d.webhook_seq
where d.status = 'PENDING'
  and (d.webhook_seq is null or w.enabled = 1)
  and d.job_seq in (select seq from pawl_jobs where job_id = ? union all select seq from pawl_jobs where chain_id = ?)
limit 1`

/** Somebody else still refers to it: a live child, a live group, a cascade, a delivery that is still to be made. */
function isNeeded(connection: Connection, first: JobRow): boolean {
  if (first.group_id !== null && connection.get(IS_GROUP_LIVE, first.group_id) !== undefined) return true
  if (connection.get(HAS_CASCADE, first.job_id) !== undefined) return true
  if (connection.get(HAS_PENDING_DELIVERY, first.job_id, first.job_id) !== undefined) return true
  return connection.get(HAS_LIVE_CHILD, first.seq, first.seq) !== undefined
}

// The highest number ever pruned, so that it is not given again.
const REMEMBER_PRUNED = `
insert into pawl_counters (name, value)
select 'last_pruned_job', max(seq) from (
  select seq from pawl_jobs where job_id = ? union all select seq from pawl_jobs where chain_id = ?
)
where true
on conflict (name) do update set value = max(value, excluded.value)`

function removeChain(transaction: Transaction, first: JobRow): number {
  const { connection } = transaction
  const chainId = first.job_id
  connection.run(REMEMBER_PRUNED, chainId, chainId)
  connection.run(DELETE_LOGS, chainId, chainId)
  connection.run(DELETE_RUNS, chainId, chainId)
  connection.run(DELETE_DELIVERIES, chainId, chainId)
  connection.run(DELETE_DEPENDENCIES, chainId)
  if (first.tags !== null) connection.run(DELETE_TAGS, chainId, chainId, first.tags)
  connection.run(DELETE_LANE_JOBS, chainId, chainId)
  return connection.run(DELETE_RETRIES, chainId) + connection.run(DELETE_FIRST, chainId)
}
