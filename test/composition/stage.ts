import { expect } from 'vitest'
import type { ChainOutcome } from '../../src/domain/chain.ts'
import { completed, endOf, failed, NOW, newId, newNode, skipped } from '../../src/store/conformance/fixtures.ts'
import type { NewGroup } from '../../src/store/groups.ts'
import type { NewJob } from '../../src/store/jobs.ts'
import type { ClaimedJob } from '../../src/store/runs.ts'
import type { Store } from '../../src/store/store.ts'

/** A store with one node on it. */
export class Stage {
  readonly store: Store
  readonly nodeId: string

  static async on(store: Store): Promise<Stage> {
    const node = newNode()
    await store.registerNode(node)
    return new Stage(store, node.nodeId)
  }

  private constructor(store: Store, nodeId: string) {
    this.store = store
    this.nodeId = nodeId
  }

  async enqueue(jobs: readonly NewJob[]): Promise<void> {
    expect(await this.store.enqueueJobs(jobs, NOW)).toMatchObject({ kind: 'enqueued' })
  }

  async createGroup(group: NewGroup, members: readonly NewJob[]): Promise<void> {
    expect(await this.store.createGroup(group, members, NOW)).toMatchObject({ kind: 'enqueued' })
  }

  async claim(limit: number): Promise<readonly ClaimedJob[]> {
    const types = new Map([['story', limit]])
    const { jobs } = await this.store.claimJobs({ nodeId: this.nodeId, now: NOW, limit, types, newRunId: newId })
    return jobs
  }

  /** Enqueues these, of which the first can start, and starts that one. */
  async start(...jobs: readonly NewJob[]): Promise<ClaimedJob> {
    await this.enqueue(jobs)
    const [claimed] = await this.claim(1)
    expect.assert(claimed !== undefined)
    return claimed
  }

  /** Ends a Job so that its chain settles. */
  finish(job: ClaimedJob, outcome: ChainOutcome): Promise<unknown> {
    const outcomes = { COMPLETED: completed(), SKIPPED: skipped(), FAILED: failed(), CANCELLED: failed('cancelled') }
    return this.store.finishRuns([endOf(job, { outcome: outcomes[outcome], finishedAt: NOW })], newId)
  }

  /** Completes them, a thousand at a time. */
  async finishAll(jobs: readonly ClaimedJob[]): Promise<void> {
    for (let from = 0; from < jobs.length; from += 1_000) {
      const ends = jobs.slice(from, from + 1_000).map((job) => endOf(job, { finishedAt: NOW }))
      await this.store.finishRuns(ends, newId)
    }
  }

  retry(jobId: string, dependents: boolean): Promise<unknown> {
    const request = { by: { jobId }, newJobId: newId(), priority: null, now: NOW }
    return this.store.retryByHand({ ...request, dependents: dependents ? { newId } : null })
  }

  applyPage(limit: number): Promise<'applied' | 'idle'> {
    return this.store.applyCascade({ nodeId: this.nodeId, newId, limit, now: NOW })
  }
}
