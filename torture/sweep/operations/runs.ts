import { COMPLETED, endOf, failed, HOUR, NOW, newJob, newJobs, newNode, newRetry, REPORT } from '../fixtures.ts'
import type { Operation } from '../stage.ts'

const CHILD = { pid: 4_711, startTime: '1', host: 'h', bootId: 'b', pidNamespace: 'n' }

/** Claiming Jobs, and ending them. */
export const runOperations: readonly Operation[] = [
  {
    name: 'claim',
    prepare: async (stage) => {
      // Now their policy is known. One that a process meets for the first time may be read behind the commit of its claim.
      await stage.complete()
      await stage.enqueue(...newJobs(3), newJob({ runAt: NOW + HOUR }))
      return () => stage.claim(4, NOW + HOUR)
    },
  },
  {
    name: 'claim under limits',
    prepare: async (stage) => {
      await stage.store.declareLimits([
        { name: 'type:story', max: 2 },
        { name: 'running', max: 3 },
      ])
      await stage.complete()
      await stage.enqueue(...newJobs(3))
      return () => stage.claim(4)
    },
  },
  {
    name: 'finish with a retry',
    prepare: async (stage) => {
      await stage.subscribe({ events: null })
      const job = await stage.start(newJob({ businessKey: 'b', tags: ['red', 'blue'] }))
      const ending = endOf(job, { outcome: failed(), retry: newRetry(), report: REPORT })
      return () => stage.finish(ending)
    },
  },
  {
    name: 'finish with follow-ups',
    prepare: async (stage) => {
      const job = await stage.start(newJob({ businessKey: 'b' }))
      const keys = { businessKey: 'b', idempotency: { key: 'i', fingerprint: 'f' } }
      const followUps = [newJob(keys), newJob({ type: 'poem' })]
      const ending = endOf(job, { outcome: COMPLETED, followUps, report: REPORT })
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
      const ending = endOf(job, { outcome: failed('cancelled'), report: REPORT })
      return () => stage.finish(ending)
    },
  },
  {
    name: 'finish of a Job whose cancellation was asked for',
    prepare: async (stage) => {
      await stage.subscribe({ events: null })
      const job = await stage.start(newJob({ businessKey: 'b' }))
      const { jobId } = job.claim
      await stage.store.cancelJob({ jobId, mode: 'graceful', reason: null, now: NOW })
      const ending = endOf(job, { outcome: failed(), retry: newRetry() })
      return () => stage.finish(ending)
    },
  },
  {
    name: 'finish by a node that recovers a dead one',
    prepare: async (stage) => {
      const job = await stage.start(newJob({ businessKey: 'b' }))
      const other = newNode()
      await stage.store.registerNode(other)
      const ending = endOf(job, { by: other.nodeId, outcome: failed('crash'), retry: newRetry() })
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
    name: 'report of a body',
    prepare: async (stage) => {
      const { claim } = await stage.start()
      return () => stage.store.recordReports([{ claim, report: REPORT }], NOW)
    },
    // Lines are told again rather than lost.
    again: 'more',
  },
  {
    name: 'record of a child',
    prepare: async (stage) => {
      const { claim } = await stage.start()
      return () => stage.store.recordChild(claim, CHILD, '/tmp/run.log')
    },
  },
]
