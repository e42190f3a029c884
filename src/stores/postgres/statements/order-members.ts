import { statusOf } from '../rows.ts'
import type { Cascade, Transaction } from '../transaction.ts'
import type { Actor, Page } from './cascades.ts'
import { cancelAllQueued, skipAllQueued } from './leave-queue.ts'
import { JOIN_LIVE, LIVE_COLUMNS, type LiveRow, lockLive } from './live-rows.ts'
import { wishCancel } from './wish-cancel.ts'

// In a settled group there is nobody left to whom something could be done.
const SELECT_MEMBERS = `
select ${LIVE_COLUMNS}
from pawl.groups g
join pawl.jobs j on j.group_id = g.group_id
${JOIN_LIVE}
where g.group_id = $1 and g.finished_at is null and j.seq > $2
order by j.seq
limit $3`

/**
 * `stop` and `skip` concern members that have not started. A waiting retry has, unless it waits for its parents again.
 * `stop-behind` concerns only those of them that wait for one that has failed. `cancel` concerns all that have not ended.
 * A member that is claimed before it is locked here has started.
 */
export async function orderMembers(
  transaction: Transaction,
  cascade: Cascade,
  cursor: number,
  limit: number,
  actor: Actor,
  now: number,
): Promise<Page> {
  const { connection } = transaction
  const isConcerned = cascade.kind === 'cancel' ? isLive : hasNotStarted
  const members = await lockLive(
    connection,
    () => connection.all<LiveRow>(SELECT_MEMBERS, cascade.subject, cursor, limit),
    { concerns: isConcerned },
  )
  await orderAll(transaction, cascade, members.filter(isConcerned), actor, now)
  transaction.cascaded += members.length
  return { cursor: members[members.length - 1]?.seq ?? cursor, isLast: members.length < limit }
}

function isLive(row: LiveRow): boolean {
  const status = statusOf(row)
  return status === 'QUEUED' || status === 'RUNNING'
}

function hasNotStarted(row: LiveRow): boolean {
  return statusOf(row) === 'QUEUED' && (row.attempt === 1 || row.unmet_parents !== 0)
}

async function orderAll(
  transaction: Transaction,
  { kind, mode, reason }: Cascade,
  members: readonly LiveRow[],
  actor: Actor,
  now: number,
): Promise<void> {
  if (kind === 'cancel') await cancelMembers(transaction, members, { mode: mode ?? 'graceful', reason, now })
  if (kind === 'stop' || kind === 'stop-behind') {
    const stopped = await findStopped(transaction, kind, members)
    await cancelAllQueued(transaction, stopped, { mode: mode ?? 'graceful', reason, by: 'its-group', now })
  }
  if (kind === 'skip' && actor.nodeSeq !== null && actor.newId !== null) {
    const message = reason ?? 'predecessor failed'
    await skipAllQueued(transaction, members, { message, newId: actor.newId, nodeSeq: actor.nodeSeq, now })
  }
}

async function cancelMembers(
  transaction: Transaction,
  members: readonly LiveRow[],
  request: Parameters<typeof wishCancel>[2],
): Promise<void> {
  const isQueued = (row: LiveRow) => statusOf(row) === 'QUEUED'
  const queued = members.filter(isQueued).map((row) => ({ row, cancelledFor: null }))
  await cancelAllQueued(transaction, queued, request)
  for (const row of members) if (!isQueued(row)) await wishCancel(transaction, row, request)
}

// One row for each parent for whom one of these chains waits.
const SELECT_AWAITED_PARENTS = `
select d.child_seq, d.parent_id, d.parent_seq, d.of_group,
  coalesce(last.cancelled_at is not null or r.status = 'FAILED', false) as has_failed
from pawl.dependencies d
left join pawl.jobs first on first.seq = d.parent_seq
left join pawl.jobs last on last.seq = coalesce(
  (select j.seq from pawl.jobs j where j.chain_id = first.job_id order by j.attempt desc limit 1), first.seq
)
left join pawl.runs r on r.seq = last.seq
where d.child_seq = any($1::bigint[]) and d.met = 0
order by d.child_seq, d.place`

interface AwaitedParent {
  child_seq: number
  parent_id: string
  parent_seq: number
  of_group: boolean
  has_failed: boolean
}

/**
 * Which of these members are stopped, each with the chain that is the cause: the one before it in a sequential group, or a
 * failed one that it named. If that one is retried with its dependents, this one follows again.
 */
async function findStopped(
  { connection }: Transaction,
  kind: 'stop' | 'stop-behind',
  members: readonly LiveRow[],
): Promise<{ row: LiveRow; cancelledFor: string | null }[]> {
  const children = members.filter(({ parents }) => parents > 0).map(({ chain_seq }) => chain_seq)
  const rows = children.length === 0 ? [] : await connection.all<AwaitedParent>(SELECT_AWAITED_PARENTS, children)
  const awaitedBy = new Map<number, AwaitedParent[]>()
  for (const row of rows) awaitedBy.set(row.child_seq, [...(awaitedBy.get(row.child_seq) ?? []), row])
  // One member's end may be the cause of the next one's, as if they were stopped one after the other.
  const stoppedHere = new Set<number>()
  const hasFailed = ({ has_failed, parent_seq }: AwaitedParent) => has_failed || stoppedHere.has(parent_seq)
  return members.flatMap((row) => {
    const awaited = awaitedBy.get(row.chain_seq) ?? []
    const before = awaited.find(({ of_group }) => of_group)
    if (kind === 'stop-behind' && !(before !== undefined && hasFailed(before))) return []
    stoppedHere.add(row.chain_seq)
    return [{ row, cancelledFor: (before ?? awaited.find(hasFailed))?.parent_id ?? null }]
  })
}
