import type { ChainOutcome } from '../../../domain/chain.ts'
import { decideMemberFailure, type OnMemberFailure, predecessorFailedReason } from '../../../domain/group.ts'
import type { Cascade, SettledMember, SettlingGroup, Transaction } from '../transaction.ts'

// The row of a group is one that all its members need, so it is written last of all, once per transaction: whoever waits
// for it waits for a commit, and holds every other lock already. What must be decided before is decided by an unlocked
// look, and looked at again when the row is locked.

const READ_GROUPS = `
select group_id, on_failure, stopped, total - completed - failed - skipped - cancelled as live
from pawl.groups
where group_id = any($1::text[]) and finished_at is null`

/** Makes known how these groups stand, before members of them settle. Those that have settled are missing. */
export async function readGroups(
  { connection, groups }: Transaction,
  groupIds: readonly (string | null)[],
): Promise<void> {
  const unknown = new Set(groupIds.filter((groupId) => groupId !== null && !groups.has(groupId)))
  if (unknown.size === 0) return
  type Row = { group_id: string; on_failure: OnMemberFailure; stopped: boolean; live: number }
  const rows = await connection.all<Row>(READ_GROUPS, [...unknown])
  for (const { group_id, on_failure, stopped, live } of rows) {
    groups.set(group_id, { onFailure: on_failure, isStopped: stopped, isOrdered: false, live, settled: [] })
  }
}

/**
 * A member's chain has settled; its group was read. A failed one stops or skips the others. `stopped`: no further member
 * is to start, so the order of a sequential group releases nobody any more.
 */
export function noteSettledMember(
  transaction: Transaction,
  groupId: string,
  member: SettledMember,
): 'going-on' | 'stopped' {
  const group = transaction.groups.get(groupId)
  if (group === undefined) return 'going-on'
  group.settled.push(member)
  group.live--
  if (group.live <= 0 || group.isStopped) return 'stopped'
  const order = orderOf(group, member)
  if (order === 'nothing') return 'going-on'
  group.isStopped = true
  group.isOrdered = true
  transaction.cascades.push(cascadeOf(groupId, order, member))
  return 'stopped'
}

/** What the group itself did to a member is no reason to do more to the others. */
function orderOf({ onFailure }: SettlingGroup, { outcome, by }: SettledMember): 'stop' | 'skip' | 'nothing' {
  return by === 'its-group' ? 'nothing' : decideMemberFailure(outcome, onFailure)
}

function cascadeOf(groupId: string, kind: 'stop' | 'skip', { jobId, outcome }: SettledMember): Cascade {
  return { kind, subject: groupId, mode: null, reason: predecessorFailedReason(jobId, outcome) }
}

/** Whether the members of a group that was read are being stopped, skipped or cancelled. */
export function isGroupStopped({ groups }: Transaction, groupId: string | null): boolean {
  return groupId !== null && groups.get(groupId)?.isStopped === true
}

// In the order of their ids, as everybody who locks several groups does.
const LOCK_GROUPS = `
select group_id
from pawl.groups
where group_id = any($1::text[])
order by group_id
for no key update`

// One row per group: counted. A group that is missing had settled, and a settled group stays so.
const COUNT_SETTLED = `
update pawl.groups g
set completed = g.completed + given.completed,
  failed = g.failed + given.failed,
  skipped = g.skipped + given.skipped,
  cancelled = g.cancelled + given.cancelled,
  stopped = g.stopped or given.ordered,
  finished_at = case
    when g.total = g.completed + g.failed + g.skipped + g.cancelled + given.settled then given.at
  end
from unnest(
  $1::text[], $2::integer[], $3::integer[], $4::integer[], $5::integer[], $6::integer[], $7::boolean[], $8::bigint[]
) as given (group_id, completed, failed, skipped, cancelled, settled, ordered, at)
where g.group_id = given.group_id and g.finished_at is null
returning g.group_id, g.stopped, g.finished_at`

const MARK_STOPPED = 'update pawl.groups set stopped = true where group_id = any($1::text[])'

// Whatever was still to be done to the members of a settled group, none is left to do it to. One that somebody is
// carrying out right now is left to him.
const DROP_CASCADES = `
delete from pawl.cascades
where cascade_seq in (
  select cascade_seq
  from pawl.cascades
  where subject = any($1::text[])
  for update skip locked
)`

/**
 * Counts the members that have settled in this transaction. The last one settles its group, once, whoever comes first: the
 * row is locked. Returns orders that turned out to be due only now; the caller stores them.
 */
export async function countSettledMembers(transaction: Transaction): Promise<Cascade[]> {
  const { connection } = transaction
  const counted = [...transaction.groups].filter(([, { settled }]) => settled.length > 0)
  transaction.groups.clear()
  if (counted.length === 0) return []
  const groupIds = counted.map(([groupId]) => groupId)
  if (groupIds.length > 1) await connection.all(LOCK_GROUPS, groupIds)
  const count = (outcome: ChainOutcome) =>
    counted.map(([, { settled }]) => settled.filter((member) => member.outcome === outcome).length)
  type Row = { group_id: string; stopped: boolean; finished_at: number | null }
  const rows = await connection.runReturningAll<Row>(
    COUNT_SETTLED,
    groupIds,
    count('COMPLETED'),
    count('FAILED'),
    count('SKIPPED'),
    count('CANCELLED'),
    counted.map(([, { settled }]) => settled.length),
    counted.map(([, { isOrdered }]) => isOrdered),
    counted.map(([, { settled }]) => Math.max(...settled.map(({ at }) => at))),
  )
  await noteSettledGroups(
    transaction,
    rows.filter(({ finished_at }) => finished_at !== null).map(({ group_id }) => group_id),
  )
  const goingOn = new Set(
    rows.filter(({ stopped, finished_at }) => !stopped && finished_at === null).map(({ group_id }) => group_id),
  )
  return orderLate(transaction, new Map(counted.filter(([groupId]) => goingOn.has(groupId))))
}

async function noteSettledGroups({ connection, stirs, settledGroups }: Transaction, groupIds: string[]): Promise<void> {
  if (groupIds.length === 0) return
  stirs.add('groups')
  for (const groupId of groupIds) settledGroups.add(groupId)
  await connection.run(DROP_CASCADES, groupIds)
}

/** Somebody retried a member since the group was read: what seemed to be over, or stopped already, goes on. */
async function orderLate({ connection }: Transaction, groups: Map<string, SettlingGroup>): Promise<Cascade[]> {
  const late: Cascade[] = []
  for (const [groupId, group] of groups) {
    const cause = group.settled.find((member) => orderOf(group, member) !== 'nothing')
    const order = cause === undefined ? 'nothing' : orderOf(group, cause)
    if (cause !== undefined && order !== 'nothing') late.push(cascadeOf(groupId, order, cause))
  }
  const groupIds = late.map(({ subject }) => subject)
  if (groupIds.length > 0) await connection.run(MARK_STOPPED, groupIds)
  return late
}

// 1 row: the group is live, and the member counts as live again. 0 rows: the group has settled.
const TAKE_BACK = `
update pawl.groups
set completed = completed - ($1 = 'COMPLETED')::integer,
  failed = failed - ($1 = 'FAILED')::integer,
  skipped = skipped - ($1 = 'SKIPPED')::integer,
  cancelled = cancelled - ($1 = 'CANCELLED')::integer,
  stopped = false
where group_id = $2 and finished_at is null`

/** A member's settled chain goes on. False: its group has settled without it, and the chain leaves it. */
export async function takeBackMember(
  { connection, groups }: Transaction,
  groupId: string,
  outcome: ChainOutcome,
): Promise<boolean> {
  if ((await connection.run(TAKE_BACK, outcome, groupId)) === 0) return false
  const group = groups.get(groupId)
  if (group !== undefined) {
    group.live++
    group.isStopped = false
  }
  return true
}

// Before the row of the group, because whoever carries one out has it first too.
const LOCK_STOP = `
select cascade_seq
from pawl.cascades
where subject = $1 and kind = 'stop'
order by cascade_seq
for update`

/** Waits until nobody is stopping members of this group, so that it can be called off. */
export async function lockStop({ connection }: Transaction, groupId: string): Promise<void> {
  await connection.all(LOCK_STOP, groupId)
}

// A sequential group of which no member has failed any more: only those are still stopped that wait for one that does not
// come back.
const CALL_OFF_STOP = `
update pawl.cascades c
set kind = 'stop-behind'
where c.subject = $1 and c.kind = 'stop'
  and exists (select 1 from pawl.groups g where g.group_id = c.subject and g.mode = 'sequential' and g.failed = 0)`

/** The member that failed is tried again together with those behind it. */
export async function callOffStop({ connection }: Transaction, groupId: string): Promise<void> {
  await connection.run(CALL_OFF_STOP, groupId)
}

const MARK_STARTED = `
update pawl.groups
set started_at = $1
where group_id in (
  select group_id
  from pawl.groups
  where group_id = any($2::text[]) and started_at is null
  order by group_id
  for no key update
)`

/** The first member that starts starts the group. */
export async function markGroupsStarted(
  { connection }: Transaction,
  claimed: readonly { readonly groupId: string | null }[],
  now: number,
): Promise<void> {
  const groupIds = new Set(claimed.flatMap(({ groupId }) => (groupId === null ? [] : [groupId])))
  if (groupIds.size > 0) await connection.run(MARK_STARTED, now, [...groupIds])
}
