import assert from 'node:assert/strict'
import { asQueued, jobTaking, NOW, newJob, newJobs } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

export function testEnqueueWithin({ testTransaction }: Kit): void {
  testTransaction('Jobs exist when the caller has committed', async (stage, within) => {
    const before = await stage.enqueue(newJobs(1))
    const jobs = [newJob(), newJob()] as const
    await within('commit', async (transaction) => {
      const result = await stage.store.enqueueJobsWithin(transaction, jobs, NOW)
      assert.equal(result.kind, 'enqueued')
      assertSame(
        result.items.map(({ kind, jobId }) => [kind, jobId]),
        jobs.map(({ jobId }) => ['created', jobId]),
      )
    })
    const ids = jobs.map(({ jobId }) => jobId)
    assertSame(await stage.queue(), [...before, ...ids])
    const stored = await stage.job(jobs[0].jobId)
    assertSame(stored, asQueued(jobs[0], stored.position))
    assertSame(await stage.claimIds(), [...before, ...ids])
  })

  testTransaction('its answer comes as the store says: at once, or later', async (stage, within) => {
    await within('rollback', async (transaction) => {
      const answer = stage.store.enqueueJobsWithin(transaction, newJobs(1), NOW)
      assert.equal(answer instanceof Promise, stage.store.callerTransactions === 'asynchronous')
      await answer
    })
  })

  testTransaction('nothing exists when the caller rolls back', async (stage, within) => {
    await stage.enqueue(newJobs(1))
    const job = newJob({ businessKey: 'b', idempotency: { key: 'k', fingerprint: 'f' } })
    await stage.changesNothing(() =>
      within('rollback', async (transaction) => {
        const result = await stage.store.enqueueJobsWithin(transaction, [job], NOW)
        assert.equal(result.kind, 'enqueued')
      }),
    )
    // Its keys are free: the same request is accepted afresh.
    await stage.enqueue([job])
  })

  testTransaction('nothing of a rolled-back call is relied upon by the next', async (stage, within) => {
    const song = () => jobTaking(['ink'], { type: 'song' })
    await within('rollback', async (transaction) => {
      await stage.store.enqueueJobsWithin(transaction, [song()], NOW)
    })
    // The same type again, when others have come in between.
    await stage.enqueue([jobTaking(['gpu'], { type: 'poem' })])
    const job = song()
    await within('commit', async (transaction) => {
      await stage.store.enqueueJobsWithin(transaction, [job], NOW)
    })
    const stored = await stage.job(job.jobId)
    assertSame(stored, asQueued(job, stored.position))
  })

  testTransaction('a conflict is a value, and leaves the caller’s transaction alone', async (stage, within) => {
    const [holder] = await stage.enqueue([newJob({ businessKey: 'taken' })])
    const [refused, accepted] = [newJobs(1), newJobs(1)]
    await within('commit', async (transaction) => {
      const result = await stage.store.enqueueJobsWithin(
        transaction,
        [...refused, newJob({ businessKey: 'taken' })],
        NOW,
      )
      assertSame(result, {
        kind: 'refused',
        conflict: { kind: 'business-key-taken', index: 1, jobId: holder },
      })
      await stage.store.enqueueJobsWithin(transaction, accepted, NOW)
    })
    assertSame(await stage.queue(), [holder, ...accepted.map(({ jobId }) => jobId)])
  })

  testTransaction('what was enqueued within is an event like any other', async (stage, within) => {
    const last = await stage.lastEventSeq()
    const job = newJob()
    await within('commit', async (transaction) => {
      await stage.store.enqueueJobsWithin(transaction, [job], NOW)
    })
    // The store does not say when its caller committed. Whoever can read a later row can read this one.
    const [later] = await stage.enqueue([newJob()])
    const rows = await stage.readEvents(last, 10)
    assertSame(
      rows.map(({ transitions }) => transitions.map(({ kind, jobId }) => ({ kind, jobId }))),
      [[{ kind: 'job.queued', jobId: job.jobId }], [{ kind: 'job.queued', jobId: later }]],
    )
  })
}
