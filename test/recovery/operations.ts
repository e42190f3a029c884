import type { ClaimedJob, FinishedRun, FinishResult, NewJob, Store } from 'pawl/store'
import { expect } from 'vitest'
import {
  completed,
  endOf,
  failed,
  HOUR,
  logLines,
  NOW,
  newId,
  newJob,
  newJobs,
  newNode,
  newRetry,
  SECOND,
} from '../../src/store/conformance/fixtures.ts'
import { directOperations } from './direct-operations.ts'
import { doorOperations } from './door-operations.ts'

/** Something that a store does in one transaction. */
export interface Operation {
  readonly name: string
  /** Brings the store to where the operation is possible, and returns the operation. */
  readonly prepare: (stage: Stage) => Promise<() => Promise<unknown>>
}

export class Stage {
  readonly store: Store
  readonly node = newNode()

  constructor(store: Store) {
    this.store = store
  }

  async enqueue(...jobs: readonly NewJob[]): Promise<void> {
    expect(await this.store.enqueueJobs(jobs, NOW)).toMatchObject({ kind: 'enqueued' })
  }

  async claim(limit = 1, now = NOW): Promise<readonly ClaimedJob[]> {
    const types = new Map([['story', limit]])
    return (await this.store.claimJobs({ nodeId: this.node.nodeId, now, limit, types, newRunId: newId })).jobs
  }

  finish(...endings: readonly FinishedRun[]): Promise<readonly FinishResult[]> {
    return this.store.finishRuns(endings, newId)
  }

  async start(job: NewJob = newJob()): Promise<ClaimedJob> {
    await this.enqueue(job)
    const [claimed] = await this.claim()
    expect.assert(claimed !== undefined)
    return claimed
  }
}

export const operations: readonly Operation[] = [
  ...directOperations,
  ...doorOperations,
  {
    name: 'enqueue',
    prepare: async ({ store }) => {
      const job = newJob({ businessKey: 'b', idempotency: { key: 'i', fingerprint: 'f' }, tags: ['red'] })
      return () => store.enqueueJobs([job], NOW)
    },
  },
  {
    name: 'enqueue many',
    prepare: async ({ store }) => {
      const jobs = newJobs(4).map((job, index) => ({ ...job, businessKey: `b-${index}`, type: `type-${index}` }))
      return () => store.enqueueJobs(jobs, NOW)
    },
  },
  {
    name: 'claim',
    prepare: async (stage) => {
      // Now their policy is known. One that a process meets for the first time may be read behind the commit of its claim.
      await stage.finish(endOf(await stage.start()))
      await stage.enqueue(...newJobs(3), newJob({ runAt: NOW + HOUR }))
      const request = { nodeId: stage.node.nodeId, now: NOW + HOUR, limit: 4, types: new Map([['story', 4]]) }
      return () => stage.store.claimJobs({ ...request, newRunId: newId })
    },
  },
  {
    name: 'finish with a retry',
    prepare: async (stage) => {
      const job = await stage.start(newJob({ businessKey: 'b', tags: ['red', 'blue'] }))
      const ending = endOf(job, { outcome: failed(), retry: newRetry(), report })
      return () => stage.finish(ending)
    },
  },
  {
    name: 'finish with follow-ups',
    prepare: async (stage) => {
      const job = await stage.start(newJob({ businessKey: 'b' }))
      const keys = { businessKey: 'b', idempotency: { key: 'i', fingerprint: 'f' } }
      const ending = endOf(job, { outcome: completed(), followUps: [newJob(keys), newJob({ type: 'poem' })], report })
      return () => stage.finish(ending)
    },
  },
  {
    name: 'finish of several Runs',
    prepare: async (stage) => {
      await stage.enqueue(...newJobs(3))
      const endings = (await stage.claim(3)).map((job) => endOf(job, { outcome: failed(), retry: newRetry() }))
      return () => stage.finish(...endings)
    },
  },
  {
    name: 'finish of a body that still executes',
    prepare: async (stage) => {
      const job = await stage.start()
      const ending = endOf(job, { outcome: failed('timeout'), retry: newRetry(), body: 'executing' })
      return () => stage.finish(ending)
    },
  },
  {
    name: 'finish of an aborted body',
    prepare: async (stage) => {
      const job = await stage.start(newJob({ businessKey: 'b' }))
      const ending = endOf(job, { outcome: failed('cancelled'), report })
      return () => stage.finish(ending)
    },
  },
  {
    name: 'release of an occupancy',
    prepare: async (stage) => {
      const job = await stage.start(newJob({ businessKey: 'b' }))
      await stage.finish(endOf(job, { outcome: failed('timeout'), body: 'executing' }))
      return () => stage.store.releaseOccupancies([job.claim], NOW)
    },
  },
  {
    name: 'cancel of a QUEUED Job',
    prepare: async (stage) => {
      const job = newJob({ businessKey: 'b' })
      await stage.enqueue(job)
      return () => stage.store.cancelJob({ jobId: job.jobId, mode: 'graceful', reason: 'enough', now: NOW })
    },
  },
  {
    name: 'cancel of a RUNNING Job',
    prepare: async (stage) => {
      const { jobId } = (await stage.start()).claim
      return () => stage.store.cancelJob({ jobId, mode: 'abort', reason: 'enough', now: NOW })
    },
  },
  {
    name: 'move',
    prepare: async (stage) => {
      const [first, second] = newJobs(2)
      expect.assert(first !== undefined && second !== undefined)
      await stage.enqueue(first, second)
      return () => stage.store.moveJob({ jobId: second.jobId, target: { to: 'front' }, now: NOW })
    },
  },
  {
    name: 'move into a gap that is used up',
    prepare: async (stage) => {
      const [first, ...others] = newJobs(12)
      expect.assert(first !== undefined)
      await stage.enqueue(first, ...others)
      const into = (jobId: string) => stage.store.moveJob({ jobId, target: { after: first.jobId }, now: NOW })
      // Each move halves the gap behind the first Job, and the seventh finds it used up.
      for (const { jobId } of others.slice(4, 10)) await into(jobId)
      return () => into(others[10]?.jobId ?? '')
    },
  },
  {
    name: 'change of priority',
    prepare: async (stage) => {
      const job = newJob()
      await stage.enqueue(job)
      return () => stage.store.reprioritiseJob({ jobId: job.jobId, priority: 9, now: NOW })
    },
  },
  {
    name: 'manual retry',
    prepare: async (stage) => {
      const job = await stage.start(newJob({ businessKey: 'b', tags: ['red'] }))
      await stage.finish(endOf(job, { outcome: failed() }))
      const request = { by: { runId: job.claim.runId }, newJobId: newId(), priority: null, now: NOW }
      return () => stage.store.retryByHand(request)
    },
  },
  {
    name: 'manual retry that makes the waiting one due',
    prepare: async (stage) => {
      const job = await stage.start()
      await stage.finish(endOf(job, { outcome: failed(), retry: newRetry({ runAt: NOW + HOUR }) }))
      const request = { by: { jobId: job.claim.jobId }, newJobId: newId(), priority: null, now: NOW }
      return () => stage.store.retryByHand(request)
    },
  },
  {
    name: 'prune',
    prepare: async (stage) => {
      const job = await stage.start(newJob({ idempotency: { key: 'i', fingerprint: 'f' }, tags: ['red'] }))
      await stage.finish(endOf(job, { outcome: failed(), retry: newRetry(), report }))
      const [retry] = await stage.claim(1, NOW + SECOND)
      expect.assert(retry !== undefined)
      await stage.finish(endOf(retry), endOf(await stage.start()))
      return () => stage.store.pruneChains({ endedBefore: NOW + HOUR, limit: 10, cursor: null })
    },
  },
  {
    name: 'adding up the hours of the statistics',
    prepare: async (stage) => {
      await stage.finish(endOf(await stage.start()))
      await stage.finish(endOf(await stage.start(), { finishedAt: NOW + 2 * HOUR }))
      return () => stage.store.foldHours({ nodesBefore: NOW + 9 * HOUR, hoursBefore: NOW + 9 * HOUR })
    },
  },
  {
    name: 'report of a body',
    prepare: async (stage) => {
      const { claim } = await stage.start()
      return () => stage.store.recordReports([{ claim, report }], NOW)
    },
  },
  {
    name: 'record of a child',
    prepare: async (stage) => {
      const { claim } = await stage.start()
      const child = { pid: 4_711, startTime: '1', host: 'h', bootId: 'b', pidNamespace: 'n' }
      return () => stage.store.recordChild(claim, child, '/tmp/run.log')
    },
  },
]

const report = {
  progress: { fraction: 0.5, message: 'half' },
  logs: logLines(2),
  artifacts: [{ name: 'a', path: '/tmp/a' }],
  logsDropped: 0,
}
