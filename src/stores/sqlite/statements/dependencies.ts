import { type ChainOutcome, chainOutcome } from '../../../domain/chain.ts'
import { decideDependency, type OnParentFailure } from '../../../domain/dependency.ts'
import type { Connection } from '../connection.ts'
import { FROM_JOBS, IN_QUEUE, JOB_COLUMNS, type JobRow, statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { findJobRow, findLastOfChain } from './history.ts'
import { noteQueued } from './note-queued.ts'
import { chainSeqOf, findParents, type ParentRow } from './parents.ts'

/** A parent as a new Job finds it. */
export interface Parent {
  /** The Job that was named. */
  readonly parentId: string
  readonly parentSeq: number
  readonly chainId: string
  /** Null: its chain is live. */
  readonly outcome: ChainOutcome | null
  readonly ofGroup: boolean
  readonly onFailure: OnParentFailure
}

export type ParentChain = Pick<Parent, 'parentSeq' | 'chainId' | 'outcome'>

/** The chain of a named Job and how it ended. Null: there is no such Job. */
export function findParentChain(connection: Connection, parentId: string): ParentChain | null {
  const row = findJobRow(connection, { jobId: parentId })
  if (row === undefined) return null
  const chainId = row.chain_id ?? row.job_id
  const parentSeq = row.chain_id === null ? row.seq : (chainSeqOf(connection, row.chain_id) ?? row.seq)
  return { parentSeq, chainId, outcome: outcomeOfChain(connection, row) }
}

function outcomeOfChain(connection: Connection, anyOfIt: JobRow): ChainOutcome | null {
  const last = findLastOfChain(connection, anyOfIt)
  return chainOutcome({ status: statusOf(last), outcome: last.run_status })
}

const SELECT_JOB_BY_SEQ = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where j.seq = ?`

/** How the chain with this number ended. `gone`: it was pruned. Null: it is live. */
function findOutcomeBySeq(connection: Connection, chainSeq: number): ChainOutcome | 'gone' | null {
  const row = connection.get<JobRow>(SELECT_JOB_BY_SEQ, chainSeq)
  return row === undefined ? 'gone' : outcomeOfChain(connection, row)
}

/** What its parents mean to a new Job. `doomedBy`: a parent has failed, and the Job shall not run without it. */
export function weighParents(parents: readonly Parent[]): { readonly unmet: number; readonly doomedBy: Parent | null } {
  let unmet = 0
  let doomedBy: Parent | null = null
  for (const parent of parents) {
    const means = parent.outcome === null ? 'wait' : decideDependency(parent.outcome, parent.onFailure)
    if (means === 'met') continue
    unmet++
    if (means === 'cancel') doomedBy ??= parent
  }
  return { unmet, doomedBy }
}

const INSERT_DEPENDENCY = `
insert into pawl_dependencies (child_seq, parent_id, parent_seq, place, of_group, on_failure, met)
values (?, ?, ?, ?, ?, ?, ?)`

export function insertDependencies(transaction: Transaction, childSeq: number, parents: readonly Parent[]): void {
  for (const [place, { parentId, parentSeq, outcome, ofGroup, onFailure }] of parents.entries()) {
    const isMet = outcome !== null && decideDependency(outcome, onFailure) === 'met'
    transaction.connection.run(
      INSERT_DEPENDENCY,
      childSeq,
      parentId,
      parentSeq,
      place,
      ofGroup ? 1 : 0,
      onFailure,
      isMet ? 1 : 0,
    )
  }
}

// Edges of one child to one parent: more than one when it named several Jobs of the same chain.
const MEET = 'update pawl_dependencies set met = 1 where child_seq = ? and parent_seq = ? and met = 0'

const RELEASE = `
update pawl_queue
set unmet_parents = unmet_parents - ?,
  ready = (unmet_parents = ? and awaits_predecessor = 0 and run_at <= ?)
where priority = ? and position = ? and created_at = ? and seq = ?`

/** A parent has settled as the child needs it. The last one releases the child. */
export function meetParent(
  transaction: Transaction,
  child: JobRow,
  childSeq: number,
  parentSeq: number,
  now: number,
): void {
  const { connection } = transaction
  const met = connection.run(MEET, childSeq, parentSeq)
  if (met === 0) return
  connection.run(RELEASE, met, met, now, child.priority, child.position, child.created_at, child.seq)
  if (child.unmet_parents !== met) return
  noteQueued(transaction, 'job.released', child, now)
}

const SELECT_QUEUED_FIRST = `
select ${JOB_COLUMNS}
from pawl_jobs j
join pawl_queue q on ${IN_QUEUE}
left join pawl_runs r on r.seq = j.seq
where j.seq = ?`

const SELECT_QUEUED_RETRY = `
select ${JOB_COLUMNS}
from pawl_jobs j
join pawl_queue q on ${IN_QUEUE}
left join pawl_runs r on r.seq = j.seq
where j.chain_id = (select job_id from pawl_jobs where seq = ?)`

/** The QUEUED Job of the chain with this number, if it has one. */
export function findQueuedOfChain(connection: Connection, chainSeq: number): JobRow | undefined {
  return connection.get<JobRow>(SELECT_QUEUED_FIRST, chainSeq) ?? connection.get<JobRow>(SELECT_QUEUED_RETRY, chainSeq)
}

const SET_MET = 'update pawl_dependencies set met = ? where child_seq = ? and parent_id = ?'

/**
 * A settled chain goes on: for how many parents does it wait now? Those that have settled since count as met. One that has failed
 * is waived when a person asks for just this Job; else it dooms the Job again, as it would a new one.
 */
export function reopenParents(
  transaction: Transaction,
  job: JobRow,
  byHand: boolean,
): { readonly unmet: number; readonly isDoomed: boolean } {
  const { connection } = transaction
  const parents = job.parents === 0 ? [] : findParents(connection, job)
  const weighed = parents.map((parent) => ({ parent, means: weighAgain(connection, parent, byHand) }))
  if (weighed.some(({ means }) => means === 'cancel')) return { unmet: 0, isDoomed: true }
  for (const { parent, means } of weighed) {
    const met = means === 'met' ? 1 : 0
    if (met !== parent.met) connection.run(SET_MET, met, parent.child_seq, parent.parent_id)
  }
  return { unmet: weighed.filter(({ means }) => means === 'wait').length, isDoomed: false }
}

function weighAgain(connection: Connection, parent: ParentRow, byHand: boolean): 'met' | 'cancel' | 'wait' {
  // Each is met once: what the parent did afterwards does not matter to this chain any more.
  if (parent.met === 1 || parent.met === 3) return 'met'
  const outcome = findOutcomeBySeq(connection, parent.parent_seq)
  if (outcome === null) return 'wait'
  if (outcome === 'gone' || byHand) return 'met'
  // The member before it does not come back, so there is no order left to keep.
  if (parent.of_group === 1) return 'met'
  return decideDependency(outcome, parent.on_failure as OnParentFailure)
}

const SELECT_RESULT = 'select result from pawl_runs where seq = ?'

export function findParentResults(connection: Connection, jobId: string): Map<string, string | null> {
  const results = new Map<string, string | null>()
  const job = findJobRow(connection, { jobId })
  if (job === undefined || job.parents === 0) return results
  for (const { parent_id, parent_seq } of findParents(connection, job)) {
    const first = connection.get<JobRow>(SELECT_JOB_BY_SEQ, parent_seq)
    const last = first === undefined ? undefined : findLastOfChain(connection, first)
    const run = last === undefined ? undefined : connection.get<{ result: string | null }>(SELECT_RESULT, last.seq)
    results.set(parent_id, run?.result ?? null)
  }
  return results
}
