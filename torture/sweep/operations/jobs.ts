import { endOf, failed, HOUR, NOW, newId, newJob, newJobs, newRetry } from '../fixtures.ts'
import type { Operation } from '../stage.ts'

/** Accepting, ordering, changing and cancelling Jobs, and trying them again. */
export const jobOperations: readonly Operation[] = [
  {
    name: 'enqueue',
    prepare: async (stage) => {
      const job = newJob({ businessKey: 'b', idempotency: { key: 'i', fingerprint: 'f' }, tags: ['red'] })
      return () => stage.store.enqueueJobs([job], NOW)
    },
  },
  {
    name: 'enqueue without a key',
    prepare: async (stage) => {
      const job = newJob({ webhookUrl: 'https://example.com/hook' })
      return () => stage.store.enqueueJobs([job], NOW)
    },
    again: 'refused',
  },
  {
    name: 'enqueue many',
    prepare: async (stage) => {
      const jobs = newJobs(4).map((job, index) => ({ ...job, businessKey: `b-${index}`, type: `type-${index}` }))
      return () => stage.store.enqueueJobs(jobs, NOW)
    },
  },
  {
    name: 'enqueue within a transaction of the caller',
    prepare: async (stage) => {
      const job = newJob({ businessKey: 'b', idempotency: { key: 'i', fingerprint: 'f' }, tags: ['red'] })
      return () => stage.database.transact((own) => stage.store.enqueueJobsWithin(own, [job], NOW))
    },
    commits: 'caller',
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
    again: 'told',
  },
  {
    name: 'move',
    prepare: async (stage) => {
      const [first, second] = [newJob(), newJob()]
      await stage.enqueue(first, second)
      return () => stage.store.moveJob({ jobId: second.jobId, target: { to: 'front' }, now: NOW })
    },
    again: 'told',
  },
  {
    name: 'move into a gap that is used up',
    prepare: async (stage) => {
      const [first, ...others] = [newJob(), ...newJobs(11)]
      await stage.enqueue(first, ...others)
      const into = (jobId: string) => stage.store.moveJob({ jobId, target: { after: first.jobId }, now: NOW })
      // Each move halves the gap behind the first Job, and the seventh finds it used up.
      for (const { jobId } of others.slice(4, 10)) await into(jobId)
      return () => into(others[10]?.jobId ?? '')
    },
    again: 'told',
  },
  {
    name: 'normalising of positions',
    prepare: async (stage) => {
      const [first, ...others] = [newJob(), ...newJobs(4)]
      await stage.enqueue(first, ...others)
      for (const { jobId } of others) await stage.store.moveJob({ jobId, target: { after: first.jobId }, now: NOW })
      return () => stage.store.normalisePositions(0)
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
    name: 'edit',
    prepare: async (stage) => {
      const job = newJob({ runAt: NOW + HOUR })
      await stage.enqueue(job)
      const edit = { priority: 4, params: '"new"', runAt: null }
      return () => stage.store.editJob({ jobId: job.jobId, edit, expected: null, now: NOW })
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
    again: 'told',
  },
  {
    name: 'manual retry that makes the waiting one due',
    prepare: async (stage) => {
      const job = await stage.start()
      await stage.finish(endOf(job, { outcome: failed(), retry: newRetry({ runAt: NOW + HOUR }) }))
      const request = { by: { jobId: job.claim.jobId }, newJobId: newId(), priority: null, now: NOW }
      return () => stage.store.retryByHand(request)
    },
    again: 'told',
  },
]
