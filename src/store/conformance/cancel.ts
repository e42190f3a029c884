import assert from 'node:assert/strict'
import { jobVersion } from '../../domain/job.ts'
import { asQueued, failed, HOUR, NOW, newId, newJob, newRetry, SECOND, skipped } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

export function testCancel({ test }: Kit): void {
  test('a QUEUED Job is CANCELLED and never gets a Run', async (stage) => {
    const job = newJob()
    await stage.enqueue([job])
    const { position } = await stage.job(job.jobId)
    assertSame(await stage.cancel(job.jobId), { kind: 'cancelled', jobId: job.jobId })
    const cancelled = await stage.job(job.jobId)
    // Whether the end of a Job that never ran counts as a request too is left to the store.
    const { cancelRequestedAt, cancelMode } = cancelled
    assertSame(cancelled, {
      ...asQueued(job, position),
      status: 'CANCELLED',
      finishedAt: NOW + 1,
      cancelReason: 'no longer wanted',
      cancelRequestedAt,
      cancelMode,
    })
    assertSame(await stage.queue(), [])
    assertSame(await stage.claim(), [])
    assert.equal(await stage.store.findRunOfJob(job.jobId), null)
  })

  test('a delayed Job is cancelled too', async (stage) => {
    const [jobId] = await stage.enqueue([newJob({ runAt: NOW + HOUR })])
    assert.equal((await stage.cancel(jobId, 'abort')).kind, 'cancelled')
    assert.equal((await stage.job(jobId)).status, 'CANCELLED')
    assertSame(await stage.claim({ now: NOW + HOUR }), [])
  })

  test('a RUNNING Job goes on; the wish is stored for its node', async (stage) => {
    const { claim } = await stage.start()
    const before = await stage.job(claim.jobId)
    const result = await stage.cancel(claim.jobId)
    assertSame(result, { kind: 'requested', jobId: claim.jobId, mode: 'graceful' })
    assertSame(await stage.job(claim.jobId), {
      ...before,
      cancelRequestedAt: NOW + 1,
      cancelMode: 'graceful',
      cancelReason: 'no longer wanted',
    })
    assertSame(await stage.store.findCancelWishes(stage.nodeId), [{ claim, mode: 'graceful' }])
    assertSame(await stage.store.findCancelWishes(newId()), [])
  })

  test('an abort escalates a graceful wish, and never the reverse', async (stage) => {
    const { claim } = await stage.start()
    await stage.cancel(claim.jobId, 'graceful')
    const escalated = await stage.cancel(claim.jobId, 'abort', NOW + 2)
    assertSame(escalated, { kind: 'requested', jobId: claim.jobId, mode: 'abort' })
    assertSame(await stage.store.findCancelWishes(stage.nodeId), [{ claim, mode: 'abort' }])
    const calmed = await stage.changesNothing(() => stage.cancel(claim.jobId, 'graceful', NOW + 3))
    assertSame(calmed, { kind: 'requested', jobId: claim.jobId, mode: 'abort' })
    assert.equal((await stage.job(claim.jobId)).cancelMode, 'abort')
    assertSame(await stage.store.findCancelWishes(stage.nodeId), [{ claim, mode: 'abort' }])
  })

  test('a wish that adds nothing to the one before it changes nothing', async (stage) => {
    const { claim } = await stage.start()
    await stage.cancel(claim.jobId)
    const again = await stage.changesNothing(() => stage.cancel(claim.jobId, 'graceful', NOW + 2))
    assertSame(again, { kind: 'requested', jobId: claim.jobId, mode: 'graceful' })
  })

  test('a graceful wish lets the true outcome stand', async (stage) => {
    const job = await stage.start()
    await stage.cancel(job.claim.jobId)
    await stage.finish(job)
    const { status, outcome, cancelRequestedAt } = await stage.job(job.claim.jobId)
    assertSame(
      { status, outcome, cancelRequestedAt },
      { status: 'FINISHED', outcome: 'COMPLETED', cancelRequestedAt: NOW + 1 },
    )
    assertSame(await stage.store.findCancelWishes(stage.nodeId), [])
  })

  test('a wish ends with its Run, also when the body was given up', async (stage) => {
    const job = await stage.start()
    await stage.cancel(job.claim.jobId)
    await stage.finish(job, { outcome: failed('timeout'), body: 'executing' })
    assertSame(await stage.store.findCancelWishes(stage.nodeId), [])
  })

  test('an abort that was carried out ends the chain as CANCELLED', async (stage) => {
    const job = await stage.start()
    await stage.cancel(job.claim.jobId, 'abort')
    await stage.finish(job, { outcome: failed('cancelled'), retry: newRetry() })
    assert.equal((await stage.job(job.claim.jobId)).status, 'CANCELLED')
    assert.equal((await stage.run(job.claim.runId)).reason, 'cancelled')
    const chain = await stage.store.findChain(job.claim.jobId, NOW)
    assertSame([chain?.settled, chain?.outcome, chain?.items.length], [true, 'CANCELLED', 1])
    assertSame(await stage.store.findCancelWishes(stage.nodeId), [])
  })

  test('any id of a chain cancels its waiting retry, and so the chain', async (stage) => {
    const first = await stage.start()
    const retry = newRetry({ runAt: NOW + HOUR })
    await stage.finish(first, { outcome: failed(), retry })
    const ended = await stage.job(first.claim.jobId)
    assertSame(await stage.cancel(first.claim.jobId), { kind: 'cancelled', jobId: retry.jobId })
    assert.equal((await stage.job(retry.jobId)).status, 'CANCELLED')
    assertSame(await stage.job(first.claim.jobId), ended)
    const chain = await stage.store.findChain(first.claim.jobId, NOW)
    assertSame([chain?.settled, chain?.outcome], [true, 'CANCELLED'])
  })

  test('any id of a chain reaches the retry that executes', async (stage) => {
    const first = await stage.start()
    await stage.finish(first, { outcome: failed(), retry: newRetry() })
    const second = await stage.claimOne({ now: NOW + SECOND })
    const result = await stage.cancel(first.claim.jobId, 'abort')
    assertSame(result, { kind: 'requested', jobId: second.claim.jobId, mode: 'abort' })
    assert.equal((await stage.job(first.claim.jobId)).cancelRequestedAt, null)
  })

  test('a retry that waits for its predecessor’s body can be cancelled', async (stage) => {
    const job = await stage.start()
    const retry = newRetry()
    await stage.finish(job, { outcome: failed('timeout'), retry, body: 'executing' })
    assertSame(await stage.cancel(retry.jobId), { kind: 'cancelled', jobId: retry.jobId })
    await stage.release(job.claim)
    assertSame(await stage.claim({ now: NOW + HOUR }), [])
  })

  test('what is to be cancelled only while it is QUEUED is left alone once it is RUNNING', async (stage) => {
    const request = { mode: 'only-queued', reason: null, now: NOW + 1 } as const
    const { claim } = await stage.start()
    const left = await stage.changesNothing(() => stage.store.cancelJob({ ...request, jobId: claim.jobId }))
    assertSame(left, { kind: 'running', jobId: claim.jobId })
    assertSame(await stage.store.findCancelWishes(stage.nodeId), [])
    const [queued] = await stage.enqueue([newJob()])
    assertSame(await stage.store.cancelJob({ ...request, jobId: queued }), { kind: 'cancelled', jobId: queued })
    assert.equal((await stage.job(queued)).status, 'CANCELLED')
  })

  test('with a version cancels only a Job that is still so', async (stage) => {
    const request = { mode: 'graceful', reason: null, now: NOW + 1 } as const
    const [jobId] = await stage.enqueue([newJob()])
    const seen = jobVersion(await stage.job(jobId))
    await stage.claimOne()
    const stale = await stage.changesNothing(() => stage.store.cancelJob({ ...request, jobId, expected: seen }))
    assertSame(stale, { kind: 'stale' })
    const expected = jobVersion(await stage.job(jobId))
    assert.equal((await stage.store.cancelJob({ ...request, jobId, expected })).kind, 'requested')
  })

  test('cancelling again says that it is cancelled already', async (stage) => {
    const [jobId] = await stage.enqueue([newJob()])
    await stage.cancel(jobId)
    const again = await stage.changesNothing(() => stage.cancel(jobId, 'abort', NOW + HOUR))
    assertSame(again, { kind: 'already-cancelled', jobId })
  })

  test('a settled chain cannot be cancelled, and says how it ended', async (stage) => {
    const outcomes = { COMPLETED: undefined, FAILED: failed(), SKIPPED: skipped() }
    for (const [expected, outcome] of Object.entries(outcomes)) {
      const job = await stage.start()
      await stage.finish(job, outcome && { outcome })
      const result = await stage.changesNothing(() => stage.cancel(job.claim.jobId))
      assertSame(result, { kind: 'ended', jobId: job.claim.jobId, outcome: expected })
    }
  })

  test('an unknown Job cannot be cancelled', async (stage) => {
    assertSame(await stage.changesNothing(() => stage.cancel(newId())), { kind: 'not-found' })
  })

  test('a wish is seen by the node that executes, and by no other', async (stage) => {
    const [one, two] = [await stage.start(), await stage.start()]
    await stage.cancel(two.claim.jobId, 'abort')
    assertSame(await stage.store.findCancelWishes(stage.nodeId), [{ claim: two.claim, mode: 'abort' }])
    await stage.finish(one)
    assertSame(await stage.store.findCancelWishes(stage.nodeId), [{ claim: two.claim, mode: 'abort' }])
  })
}
