import assert from 'node:assert/strict'
import type { EnqueueResult } from '../jobs.ts'
import { failed, HOUR, NOW, newId, newJob, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

export function testIdempotencyKeys({ test }: Kit): void {
  const request = (fingerprint = 'f1') => newJob({ idempotency: { key: 'request-1', fingerprint } })

  test('the same key and fingerprint are answered with the first Job', async (stage) => {
    const [first] = await stage.enqueue([request()])
    const again = await stage.changesNothing(() => stage.store.enqueueJobs([request()], NOW + HOUR))
    assertSame(again, { kind: 'enqueued', items: [{ kind: 'existing', jobId: first, pruned: false }] })
  })

  test('the same key with another fingerprint is refused, naming the first Job', async (stage) => {
    const [first] = await stage.enqueue([request()])
    const again = await stage.changesNothing(() => stage.store.enqueueJobs([newJob(), request('f2')], NOW))
    assertSame(again, refusal('idempotency-key-reused', 1, first))
  })

  test('a key is kept when its Job has ended', async (stage) => {
    const job = await stage.start(request())
    await stage.finish(job)
    const again = await stage.changesNothing(() => stage.store.enqueueJobs([request()], NOW))
    assertSame(again, {
      kind: 'enqueued',
      items: [{ kind: 'existing', jobId: job.claim.jobId, pruned: false }],
    })
  })

  test('a key outlives the pruning of its Job, with its fingerprint', async (stage) => {
    const job = await stage.start(request())
    await stage.finish(job)
    await stage.store.pruneChains({ endedBefore: NOW + HOUR, limit: 10, cursor: null })
    assert.equal(await stage.store.findJob(job.claim.jobId, NOW), null)
    const again = await stage.changesNothing(() => stage.store.enqueueJobs([request()], NOW))
    assertSame(again, { kind: 'enqueued', items: [{ kind: 'existing', jobId: job.claim.jobId, pruned: true }] })
    const other = await stage.changesNothing(() => stage.store.enqueueJobs([request('f2')], NOW))
    assertSame(other, refusal('idempotency-key-reused', 0, job.claim.jobId))
  })

  test('a key that comes twice in one list makes one Job', async (stage) => {
    const [first, second] = [request(), request()]
    const result = await stage.store.enqueueJobs([first, newJob(), second], NOW)
    assert.equal(result.kind, 'enqueued')
    assertSame([result.items[0]?.kind, result.items[0]?.jobId], ['created', first.jobId])
    assertSame(result.items[2], { kind: 'existing', jobId: first.jobId, pruned: false })
    assert.equal((await stage.queue()).length, 2)
  })

  test('a repeated request is answered with its Job, although that Job holds the business key', async (stage) => {
    const both = () => newJob({ businessKey: 'b', idempotency: { key: 'k', fingerprint: 'f' } })
    const [first] = await stage.enqueue([both()])
    const again = await stage.changesNothing(() => stage.store.enqueueJobs([both()], NOW))
    assertSame(again, { kind: 'enqueued', items: [{ kind: 'existing', jobId: first, pruned: false }] })
  })
}

export function testBusinessKeys({ test }: Kit): void {
  const holder = () => newJob({ businessKey: 'order-1' })

  test('a key is taken while its Job is queued, and by its Job alone', async (stage) => {
    const [first] = await stage.enqueue([holder()])
    await isTaken(stage, first)
    await stage.enqueue([newJob({ businessKey: 'order-2' }), newJob()])
  })

  test('a key is taken while its Job executes', async (stage) => {
    const job = await stage.start(holder())
    await isTaken(stage, job.claim.jobId)
  })

  test('a key that comes twice in one list refuses the list', async (stage) => {
    const result = await stage.changesNothing(() => stage.store.enqueueJobs([holder(), newJob(), holder()], NOW))
    assert.equal(result.kind, 'refused')
    assert.equal(result.conflict.kind, 'business-key-taken')
    assert.equal(result.conflict.index, 2)
  })

  test('a key stays taken through the retries of its chain', async (stage) => {
    const job = await stage.start(holder())
    const retry = newRetry()
    await stage.finish(job, { outcome: failed(), retry })
    assert.equal((await stage.job(retry.jobId)).businessKey, 'order-1')
    await isTaken(stage)
    const second = await stage.claimOne({ now: NOW + SECOND })
    await isTaken(stage)
    await stage.finish(second, { outcome: failed() })
    await stage.enqueue([holder()])
  })

  test('a key is free when its chain has completed', async (stage) => {
    await stage.finish(await stage.start(holder()))
    await stage.enqueue([holder()])
  })

  test('a key is free when its queued Job was cancelled', async (stage) => {
    const [jobId] = await stage.enqueue([holder()])
    await stage.cancel(jobId)
    await stage.enqueue([holder()])
  })

  test('a key is taken until a body that was given up has really ended', async (stage) => {
    const job = await stage.start(holder())
    await stage.finish(job, { outcome: failed('timeout'), body: 'executing' })
    await isTaken(stage, job.claim.jobId)
    await stage.release(job.claim)
    await stage.enqueue([holder()])
  })

  test('a key is taken while the body executes, although the waiting retry was cancelled', async (stage) => {
    const job = await stage.start(holder())
    const retry = newRetry()
    await stage.finish(job, { outcome: failed('timeout'), retry, body: 'executing' })
    await stage.cancel(retry.jobId)
    await isTaken(stage)
    await stage.release(job.claim)
    await stage.enqueue([holder()])
  })

  test('a key stays with the waiting retry when the body has ended', async (stage) => {
    const job = await stage.start(holder())
    await stage.finish(job, { outcome: failed('timeout'), retry: newRetry(), body: 'executing' })
    await isTaken(stage)
    await stage.release(job.claim)
    await isTaken(stage)
  })

  test('a manual retry takes the key again', async (stage) => {
    const job = await stage.start(holder())
    await stage.finish(job, { outcome: failed() })
    const by = { jobId: job.claim.jobId }
    await stage.store.retryByHand({ by, newJobId: newId(), priority: null, now: NOW + HOUR })
    await isTaken(stage)
  })

  test('a manual retry is refused while another chain has the key', async (stage) => {
    const job = await stage.start(holder())
    await stage.finish(job, { outcome: failed() })
    const [second] = await stage.enqueue([holder()])
    const by = { jobId: job.claim.jobId }
    const result = await stage.changesNothing(() =>
      stage.store.retryByHand({ by, newJobId: newId(), priority: null, now: NOW + HOUR }),
    )
    assertSame(result, { kind: 'business-key-taken', jobId: second })
  })

  /** When the chain has one Job, the conflict names it; with retries, any of them may be meant. */
  async function isTaken(stage: Stage, by?: string): Promise<void> {
    const result = await stage.changesNothing(() => stage.store.enqueueJobs([holder()], NOW))
    assert.equal(result.kind, 'refused')
    assert.equal(result.conflict.kind, 'business-key-taken')
    if (by !== undefined) assert.equal(result.conflict.jobId, by)
  }
}

function refusal(kind: 'idempotency-key-reused', index: number, jobId: string): EnqueueResult {
  return { kind: 'refused', conflict: { kind, index, jobId: jobId } }
}
