import type { Store } from 'pawl/store'
import { HOUR, NOW, newGroup, newHash, newJob, newKey, newNote } from '../fixtures.ts'
import type { Operation, Stage } from '../stage.ts'

const auditedOn = ({ store }: Stage, subject: string | null, ...made: readonly string[]): Store =>
  store.audited(newNote(subject, made))

/** Changes with the note of who asked for them: in one transaction, so that neither is ever there without the other. */
export const auditedOperations: readonly Operation[] = [
  {
    name: 'audited enqueue',
    prepare: async (stage) => {
      const job = newJob({ businessKey: 'b', idempotency: { key: 'i', fingerprint: 'f' }, tags: ['red'] })
      return () => auditedOn(stage, null, job.jobId).enqueueJobs([job], NOW)
    },
  },
  {
    name: 'audited cancel of a QUEUED Job',
    prepare: async (stage) => {
      const job = newJob({ businessKey: 'b' })
      await stage.enqueue(job)
      const request = { jobId: job.jobId, mode: 'graceful', reason: 'enough', now: NOW } as const
      return () => auditedOn(stage, job.jobId).cancelJob(request)
    },
  },
  {
    name: 'audited cancel of a RUNNING Job',
    prepare: async (stage) => {
      const { jobId } = (await stage.start()).claim
      return () => auditedOn(stage, jobId).cancelJob({ jobId, mode: 'abort', reason: 'enough', now: NOW })
    },
    // Who asked twice is noted twice.
    again: 'more',
  },
  {
    name: 'audited edit',
    prepare: async (stage) => {
      const job = newJob({ runAt: NOW + HOUR })
      await stage.enqueue(job)
      const edit = { priority: 4, params: '"new"', runAt: null }
      return () => auditedOn(stage, job.jobId).editJob({ jobId: job.jobId, edit, expected: null, now: NOW })
    },
  },
  {
    name: 'audited group',
    prepare: async (stage) => {
      const group = newGroup({ mode: 'sequential' })
      const members = [newJob(), newJob()]
      const made = [group.groupId, ...members.map(({ jobId }) => jobId)]
      return () => auditedOn(stage, null, ...made).createGroup(group, members, NOW)
    },
    again: 'refused',
  },
  {
    name: 'audited key',
    prepare: async (stage) => {
      const [key, hash] = [newKey(), newHash()]
      return () => auditedOn(stage, null, key.keyId).createKey(key, hash)
    },
    again: 'refused',
  },
]

/** What people do at the door: keys, and the log of who did what. */
export const doorOperations: readonly Operation[] = [
  ...auditedOperations,
  {
    name: 'create of a key',
    prepare: async (stage) => {
      const [key, hash] = [newKey(), newHash()]
      return () => stage.store.createKey(key, hash)
    },
    again: 'refused',
  },
  {
    name: 'revoke of a key',
    prepare: async (stage) => {
      const key = newKey()
      await stage.store.createKey(key, newHash())
      return () => stage.store.revokeKey(key.keyId, NOW)
    },
  },
  {
    name: 'a note by itself',
    prepare: async (stage) => () => stage.store.recordAudit(newNote('a')),
    again: 'more',
  },
  {
    name: 'prune of the audit log',
    prepare: async (stage) => {
      for (const subject of ['a', 'b', 'c']) await stage.store.recordAudit(newNote(subject))
      return () => stage.store.pruneAudit(NOW + 1, 10)
    },
  },
]
