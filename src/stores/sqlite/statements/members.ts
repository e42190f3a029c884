import type { ChainOutcome } from '../../../domain/chain.ts'
import { decideMemberFailure, type OnMemberFailure, predecessorFailedReason } from '../../../domain/group.ts'
import type { SqlRow } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

// 1 row: counted. 0 rows: the group had settled, and a settled group stays so.
const COUNT_SETTLED = `
update pawl_groups
set completed = completed + (? = 'COMPLETED'),
  failed = failed + (? = 'FAILED'),
  skipped = skipped + (? = 'SKIPPED'),
  cancelled = cancelled + (? = 'CANCELLED')
where group_id = ? and finished_at is null
returning total - completed - failed - skipped - cancelled as live, on_failure, stopped`

const FINISH_GROUP = 'update pawl_groups set finished_at = ? where group_id = ?'
const DROP_CASCADES = 'delete from pawl_cascades where subject = ?'
const MARK_STOPPED = 'update pawl_groups set stopped = 1 where group_id = ?'

interface CountedRow extends SqlRow {
  live: number
  on_failure: OnMemberFailure
  stopped: number
}

/**
 * A member's chain has settled. The last one settles the group; a failed one stops or skips the others. `stopped`: no
 * further member is to start, so the order of a sequential group releases nobody any more.
 */
export function countSettledMember(
  transaction: Transaction,
  groupId: string,
  jobId: string,
  outcome: ChainOutcome,
  at: number,
  by: 'itself' | 'its-group',
): 'going-on' | 'stopped' {
  const { connection } = transaction
  const row = connection.runReturning<CountedRow>(COUNT_SETTLED, outcome, outcome, outcome, outcome, groupId)
  if (row === undefined) return 'going-on'
  if (row.live === 0) {
    connection.run(FINISH_GROUP, at, groupId)
    transaction.stirs.add('groups')
    transaction.settledGroups.add(groupId)
    // Whatever was still to be done to its members, none is left to do it to.
    connection.run(DROP_CASCADES, groupId)
    return 'stopped'
  }
  if (row.stopped === 1) return 'stopped'
  const order = decideMemberFailure(outcome, row.on_failure)
  // What the group itself did to a member is no reason to do more to the others.
  if (order === 'nothing' || by === 'its-group') return 'going-on'
  connection.run(MARK_STOPPED, groupId)
  const reason = predecessorFailedReason(jobId, outcome)
  transaction.cascades.push({ kind: order, subject: groupId, mode: null, reason })
  return 'stopped'
}

// 1 row: the group is live, and the member counts as live again. 0 rows: the group has settled.
const TAKE_BACK = `
update pawl_groups
set completed = completed - (? = 'COMPLETED'),
  failed = failed - (? = 'FAILED'),
  skipped = skipped - (? = 'SKIPPED'),
  cancelled = cancelled - (? = 'CANCELLED'),
  stopped = 0
where group_id = ? and finished_at is null`

/** A member's settled chain goes on. False: its group has settled without it, and the chain leaves it. */
export function takeBackMember(transaction: Transaction, groupId: string, outcome: ChainOutcome): boolean {
  return transaction.connection.run(TAKE_BACK, outcome, outcome, outcome, outcome, groupId) === 1
}

// A sequential group of which no member has failed any more: only those are still stopped that wait for one that does not
// come back.
const CALL_OFF_STOP = `
update pawl_cascades
set kind = 'stop-behind'
where subject = ? and kind = 'stop'
  and exists (select 1 from pawl_groups where group_id = subject and mode = 'sequential' and failed = 0)`

/** The member that failed is tried again together with those behind it. */
export function callOffStop(transaction: Transaction, groupId: string): void {
  transaction.connection.run(CALL_OFF_STOP, groupId)
}

const MARK_STARTED = 'update pawl_groups set started_at = ? where group_id = ? and started_at is null'

/** The first member that starts starts the group. */
export function markGroupsStarted(
  transaction: Transaction,
  claimed: readonly { readonly groupId: string | null }[],
  now: number,
): void {
  const groupIds = new Set<string>()
  for (const { groupId } of claimed) if (groupId !== null) groupIds.add(groupId)
  for (const groupId of groupIds) transaction.connection.run(MARK_STARTED, now, groupId)
}
