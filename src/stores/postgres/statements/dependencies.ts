import { type ChainOutcome, chainOutcome } from '../../../domain/chain.ts'
import { decideDependency, type OnParentFailure } from '../../../domain/dependency.ts'
import type { Connection } from '../connection.ts'
import { FROM_JOBS, JOB_COLUMNS, type JobRow, statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { findJobRow, findLastOfChain } from './history.ts'
import { lockChains } from './locks.ts'
import { findParents, type ParentRow } from './parents.ts'

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

// As many rows as there are such Jobs.
const SELECT_CHAINS_OF = `
select j.job_id, c.seq as chain_seq, c.awaited
from pawl.jobs j
join pawl.jobs c on c.job_id = coalesce(j.chain_id, j.job_id)
where j.job_id = any($1::text[])`

// In the order of their numbers, as everybody who locks chains does.
const SHARE_CHAINS = `
select seq
from pawl.jobs
where seq = any($1::bigint[])
order by seq
for share`

// Whoever ends one of them sees that he must look for those who wait.
const MARK_AWAITED = 'update pawl.jobs set awaited = true where seq = any($1::bigint[]) and not awaited'

// How the chains stand, each by its last Job.
const SELECT_OUTCOMES = `
select c.seq as chain_seq, c.job_id as chain_id,
  case when last.cancelled_at is not null then 'CANCELLED' else r.status end as outcome
from pawl.jobs c
join pawl.jobs last on last.seq = coalesce(
  (select j.seq from pawl.jobs j where j.chain_id = c.job_id order by j.attempt desc limit 1), c.seq
)
left join pawl.runs r on r.seq = last.seq
where c.seq = any($1::bigint[])`

/**
 * The chains of Jobs that are named as parents, by those names; unknown ones are missing. They are locked against settling
 * until this transaction ends: else a parent might settle unseen, and its child would wait for ever.
 */
export async function reserveParents(
  connection: Connection,
  parentIds: readonly string[],
): Promise<ReadonlyMap<string, ParentChain>> {
  if (parentIds.length === 0) return new Map()
  type Named = { job_id: string; chain_seq: number; awaited: boolean }
  const named = await connection.all<Named>(SELECT_CHAINS_OF, [...new Set(parentIds)])
  const chainSeqs = [...new Set(named.map(({ chain_seq }) => chain_seq))]
  if (named.every(({ awaited }) => awaited)) await connection.all(SHARE_CHAINS, chainSeqs)
  else {
    await lockChains(connection, chainSeqs)
    await connection.run(MARK_AWAITED, chainSeqs)
  }
  type Standing = { chain_seq: number; chain_id: string; outcome: ChainOutcome | null }
  const standings = new Map(
    (await connection.all<Standing>(SELECT_OUTCOMES, chainSeqs)).map((row) => [row.chain_seq, row]),
  )
  const chains = new Map<string, ParentChain>()
  for (const { job_id, chain_seq } of named) {
    const standing = standings.get(chain_seq)
    // Missing: it was pruned meanwhile.
    if (standing === undefined) continue
    chains.set(job_id, { parentSeq: chain_seq, chainId: standing.chain_id, outcome: standing.outcome })
  }
  return chains
}

const SELECT_JOB_BY_SEQ = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where j.seq = $1`

/** How the chain with this number ended. `gone`: it was pruned. Null: it is live. */
async function findOutcomeBySeq(connection: Connection, chainSeq: number): Promise<ChainOutcome | 'gone' | null> {
  const row = await connection.get<JobRow>(SELECT_JOB_BY_SEQ, chainSeq)
  if (row === undefined) return 'gone'
  const last = await findLastOfChain(connection, row)
  return chainOutcome({ status: statusOf(last), outcome: last.run_status })
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

// As many rows as there are edges.
const INSERT_DEPENDENCIES = `
insert into pawl.dependencies (child_seq, parent_id, parent_seq, place, of_group, on_failure, met)
select *
from unnest($1::bigint[], $2::text[], $3::bigint[], $4::integer[], $5::boolean[], $6::text[], $7::smallint[])`

/** Writes whom each of these new Jobs waits for, or waited for. */
export async function insertDependencies(
  { connection }: Transaction,
  children: readonly { readonly seq: number; readonly parents: readonly Parent[] }[],
): Promise<void> {
  const edges = children.flatMap(({ seq, parents }) => parents.map((parent, place) => ({ seq, place, ...parent })))
  if (edges.length === 0) return
  const isMet = ({ outcome, onFailure }: Parent) => outcome !== null && decideDependency(outcome, onFailure) === 'met'
  await connection.run(
    INSERT_DEPENDENCIES,
    edges.map(({ seq }) => seq),
    edges.map(({ parentId }) => parentId),
    edges.map(({ parentSeq }) => parentSeq),
    edges.map(({ place }) => place),
    edges.map(({ ofGroup }) => ofGroup),
    edges.map(({ onFailure }) => onFailure),
    edges.map((edge) => (isMet(edge) ? 1 : 0)),
  )
}

const SET_MET = 'update pawl.dependencies set met = $1 where child_seq = $2 and parent_id = $3'

/**
 * A settled chain goes on: for how many parents does it wait now? Those that have settled since count as met. One that has failed
 * is waived when a person asks for just this Job; else it dooms the Job again, as it would a new one.
 */
export async function reopenParents(
  { connection }: Transaction,
  job: JobRow,
  byHand: boolean,
): Promise<{ readonly unmet: number; readonly isDoomed: boolean }> {
  const parents = job.parents === 0 ? [] : await findParents(connection, job)
  // None of them may settle between this look and the commit: the child would wait for ever.
  if (parents.length > 0) await connection.all(SHARE_CHAINS, [...new Set(parents.map(({ parent_seq }) => parent_seq))])
  const weighed: { readonly parent: ParentRow; readonly means: 'met' | 'cancel' | 'wait' }[] = []
  for (const parent of parents) weighed.push({ parent, means: await weighAgain(connection, parent, byHand) })
  if (weighed.some(({ means }) => means === 'cancel')) return { unmet: 0, isDoomed: true }
  for (const { parent, means } of weighed) {
    const met = means === 'met' ? 1 : 0
    if (met !== parent.met) await connection.run(SET_MET, met, parent.child_seq, parent.parent_id)
  }
  return { unmet: weighed.filter(({ means }) => means === 'wait').length, isDoomed: false }
}

async function weighAgain(
  connection: Connection,
  parent: ParentRow,
  byHand: boolean,
): Promise<'met' | 'cancel' | 'wait'> {
  // Each is met once: what the parent did afterwards does not matter to this chain any more.
  if (parent.met === 1 || parent.met === 3) return 'met'
  const outcome = await findOutcomeBySeq(connection, parent.parent_seq)
  if (outcome === null) return 'wait'
  if (outcome === 'gone' || byHand) return 'met'
  // The member before it does not come back, so there is no order left to keep.
  if (parent.of_group) return 'met'
  return decideDependency(outcome, parent.on_failure as OnParentFailure)
}

const SELECT_RESULT = 'select result from pawl.runs where seq = $1'

export async function findParentResults(connection: Connection, jobId: string): Promise<Map<string, string | null>> {
  const results = new Map<string, string | null>()
  const job = await findJobRow(connection, { jobId })
  if (job === undefined || job.parents === 0) return results
  for (const { parent_id, parent_seq } of await findParents(connection, job)) {
    const first = await connection.get<JobRow>(SELECT_JOB_BY_SEQ, parent_seq)
    const last = first === undefined ? undefined : await findLastOfChain(connection, first)
    const run =
      last === undefined ? undefined : await connection.get<{ result: string | null }>(SELECT_RESULT, last.seq)
    results.set(parent_id, run?.result ?? null)
  }
  return results
}
