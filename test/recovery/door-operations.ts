import type { AuditNote, Store } from 'pawl/store'
import { newHash, newKey } from '../../src/store/conformance/api-keys.ts'
import { HOUR, NOW, newId, newJob } from '../../src/store/conformance/fixtures.ts'
import type { Operation } from './operations.ts'

const note = (subject: string | null, made: readonly string[]): AuditNote => ({
  actor: 'key:ada',
  action: 'job.something',
  subject,
  made: () => made,
  details: () => '{"by":"hand"}',
  at: NOW,
})

const auditedOn = ({ store }: { readonly store: Store }, subject: string | null, ...made: readonly string[]): Store =>
  store.audited(note(subject, made))

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
      const group = { groupId: newId(), name: null, mode: 'sequential', onFailure: 'stop', createdBy: null } as const
      const members = [newJob(), newJob()]
      const made = [group.groupId, ...members.map(({ jobId }) => jobId)]
      return () => auditedOn(stage, null, ...made).createGroup(group, members, NOW)
    },
  },
  {
    name: 'audited key',
    prepare: async (stage) => {
      const key = newKey()
      return () => auditedOn(stage, null, key.keyId).createKey(key, newHash())
    },
  },
]

export const doorOperations: readonly Operation[] = [
  ...auditedOperations,
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
    name: 'create of a key',
    prepare: async ({ store }) => {
      const [key, hash] = [newKey(), newHash()]
      return () => store.createKey(key, hash)
    },
  },
  {
    name: 'revoke of a key',
    prepare: async ({ store }) => {
      const key = newKey()
      await store.createKey(key, newHash())
      return () => store.revokeKey(key.keyId, NOW)
    },
  },
  {
    name: 'prune of the audit log',
    prepare: async ({ store }) => {
      for (const subject of ['a', 'b', 'c']) await store.recordAudit(note(subject, []))
      return () => store.pruneAudit(NOW + 1, 10)
    },
  },
]
