import assert from 'node:assert/strict'
import { asQueued, failed, HOUR, NOW, newJob, newRetry, SECOND, skipped } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

export function testFollowUps({ test }: Kit): void {
  test('follow-ups are queued together with a COMPLETED outcome', async (stage) => {
    const claimed = await stage.start()
    const [waiting] = await stage.enqueue([newJob()])
    const [poem, later] = [newJob({ type: 'poem', name: 'An ode' }), newJob({ runAt: NOW + HOUR })] as const
    const result = await stage.finish(claimed, { followUps: [poem, later] })
    assertSame(result, {
      kind: 'finished',
      retryJobId: null,
      followUps: [
        { kind: 'created', jobId: poem.jobId },
        { kind: 'created', jobId: later.jobId },
      ],
    })
    assertSame(await stage.queue(), [waiting, poem.jobId, later.jobId])
    for (const job of [poem, later]) {
      const stored = await stage.job(job.jobId, NOW + SECOND)
      assertSame(stored, asQueued(job, stored.position, NOW + SECOND))
    }
  })

  test('follow-ups of a Run that did not complete are not written', async (stage) => {
    for (const outcome of [failed(), failed('cancelled'), skipped()]) {
      const claimed = await stage.start()
      const result = await stage.finish(claimed, { outcome, followUps: [newJob()] })
      assert.equal(result.kind, 'finished')
      assertSame(await stage.queue(), [])
    }
  })

  test('a follow-up whose business key is taken is dropped; the outcome and the others stand', async (stage) => {
    const claimed = await stage.start()
    const [holder] = await stage.enqueue([newJob({ businessKey: 'taken' })])
    const [first, dropped, last] = [newJob(), newJob({ businessKey: 'taken' }), newJob()] as const
    const result = await stage.finish(claimed, { followUps: [first, dropped, last] })
    assertSame(result, {
      kind: 'finished',
      retryJobId: null,
      followUps: [
        { kind: 'created', jobId: first.jobId },
        { kind: 'dropped', jobId: dropped.jobId },
        { kind: 'created', jobId: last.jobId },
      ],
    })
    assert.equal((await stage.run(claimed.claim.runId)).status, 'COMPLETED')
    assertSame(await stage.queue(), [holder, first.jobId, last.jobId])
  })

  test('a follow-up may take the business key that this very finish frees', async (stage) => {
    const claimed = await stage.start(newJob({ businessKey: 'daily' }))
    const next = newJob({ businessKey: 'daily' })
    const result = await stage.finish(claimed, { followUps: [next] })
    assert.equal(result.kind, 'finished')
    assertSame(result.followUps, [{ kind: 'created', jobId: next.jobId }])
  })

  test('a follow-up whose idempotency key was used is answered with the first Job', async (stage) => {
    const idempotency = { key: 'k', fingerprint: 'f' }
    const claimed = await stage.start()
    const [first] = await stage.enqueue([newJob({ idempotency })])
    const result = await stage.finish(claimed, { followUps: [newJob({ idempotency })] })
    assertSame(result, {
      kind: 'finished',
      retryJobId: null,
      followUps: [{ kind: 'existing', jobId: first, pruned: false }],
    })
    assertSame(await stage.queue(), [first])
  })

  test('a follow-up whose idempotency key was used for something else is dropped', async (stage) => {
    const claimed = await stage.start()
    const [first] = await stage.enqueue([newJob({ idempotency: { key: 'k', fingerprint: 'f1' } })])
    const followUp = newJob({ idempotency: { key: 'k', fingerprint: 'f2' } })
    const result = await stage.finish(claimed, { followUps: [followUp] })
    assert.equal(result.kind, 'finished')
    assertSame(result.followUps, [{ kind: 'dropped', jobId: followUp.jobId }])
    assertSame(await stage.queue(), [first])
  })

  test('follow-ups of a late finish are not written', async (stage) => {
    const claimed = await stage.start()
    await stage.finish(claimed, { outcome: failed('crash'), retry: newRetry() })
    const late = await stage.changesNothing(() => stage.finish(claimed, { followUps: [newJob()] }))
    assert.equal(late.kind, 'already-finished')
  })

  test('follow-ups are written although cancellation was asked for and came too late', async (stage) => {
    const claimed = await stage.start()
    await stage.cancel(claimed.claim.jobId)
    const followUp = newJob()
    await stage.finish(claimed, { followUps: [followUp] })
    assertSame(await stage.queue(), [followUp.jobId])
  })
}
