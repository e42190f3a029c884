import type { Derived } from '../../../store/checks.ts'
import type { Connection, SqlRow } from '../connection.ts'
import { IN_QUEUE } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { IS_WRONG_TAG } from './checks/counts.ts'
import { HAS_BUSY_PREDECESSOR, IS_FORGOTTEN, UNMET_EDGES } from './checks/dependencies.ts'
import { IS_MISCOUNTED, RECOUNT_OF_MEMBERS } from './checks/groups.ts'
import { FROM_MISPLACED } from './checks/jobs.ts'
import { IS_HELD_BY_NOBODY, IS_WITHOUT_ITS_KEY } from './checks/keys.ts'
import { IS_MISSING_IN_LANE, IS_WRONG_IN_LANE, LAST_NUMBER } from './checks/lanes.ts'
import { CHAIN_SEQ } from './checks/pieces.ts'
import { FROM_LEFT_CHAINS, IS_UNKNOWN_TO_SCHEDULE } from './checks/schedules.ts'

/** Makes anew what follows from the rest, by the same conditions by which the checks find it wrong. */
export function rebuild(transaction: Transaction, what: Derived, now: number): number {
  switch (what) {
    case 'nodes':
      return transaction.connection.run(BRING_BACK_NODES)
    case 'dependents':
      return tellDependents(transaction, now)
    case 'queue':
      return rebuildQueue(transaction)
    case 'groups':
      return recountGroups(transaction, now)
    case 'tags':
      return transaction.connection.run(INSERT_TAGS) + transaction.connection.run(DELETE_TAGS)
    case 'types':
      return rebuildLanes(transaction.connection)
    case 'business-keys':
      return transaction.connection.run(FREE_KEYS) + transaction.connection.run(TAKE_KEYS)
    case 'scheduled-chains':
      return transaction.connection.run(LEAVE_SCHEDULES) + transaction.connection.run(JOIN_SCHEDULES)
    case 'permits':
    case 'uncompleted-runs':
      // Permits are counted inside each claim, and the list of such Runs is an index.
      return 0
  }
}

// Rows changed: nodes that recovery will look at again.
const BRING_BACK_NODES = `
update pawl_nodes
set ended_at = null
where ended_at is not null
  and (
    exists (select 1 from pawl_occupancies o where o.node_seq = pawl_nodes.node_seq)
    or exists (select 1 from pawl_direct_occupancies d where d.node_seq = pawl_nodes.node_seq)
  )`

// Rows changed: parents whose dependents are told once more. A cascade decides by what the chain is when it is applied.
const ORDER_TO_TELL = `
insert into pawl_cascades (kind, subject, cursor, created_at)
select distinct 'settled', parent.job_id, 0, ?
from pawl_dependencies d
cross join pawl_jobs child on child.seq = d.child_seq
cross join pawl_jobs parent on parent.seq = d.parent_seq
where ${IS_FORGOTTEN}`

function tellDependents(transaction: Transaction, now: number): number {
  const ordered = transaction.connection.run(ORDER_TO_TELL, now)
  if (ordered > 0) transaction.stirs.add('cascades')
  return ordered
}

const SELECT_MISPLACED_ROWS = `
select q.priority, q.position, q.created_at, q.seq
${FROM_MISPLACED}`

// 1 row. What it may have been ready for is found out by the next claim.
const PUT_IN_PLACE = `
update pawl_queue
set (priority, position, created_at, lane_id, run_at) =
    (select j.priority, j.position, j.created_at, j.lane_id, j.run_at from pawl_jobs j where j.seq = pawl_queue.seq),
  ready = 0
where priority = ? and position = ? and created_at = ? and seq = ?`

// 1 row: it was too many, because its Job stands at its own place already, runs, or has ended.
const DELETE_SURPLUS = `
delete from pawl_queue
where priority = ? and position = ? and created_at = ? and seq = ?
  and exists (
    select 1
    from pawl_jobs j
    where j.seq = pawl_queue.seq
      and (j.priority, j.position, j.created_at) is not (pawl_queue.priority, pawl_queue.position, pawl_queue.created_at)
      and (
        j.cancelled_at is not null
        or exists (select 1 from pawl_runs r where r.seq = j.seq)
        or exists (select 1 from pawl_queue q where ${IN_QUEUE})
      )
  )`

const SELECT_WRONGLY_HELD = `
select q.priority, q.position, q.created_at, q.seq, ${UNMET_EDGES} as unmet, ${HAS_BUSY_PREDECESSOR} as awaits
from pawl_queue q
cross join pawl_jobs j on j.seq = q.seq
where q.unmet_parents <> ${UNMET_EDGES} or q.awaits_predecessor <> ${HAS_BUSY_PREDECESSOR}
  or (q.ready = 1 and (q.unmet_parents > 0 or q.awaits_predecessor = 1))`

const HOLD_RIGHTLY = `
update pawl_queue
set unmet_parents = ?, awaits_predecessor = ?, ready = 0
where priority = ? and position = ? and created_at = ? and seq = ?`

interface QueueRow extends SqlRow {
  priority: number
  position: number
  created_at: number
  seq: number
}

function rebuildQueue(transaction: Transaction): number {
  const { connection } = transaction
  const misplaced = connection.all<QueueRow>(SELECT_MISPLACED_ROWS)
  for (const { priority, position, created_at, seq } of misplaced) {
    if (connection.run(DELETE_SURPLUS, priority, position, created_at, seq) > 0) continue
    connection.run(PUT_IN_PLACE, priority, position, created_at, seq)
  }
  const held = connection.all<QueueRow & { unmet: number; awaits: number }>(SELECT_WRONGLY_HELD)
  for (const row of held) {
    connection.run(HOLD_RIGHTLY, row.unmet, row.awaits, row.priority, row.position, row.created_at, row.seq)
  }
  if (misplaced.length + held.length > 0) transaction.forgetPositions()
  return misplaced.length + held.length
}

const SELECT_MISCOUNTED_GROUPS = `
select g.group_id
from pawl_groups g
where ${IS_MISCOUNTED}`

// 1 row, unless members of a settled group were pruned: then it cannot be counted any more.
const RECOUNT_GROUP = `
update pawl_groups as g
set (total, completed, failed, skipped, cancelled) =
    (select m.total, m.completed, m.failed, m.skipped, m.cancelled from (${RECOUNT_OF_MEMBERS}) as m)
where g.group_id = ?
  and (g.finished_at is null or g.total <= (select m.total from (${RECOUNT_OF_MEMBERS}) as m))`

const SETTLE_GROUP = `
update pawl_groups
set finished_at = case when completed + failed + skipped + cancelled = total then coalesce(finished_at, ?) end
where group_id = ?
returning finished_at`

const DROP_CASCADES = 'delete from pawl_cascades where subject = ?'

function recountGroups(transaction: Transaction, now: number): number {
  const { connection } = transaction
  let recounted = 0
  for (const { group_id: groupId } of connection.all<{ group_id: string }>(SELECT_MISCOUNTED_GROUPS)) {
    if (connection.run(RECOUNT_GROUP, groupId) === 0) continue
    recounted++
    const row = connection.runReturning<{ finished_at: number | null }>(SETTLE_GROUP, now, groupId)
    if (row === undefined || row.finished_at === null) continue
    connection.run(DROP_CASCADES, groupId)
    transaction.stirs.add('groups')
    transaction.settledGroups.add(groupId)
  }
  return recounted
}

const INSERT_TAGS = `
insert or ignore into pawl_job_tags (tag, seq)
select t.value, j.seq
from pawl_jobs j, json_each(j.tags) t
where j.tags is not null and json_valid(j.tags)`

const DELETE_TAGS = `
delete from pawl_job_tags as g
where ${IS_WRONG_TAG}`

// 1 row: there was none, so nobody could tell which Jobs are not in the list yet. Now all are to be there.
const SAY_LAST_LANE_JOB = `
insert or ignore into pawl_counters (name, value)
select 'last_lane_job', coalesce(max(seq), 0)
from pawl_jobs`

// 1 row: it went up to a number that no Job has had.
const GO_BACK_TO_LAST = `
update pawl_counters
set value = ${LAST_NUMBER}
where name = 'last_lane_job' and value > ${LAST_NUMBER}`

const ENTER_MISSING = `
insert into pawl_lane_jobs (lane_id, seq)
select j.lane_id, j.seq
from pawl_jobs j
where ${IS_MISSING_IN_LANE}`

const DELETE_WRONG_LANES = `
delete from pawl_lane_jobs as e
where ${IS_WRONG_IN_LANE}`

function rebuildLanes(connection: Connection): number {
  const said = connection.run(SAY_LAST_LANE_JOB) + connection.run(GO_BACK_TO_LAST)
  return said + connection.run(DELETE_WRONG_LANES) + connection.run(ENTER_MISSING)
}

const FREE_KEYS = `
delete from pawl_business_keys as k
where ${IS_HELD_BY_NOBODY}`

// A key that another chain has by now stays with that one.
const TAKE_KEYS = `
insert or ignore into pawl_business_keys (business_key, chain_id)
select j.business_key, coalesce(j.chain_id, j.job_id)
from pawl_jobs j
where ${IS_WITHOUT_ITS_KEY}`

const LEAVE_SCHEDULES = `
delete from pawl_scheduled_chains
where (schedule_id, chain_seq) in (select c.schedule_id, c.chain_seq ${FROM_LEFT_CHAINS})`

const JOIN_SCHEDULES = `
insert or ignore into pawl_scheduled_chains (schedule_id, chain_seq)
select j.schedule_id, ${CHAIN_SEQ}
from pawl_jobs j
where ${IS_UNKNOWN_TO_SCHEDULE}`
