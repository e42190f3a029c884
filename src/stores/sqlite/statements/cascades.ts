import { chainOutcome } from '../../../domain/chain.ts'
import { decideDependency, type OnParentFailure, parentFailedReason } from '../../../domain/dependency.ts'
import { type Connection, MANY, type SqlRow } from '../connection.ts'
import { FROM_JOBS, JOB_COLUMNS, type JobRow, statusOf } from '../rows.ts'
import type { Cascade, Transaction } from '../transaction.ts'
import { findQueuedOfChain, meetParent } from './dependencies.ts'
import { findJobRow, findLastOfChain } from './history.ts'
import { cancelQueued, skipQueued } from './leave-queue.ts'
import { findLiveNodeSeq } from './nodes.ts'
import { chainSeqOf, findParents } from './parents.ts'
import { appendByHand } from './retry.ts'
import { wishCancel } from './wish-cancel.ts'

/** Who carries out a cascade: what needs a Run needs a node, and what makes Jobs needs ids. */
export interface Actor {
  readonly nodeSeq: number | null
  readonly newId: (() => string) | null
}

/** A process that is no node, such as one that only cancels. */
export const NOBODY: Actor = { nodeSeq: null, newId: null }

/** As many dependents and members are dealt with at once, in the transaction that concerns them. The rest is stored. */
const AT_ONCE_MAX = 128

/**
 * Carries out what follows from the chains that have settled in this transaction. Few dependents and members are released,
 * cancelled or skipped at once, so that nobody sees a state in between; what concerns many is stored and done in pages.
 */
export function carryOut(transaction: Transaction, actor: Actor, now: number): void {
  for (;;) {
    noteDependents(transaction)
    const cascade = transaction.cascades.shift()
    if (cascade === undefined) return
    const room = AT_ONCE_MAX - transaction.cascaded
    if (room <= 0 || !canActOn(cascade, actor) || hasStored(transaction.connection, cascade.subject)) {
      storeCascade(transaction, cascade, 0, now)
      continue
    }
    const page = applyPage(transaction, cascade, 0, room, actor, now)
    if (!page.isLast) storeCascade(transaction, cascade, page.cursor, now)
  }
}

function canActOn(cascade: Cascade, actor: Actor): boolean {
  if (cascade.kind === 'skip') return actor.nodeSeq !== null && actor.newId !== null
  return cascade.kind !== 'revived' || actor.newId !== null
}

// 1 row: somebody listens to the end of this chain. The second value is 1 if only those listen that named it.
const IS_AWAITED = `
select 1 as found
from pawl_dependencies
where parent_seq = ? and met = 0 and (? = 0 or of_group = 0)
limit 1`

// The same of many: one row per chain to whose end somebody listens. [number, 1 if only those listen that named it]: there is at most one
// member behind it, so at most one row is passed over.
const SELECT_AWAITED = `
select value ->> 0 as parent_seq
from json_each(?)
where exists (
  select 1
  from pawl_dependencies
  where parent_seq = value ->> 0 and met = 0 and (value ->> 1 = 0 or of_group = 0)
)`

// Mostly nobody has ever listened to any of them, and one look at where their dependents would begin says so.
const SELECT_NEXT_PARENT = `
select parent_seq
from pawl_dependencies
where parent_seq >= ?
order by parent_seq
limit 1`

/** Of the chains that have settled, those that somebody waits for become cascades. */
function noteDependents(transaction: Transaction): void {
  if (transaction.settled.length === 0) return
  const settled = transaction.settled
  transaction.settled = []
  const awaited = findAwaited(
    transaction.connection,
    settled.map(({ chainSeq, isOrderOver }) => [chainSeq, isOrderOver ? 1 : 0]),
  )
  if (awaited.size === 0) return
  for (const { chainId, chainSeq } of settled) {
    if (!awaited.has(chainSeq)) continue
    transaction.cascades.push({ kind: 'settled', subject: chainId, mode: null, reason: null })
  }
}

function findAwaited(connection: Connection, chains: (readonly [seq: number, isOrderOver: 0 | 1])[]): Set<number> {
  if (chains.length < MANY) {
    const awaited = chains.filter((chain) => connection.get(IS_AWAITED, ...chain) !== undefined)
    return new Set(awaited.map(([seq]) => seq))
  }
  const seqs = chains.map(([seq]) => seq)
  const next = connection.get<{ parent_seq: number }>(SELECT_NEXT_PARENT, Math.min(...seqs))
  if (next === undefined || next.parent_seq > Math.max(...seqs)) return new Set()
  const rows = connection.all<{ parent_seq: number }>(SELECT_AWAITED, JSON.stringify(chains))
  return new Set(rows.map(({ parent_seq }) => parent_seq))
}

const HAS_STORED = 'select 1 as found from pawl_cascades where subject = ? limit 1'

/** Cascades of one chain or group apply in order: a new one waits for those that are stored. */
function hasStored(connection: Connection, subject: string): boolean {
  return connection.get(HAS_STORED, subject) !== undefined
}

const INSERT_CASCADE = `
insert into pawl_cascades (kind, subject, mode, reason, cursor, created_at)
values (?, ?, ?, ?, ?, ?)`

function storeCascade(transaction: Transaction, cascade: Cascade, cursor: number, now: number): void {
  const { kind, subject, mode, reason } = cascade
  transaction.connection.run(INSERT_CASCADE, kind, subject, mode, reason, cursor, now)
  transaction.stirs.add('cascades')
}

const HAS_ANY = 'select 1 as found from pawl_cascades limit 1'

export function hasCascades(connection: Connection): boolean {
  return connection.get(HAS_ANY) !== undefined
}

const SELECT_OLDEST = `
select cascade_seq, kind, subject, mode, reason, cursor
from pawl_cascades
order by cascade_seq
limit 1`

interface CascadeRow extends SqlRow {
  cascade_seq: number
  kind: Cascade['kind']
  subject: string
  mode: Cascade['mode']
  reason: string | null
  cursor: number
}

const DELETE_CASCADE = 'delete from pawl_cascades where cascade_seq = ?'
const MOVE_ON = 'update pawl_cascades set cursor = ? where cascade_seq = ?'

// A long one steps behind the others, unless that would bring it behind a later one of the same subject.
const STEP_BACK = `
update pawl_cascades
set cascade_seq = (select max(cascade_seq) + 1 from pawl_cascades)
where cascade_seq = ?
  and not exists (select 1 from pawl_cascades other where other.subject = pawl_cascades.subject and other.cascade_seq > pawl_cascades.cascade_seq)`

/** Carries out stored cascades, the oldest first, until a page of dependents and members is full. */
export function applyCascade(
  transaction: Transaction,
  request: { readonly nodeId: string; readonly newId: () => string; readonly limit: number; readonly now: number },
): 'applied' | 'idle' {
  const { connection } = transaction
  const nodeSeq = findLiveNodeSeq(connection, request.nodeId)
  if (nodeSeq === null) return 'idle'
  const actor = { nodeSeq, newId: request.newId }
  const first = transaction.cascaded
  for (let cascades = 0; ; cascades++) {
    // Each counts for at least one, so that many with nothing to do do not make a long transaction.
    const room = request.limit - Math.max(cascades, transaction.cascaded - first)
    const row = room > 0 ? connection.get<CascadeRow>(SELECT_OLDEST) : undefined
    if (row === undefined) return cascades === 0 ? 'idle' : 'applied'
    applyStored(transaction, row, room, actor, request.now)
  }
}

function applyStored(transaction: Transaction, row: CascadeRow, room: number, actor: Actor, now: number): void {
  const { connection } = transaction
  const page = applyPage(transaction, row, row.cursor, room, actor, now)
  if (page.isLast) connection.run(DELETE_CASCADE, row.cascade_seq)
  else {
    connection.run(MOVE_ON, page.cursor, row.cascade_seq)
    connection.run(STEP_BACK, row.cascade_seq)
  }
  carryOut(transaction, actor, now)
}

interface Page {
  readonly cursor: number
  readonly isLast: boolean
}

function applyPage(
  transaction: Transaction,
  cascade: Cascade,
  cursor: number,
  limit: number,
  actor: Actor,
  now: number,
): Page {
  switch (cascade.kind) {
    case 'settled':
      return tellDependents(transaction, cascade.subject, cursor, limit, now)
    case 'revived':
      return reviveDependents(transaction, cascade.subject, cursor, limit, actor, now)
    case 'stop':
    case 'stop-behind':
    case 'skip':
    case 'cancel':
      return orderMembers(transaction, cascade, cursor, limit, actor, now)
  }
}

// Children that wait for this chain (0), or gave up waiting for it (2). More than one row per child when it named several of
// its Jobs: the first one's turn deals with all of them, so it does no harm that a page may end between them.
const SELECT_WAITING_CHILDREN = `
select child_seq, on_failure, of_group
from pawl_dependencies
where parent_seq = ? and met = ? and child_seq > ?
order by child_seq
limit ?`

interface ChildRow extends SqlRow {
  child_seq: number
  on_failure: OnParentFailure
  of_group: number
}

function pageOf(rows: readonly ChildRow[], cursor: number, limit: number): Page {
  return { cursor: rows[rows.length - 1]?.child_seq ?? cursor, isLast: rows.length < limit }
}

/** Decided by what the chain is now: somebody may have retried it since the cascade was stored. */
function tellDependents(transaction: Transaction, chainId: string, cursor: number, limit: number, now: number): Page {
  const { connection } = transaction
  const first = findJobRow(connection, { jobId: chainId })
  const last = first === undefined ? undefined : findLastOfChain(connection, first)
  const outcome = last === undefined ? null : chainOutcome({ status: statusOf(last), outcome: last.run_status })
  if (first === undefined || outcome === null) return { cursor, isLast: true }
  const rows = connection.all<ChildRow>(SELECT_WAITING_CHILDREN, first.seq, 0, cursor, limit)
  for (const { child_seq, on_failure, of_group } of rows) {
    const child = findQueuedOfChain(connection, child_seq)
    if (child === undefined || child.unmet_parents === 0) continue
    if (of_group === 1 && isGroupStopped(connection, child)) continue
    const means = decideDependency(outcome, on_failure)
    if (means === 'met') meetParent(transaction, child, child_seq, first.seq, now)
    else if (means === 'cancel') {
      const reason = parentFailedReason(chainId, outcome)
      cancelQueued(transaction, child, { mode: 'graceful', reason, cancelledFor: chainId, now })
    }
  }
  transaction.cascaded += rows.length
  return pageOf(rows, cursor, limit)
}

const IS_STOPPED = 'select 1 as found from pawl_groups where group_id = ? and stopped = 1'

/** Its members are being stopped, skipped or cancelled: the order of the group lets nobody start any more. */
function isGroupStopped(connection: Connection, member: JobRow): boolean {
  return member.group_id !== null && connection.get(IS_STOPPED, member.group_id) !== undefined
}

/** Children that were cancelled because this chain had failed get a new Job, now that it is tried again. */
function reviveDependents(
  transaction: Transaction,
  chainId: string,
  cursor: number,
  limit: number,
  actor: Actor,
  now: number,
): Page {
  const { connection } = transaction
  const parentSeq = chainSeqOf(connection, chainId)
  if (parentSeq === undefined || actor.newId === null) return { cursor, isLast: true }
  const rows = connection.all<ChildRow>(SELECT_WAITING_CHILDREN, parentSeq, 2, cursor, limit)
  for (const { child_seq } of rows) {
    const last = findLastBySeq(connection, child_seq)
    // Not one that a person cancelled. Which of its parents had failed first does not matter, if none is left that has.
    if (last === undefined || statusOf(last) !== 'CANCELLED' || last.cancelled_for === null) continue
    const revived = appendByHand(transaction, last, { newJobId: actor.newId(), priority: null, byHand: false, now })
    if (revived.kind !== 'created') continue
    transaction.cascades.push({ kind: 'revived', subject: last.chain_id ?? last.job_id, mode: null, reason: null })
  }
  transaction.cascaded += rows.length
  return pageOf(rows, cursor, limit)
}

/**
 * The chain because of which a member that waits is stopped: the one before it in a sequential group, or a failed one that it
 * named. If that one is retried with its dependents, this one follows again.
 */
function findCauseOfStop(connection: Connection, row: JobRow): string | null {
  if (row.parents === 0) return null
  const awaited = findParents(connection, row).filter(({ met }) => met === 0)
  const cause =
    awaited.find(({ of_group }) => of_group === 1) ??
    awaited.find(({ parent_seq }) => hasFailed(findLastBySeq(connection, parent_seq)))
  return cause?.parent_id ?? null
}

/** The member before it has ended, and not as it should. */
function isBehindFailed(connection: Connection, row: JobRow): boolean {
  const awaited = findParents(connection, row).find(({ met, of_group }) => met === 0 && of_group === 1)
  return awaited !== undefined && hasFailed(findLastBySeq(connection, awaited.parent_seq))
}

function hasFailed(last: JobRow | undefined): boolean {
  return last !== undefined && (statusOf(last) === 'CANCELLED' || last.run_status === 'FAILED')
}

const SELECT_JOB_BY_SEQ = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where j.seq = ?`

function findLastBySeq(connection: Connection, chainSeq: number): JobRow | undefined {
  const first = connection.get<JobRow>(SELECT_JOB_BY_SEQ, chainSeq)
  return first === undefined ? undefined : findLastOfChain(connection, first)
}

const SELECT_MEMBERS = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where j.group_id = ? and j.seq > ?
order by j.seq
limit ?`

/**
 * `stop` and `skip` concern members that have not started. A waiting retry has, unless it waits for its parents again.
 * `stop-behind` concerns only those of them that wait for one that has failed. `cancel` concerns all that have not ended.
 */
function orderMembers(
  transaction: Transaction,
  cascade: Cascade,
  cursor: number,
  limit: number,
  actor: Actor,
  now: number,
): Page {
  const rows = transaction.connection.all<JobRow>(SELECT_MEMBERS, cascade.subject, cursor, limit)
  for (const row of rows) orderMember(transaction, cascade, row, actor, now)
  transaction.cascaded += rows.length
  return { cursor: rows[rows.length - 1]?.seq ?? cursor, isLast: rows.length < limit }
}

function orderMember(transaction: Transaction, cascade: Cascade, row: JobRow, actor: Actor, now: number): void {
  const { kind, reason } = cascade
  const mode = cascade.mode ?? 'graceful'
  const status = statusOf(row)
  if (kind === 'cancel') {
    if (status === 'QUEUED') cancelQueued(transaction, row, { mode, reason, cancelledFor: null, now })
    else if (status === 'RUNNING') wishCancel(transaction, row, { mode, reason, now })
    return
  }
  if (status !== 'QUEUED' || (row.attempt > 1 && row.unmet_parents === 0)) return
  if (kind === 'stop' || kind === 'stop-behind') {
    if (kind === 'stop-behind' && !isBehindFailed(transaction.connection, row)) return
    cancelQueued(transaction, row, {
      mode,
      reason,
      cancelledFor: findCauseOfStop(transaction.connection, row),
      by: 'its-group',
      now,
    })
  }
  if (kind === 'skip' && actor.nodeSeq !== null && actor.newId !== null) {
    const outcome = { status: 'SKIPPED' as const, message: reason ?? 'predecessor failed' }
    skipQueued(transaction, row, { outcome, runId: actor.newId(), nodeSeq: actor.nodeSeq, now })
  }
}
