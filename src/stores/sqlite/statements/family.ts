import { findCycle, type OnParentFailure } from '../../../domain/dependency.ts'
import type { NewGroup } from '../../../store/groups.ts'
import type { EnqueueConflict, NewJob } from '../../../store/jobs.ts'
import type { Transaction } from '../transaction.ts'
import { findParentChain, type Parent, type ParentChain } from './dependencies.ts'

/** What is known of a Job of the list before it is written: the answer to a key that was used before, if it has one. */
type Answer = { readonly kind: string; readonly jobId?: string } | null

/**
 * How the Jobs of a list depend on each other and on Jobs that exist. They may name one another in any order, so all are
 * numbered before the first is written.
 */
export class Family {
  readonly #seqs: readonly number[]
  readonly #parents: readonly (readonly Parent[])[]
  /** A parent that is neither in the list nor in the store, or a Job that would wait for itself. */
  readonly conflict: EnqueueConflict | null

  /** Null when no Job of the list depends on any. */
  static of(
    transaction: Transaction,
    jobs: readonly NewJob[],
    answers: readonly Answer[] | null,
    group: NewGroup | null,
  ): Family | null {
    const isSequential = group?.mode === 'sequential'
    if (!isSequential && jobs.every(({ dependsOn }) => dependsOn.length === 0)) return null
    return new Family(transaction, jobs, answers, group)
  }

  private constructor(
    transaction: Transaction,
    jobs: readonly NewJob[],
    answers: readonly Answer[] | null,
    group: NewGroup | null,
  ) {
    const isNew = (index: number) => answers?.[index]?.kind !== 'existing'
    const siblings = new Map(jobs.map(({ jobId }, index) => [jobId, index]))
    this.#seqs = jobs.map((_, index) => (isNew(index) ? transaction.takeSeq() : 0))
    let conflict: EnqueueConflict | null = null

    // Thousands of a list may name the same parent.
    const known = new Map<string, ParentChain | null>()
    const findStored = (jobId: string): ParentChain | null => {
      const chain = known.get(jobId) ?? findParentChain(transaction.connection, jobId)
      known.set(jobId, chain)
      return chain
    }
    /** A Job of the list whose key was used before stands for the first Job with that key. */
    const meantBy = (jobId: string): string => {
      const answer = answers?.[siblings.get(jobId) ?? -1]
      return answer?.kind === 'existing' ? (answer.jobId ?? jobId) : jobId
    }
    const findParent = (parentId: string): ParentChain | null => {
      const index = siblings.get(parentId)
      if (index === undefined) return findStored(parentId)
      return { parentSeq: this.#seqs[index] as number, chainId: parentId, outcome: null }
    }
    const parent = (index: number, parentId: string, ofGroup: boolean, onFailure: OnParentFailure): Parent[] => {
      const found = findParent(parentId)
      if (found !== null) return [{ parentId, ...found, ofGroup, onFailure }]
      conflict ??= { kind: 'parent-not-found', index, jobId: parentId }
      return []
    }

    this.#parents = jobs.map((job, index) => {
      if (!isNew(index)) return []
      const ids = new Set(answers === null ? job.dependsOn : job.dependsOn.map(meantBy))
      const named = [...ids].flatMap((id) => parent(index, id, false, job.onParentFailure))
      const previous = group?.mode === 'sequential' ? jobs[index - 1]?.jobId : undefined
      if (previous === undefined || job.dependsOn.includes(previous)) return named
      // What a failure means to the members behind it is the group's to say; only `continue` leaves it to this edge.
      return [...named, ...parent(index, previous, true, group?.onFailure === 'continue' ? 'run' : 'wait')]
    })
    this.conflict = conflict ?? (answers === null ? null : this.#findCycle(jobs))
  }

  /** The doors refuse cycles by the names they see; only here is it known which of them mean the same Job. */
  #findCycle(jobs: readonly NewJob[]): EnqueueConflict | null {
    const parentIds = this.#parents.map((parents) => parents.map(({ parentId }) => parentId))
    const cycle = findCycle(new Map(jobs.map(({ jobId }, index) => [jobId, parentIds[index] as string[]])))
    if (cycle === null) return null
    const [jobId = ''] = cycle
    return { kind: 'dependency-cycle', index: jobs.findIndex((job) => job.jobId === jobId), jobId }
  }

  seqOf(index: number): number {
    return this.#seqs[index] as number
  }

  parentsOf(index: number): readonly Parent[] {
    return this.#parents[index] as readonly Parent[]
  }
}
