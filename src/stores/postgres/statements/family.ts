import { findCycle, type OnParentFailure } from '../../../domain/dependency.ts'
import type { NewGroup } from '../../../store/groups.ts'
import type { EnqueueConflict, NewJob } from '../../../store/jobs.ts'
import type { Transaction } from '../transaction.ts'
import { type Parent, type ParentChain, reserveParents } from './dependencies.ts'
import { takeSeqs } from './numbers.ts'

/** What is known of a Job of the list before it is written: the answer to a key that was used before, if it has one. */
type Answer = { readonly kind: string; readonly jobId?: string } | null

/** How the Jobs of a list depend on each other and on Jobs that exist. */
export interface Family {
  /** Their numbers. They may name one another in any order, so all are numbered before the first is written. */
  readonly seqs: readonly number[]
  readonly parents: readonly (readonly Parent[])[]
  /** Those that others of the list wait for. */
  readonly awaited: ReadonlySet<number>
  /** A parent that is neither in the list nor in the store, or a Job that would wait for itself. */
  readonly conflict: EnqueueConflict | null
}

/** Null when no Job of the list depends on any. Parents that exist stay as they are until the transaction ends. */
export async function findFamily(
  { connection }: Transaction,
  jobs: readonly NewJob[],
  answers: readonly Answer[] | null,
  group: NewGroup | null,
): Promise<Family | null> {
  const isSequential = group?.mode === 'sequential'
  if (!isSequential && jobs.every(({ dependsOn }) => dependsOn.length === 0)) return null
  const siblings = new Map(jobs.map(({ jobId }, index) => [jobId, index]))
  const isNew = (index: number) => answers?.[index]?.kind !== 'existing'
  /** A Job of the list whose key was used before stands for the first Job with that key. */
  const meantBy = (jobId: string): string => {
    const answer = answers?.[siblings.get(jobId) ?? -1]
    return answer?.kind === 'existing' ? (answer.jobId ?? jobId) : jobId
  }
  const named = jobs.map(({ dependsOn }, index) => (isNew(index) ? [...new Set(dependsOn.map(meantBy))] : []))
  const stored = await reserveParents(
    connection,
    named.flat().filter((jobId) => !siblings.has(jobId)),
  )
  const seqs = await takeSeqs(connection, jobs.length)
  let conflict: EnqueueConflict | null = null

  const findParent = (parentId: string): ParentChain | undefined => {
    const index = siblings.get(parentId)
    if (index === undefined) return stored.get(parentId)
    return { parentSeq: seqs[index] as number, chainId: parentId, outcome: null }
  }
  const parent = (index: number, parentId: string, ofGroup: boolean, onFailure: OnParentFailure): Parent[] => {
    const found = findParent(parentId)
    if (found !== undefined) return [{ parentId, ...found, ofGroup, onFailure }]
    conflict ??= { kind: 'parent-not-found', index, jobId: parentId }
    return []
  }
  const parents = jobs.map((job, index) => {
    if (!isNew(index)) return []
    const ids = (named[index] ?? []).flatMap((id) => parent(index, id, false, job.onParentFailure))
    const previous = isSequential ? jobs[index - 1]?.jobId : undefined
    if (previous === undefined || job.dependsOn.includes(previous)) return ids
    // What a failure means to the members behind it is the group's to say; only `continue` leaves it to this edge.
    return [...ids, ...parent(index, previous, true, group?.onFailure === 'continue' ? 'run' : 'wait')]
  })
  const awaited = new Set(parents.flat().map(({ parentSeq }) => parentSeq))
  conflict ??= answers === null ? null : findCycleOf(jobs, parents)
  return { seqs, parents, awaited, conflict }
}

/** The doors refuse cycles by the names they see; only here is it known which of them mean the same Job. */
function findCycleOf(jobs: readonly NewJob[], parents: readonly (readonly Parent[])[]): EnqueueConflict | null {
  const parentIds = parents.map((some) => some.map(({ parentId }) => parentId))
  const cycle = findCycle(new Map(jobs.map(({ jobId }, index) => [jobId, parentIds[index] as string[]])))
  if (cycle === null) return null
  const [jobId = ''] = cycle
  return { kind: 'dependency-cycle', index: jobs.findIndex((job) => job.jobId === jobId), jobId }
}
