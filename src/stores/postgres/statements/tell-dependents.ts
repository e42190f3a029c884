import type { ChainOutcome } from '../../../domain/chain.ts'
import { decideDependency, type OnParentFailure, parentFailedReason } from '../../../domain/dependency.ts'
import { assert } from '../../../domain/errors.ts'
import { atPlaceOf, FROM_JOBS, JOB_COLUMNS, type JobRow, statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import type { Actor, Page } from './cascades.ts'
import { cancelAllQueued } from './leave-queue.ts'
import { JOIN_LIVE, LIVE_COLUMNS, type LiveRow, lockLive, placesOf } from './live-rows.ts'
import { lockChains } from './locks.ts'
import { isGroupStopped, readGroups } from './members.ts'
import { noteQueued } from './note-queued.ts'
import { appendByHand } from './retry.ts'

// How a chain stands, with a page of the children that wait for it (0), or gave up waiting for it (2). More than one row per
// child when it named several of its Jobs: the first one's turn deals with all of them, so it does no harm that a page may
// end between them. One row without a child: there is none.
const SELECT_PAGE = `
select f.seq, case when last.cancelled_at is not null then 'CANCELLED' else r.status end as outcome, d.child_seq
from pawl.jobs f
join pawl.jobs last on last.seq = coalesce(
  (select j.seq from pawl.jobs j where j.chain_id = f.job_id order by j.attempt desc limit 1), f.seq
)
left join pawl.runs r on r.seq = last.seq
left join lateral (
  select child_seq
  from pawl.dependencies
  where parent_seq = f.seq and met = $2 and child_seq > $3
  order by child_seq
  limit $4
) d on true
where f.job_id = $1
order by d.child_seq`

interface PageRow {
  seq: number
  outcome: ChainOutcome | null
  child_seq: number | null
}

interface ChildrenPage extends Page {
  readonly parentSeq: number
  readonly outcome: ChainOutcome | null
  readonly childSeqs: readonly number[]
}

/** Null: there is no such chain any more. */
async function readPage(
  transaction: Transaction,
  chainId: string,
  met: 0 | 2,
  cursor: number,
  limit: number,
): Promise<ChildrenPage | null> {
  const rows = await transaction.connection.all<PageRow>(SELECT_PAGE, chainId, met, cursor, limit)
  const [first] = rows
  if (first === undefined) return null
  const seqs = rows.flatMap(({ child_seq }) => child_seq ?? [])
  return {
    parentSeq: first.seq,
    outcome: first.outcome,
    childSeqs: [...new Set(seqs)],
    cursor: seqs[seqs.length - 1] ?? cursor,
    isLast: seqs.length < limit,
  }
}

// The QUEUED Job of each of these chains, as far as it still waits for this parent: the first of its chain, or a retry.
const WAITING_COLUMNS = `d.on_failure, d.of_group, ${LIVE_COLUMNS}`
const SELECT_WAITING = `
select ${WAITING_COLUMNS}
from pawl.dependencies d
join pawl.jobs j on j.seq = d.child_seq
${JOIN_LIVE}
where d.parent_seq = $1 and d.met = 0 and d.child_seq = any($2::bigint[]) and q.unmet_parents > 0
union all
select ${WAITING_COLUMNS}
from pawl.dependencies d
join pawl.jobs first on first.seq = d.child_seq
join pawl.jobs j on j.chain_id = first.job_id
${JOIN_LIVE}
where d.parent_seq = $1 and d.met = 0 and d.child_seq = any($2::bigint[]) and q.unmet_parents > 0
order by chain_seq`

type WaitingRow = LiveRow & { on_failure: OnParentFailure; of_group: boolean }

/**
 * Decided by what the chain is now: somebody may have retried it since the cascade was stored. Two parents that settle at
 * once both lock their child, so the second sees that it waits for one less.
 */
export async function tellDependents(
  transaction: Transaction,
  chainId: string,
  cursor: number,
  limit: number,
  now: number,
): Promise<Page> {
  const { connection } = transaction
  const page = await readPage(transaction, chainId, 0, cursor, limit)
  if (page === null || page.outcome === null) return { cursor, isLast: true }
  const { parentSeq, outcome, childSeqs } = page
  transaction.cascaded += childSeqs.length
  if (childSeqs.length === 0) return page
  await lockChains(connection, childSeqs)
  const read = () => connection.all<WaitingRow>(SELECT_WAITING, parentSeq, childSeqs)
  const edges = await lockLive(connection, read, { locked: childSeqs })
  const waiting = [...new Map(edges.map((row) => [row.seq, row])).values()]
  await readGroups(
    transaction,
    waiting.filter(({ of_group }) => of_group).map(({ group_id }) => group_id),
  )
  const told = waiting.filter(({ of_group, group_id }) => !(of_group && isGroupStopped(transaction, group_id)))
  const means = (row: WaitingRow) => decideDependency(outcome, row.on_failure)
  await meetParent(
    transaction,
    parentSeq,
    told.filter((row) => means(row) === 'met'),
    now,
  )
  await cancelAllQueued(
    transaction,
    told.filter((row) => means(row) === 'cancel').map((row) => ({ row, cancelledFor: chainId })),
    { mode: 'graceful', reason: parentFailedReason(chainId, outcome), now },
  )
  return page
}

// One row per edge: more than one for a child that named several Jobs of the chain.
const MEET = `
update pawl.dependencies
set met = 1
where parent_seq = $1 and child_seq = any($2::bigint[]) and met = 0
returning child_seq`

// As many rows as children.
const RELEASE = `
update pawl.queue q
set unmet_parents = q.unmet_parents - given.met,
  ready = (q.unmet_parents = given.met and not q.awaits_predecessor and q.run_at <= $6::bigint)
from unnest($1::integer[], $2::bigint[], $3::bigint[], $4::bigint[], $5::integer[])
  as given (priority, position, created_at, seq, met)
where ${atPlaceOf('given')}`

/** A parent has settled as these children need it. The last one releases a child. */
async function meetParent(
  transaction: Transaction,
  parentSeq: number,
  children: readonly LiveRow[],
  now: number,
): Promise<void> {
  if (children.length === 0) return
  const { connection } = transaction
  const met = new Map<number, number>()
  const chainSeqs = children.map(({ chain_seq }) => chain_seq)
  for (const { child_seq } of await connection.runReturningAll<{ child_seq: number }>(MEET, parentSeq, chainSeqs)) {
    met.set(child_seq, (met.get(child_seq) ?? 0) + 1)
  }
  const metBy = ({ chain_seq }: LiveRow) => met.get(chain_seq) ?? 0
  const released = await connection.run(RELEASE, ...placesOf(children), children.map(metBy), now)
  assert(released === children.length, `of ${children.length} Jobs that wait, ${released} are in the queue`)
  for (const child of children) {
    if (child.unmet_parents === metBy(child)) noteQueued(transaction, 'job.released', child, now)
  }
}

const SELECT_LAST = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where j.seq = coalesce(
  (
    select retry.seq
    from pawl.jobs retry
    where retry.chain_id = (select first.job_id from pawl.jobs first where first.seq = $1)
    order by retry.attempt desc
    limit 1
  ),
  $1
)`

/** Children that were cancelled because this chain had failed get a new Job, now that it is tried again. */
export async function reviveDependents(
  transaction: Transaction,
  chainId: string,
  cursor: number,
  limit: number,
  actor: Actor,
  now: number,
): Promise<Page> {
  const { connection } = transaction
  const page = actor.newId === null ? null : await readPage(transaction, chainId, 2, cursor, limit)
  if (page === null || actor.newId === null) return { cursor, isLast: true }
  const { childSeqs } = page
  transaction.cascaded += childSeqs.length
  await lockChains(connection, childSeqs)
  for (const childSeq of childSeqs) {
    const last = await connection.get<JobRow>(SELECT_LAST, childSeq)
    // Not one that a person cancelled. Which of its parents had failed first does not matter, if none is left that has.
    if (last === undefined || statusOf(last) !== 'CANCELLED' || last.cancelled_for === null) continue
    const revived = await appendByHand(transaction, last, {
      newJobId: actor.newId(),
      priority: null,
      byHand: false,
      chainSeq: childSeq,
      now,
    })
    if (revived.kind !== 'created') continue
    transaction.cascades.push({ kind: 'revived', subject: last.chain_id ?? last.job_id, mode: null, reason: null })
  }
  return page
}
