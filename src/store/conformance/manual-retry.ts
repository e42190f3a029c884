import assert from 'node:assert/strict'
import { NO_RETRIES_YET } from '../../domain/retry.ts'
import type { ManualRetryResult } from '../jobs.ts'
import { asQueued, failed, HOUR, NOW, newId, newJob, newPolicy, newRetry, SECOND, skipped } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

const LATER = NOW + 10 * SECOND

export function testManualRetry({ test }: Kit): void {
  test('of a FAILED chain makes a new Job with fresh budgets, last at its priority', async (stage) => {
    const job = newJob({ name: 'A tale', policy: newPolicy({ resources: ['ink'] }), tags: ['t'], createdBy: 'mary' })
    const counts = { errorRetries: 3, crashRetries: 2, shutdownRetries: 1 }
    await stage.finish(await stage.start(job), { outcome: failed(), retry: newRetry({ counts }) })
    const second = await stage.claimOne({ now: NOW + SECOND })
    await stage.finish(second, { outcome: failed() })
    const [waiting] = await stage.enqueue([newJob()])
    const newJobId = newId()
    assertSame(await retry(stage, { jobId: second.claim.jobId }, newJobId), {
      kind: 'created',
      jobId: newJobId,
    })
    const { position } = await stage.job(newJobId)
    assertSame(await stage.job(newJobId, LATER), {
      ...asQueued({ ...job, jobId: newJobId }, position, LATER),
      attempt: 3,
      chainId: job.jobId,
      retryOf: second.claim.jobId,
      counts: NO_RETRIES_YET,
    })
    assertSame(await stage.queue(), [waiting, newJobId])
    assertSame(await stage.claimIds({ now: LATER }), [waiting, newJobId])
  })

  test('can be asked for by the id of the Run', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: failed() })
    const result = await retry(stage, { runId: job.claim.runId })
    assert.equal(result.kind, 'created')
    assert.equal((await stage.store.findChain(job.claim.jobId, NOW))?.settled, false)
  })

  test('can have another priority', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: failed() })
    const newJobId = newId()
    await stage.store.retryByHand({ by: { jobId: job.claim.jobId }, newJobId, priority: 8, now: LATER })
    assert.equal((await stage.job(newJobId)).priority, 8)
  })

  test('of a CANCELLED Job is possible, whether it ran or not', async (stage) => {
    const [queued] = await stage.enqueue([newJob()])
    await stage.cancel(queued)
    assert.equal((await retry(stage, { jobId: queued })).kind, 'created')
    const aborted = await stage.start(newJob({ type: 'poem' }))
    await stage.finish(aborted, { outcome: failed('cancelled') })
    assert.equal((await retry(stage, { runId: aborted.claim.runId })).kind, 'created')
  })

  test('carries no wish to cancel over from its predecessor', async (stage) => {
    const job = await stage.start()
    await stage.cancel(job.claim.jobId)
    await stage.finish(job, { outcome: failed() })
    const newJobId = newId()
    await retry(stage, { jobId: job.claim.jobId }, newJobId)
    const { cancelRequestedAt, cancelMode, cancelReason } = await stage.job(newJobId)
    assertSame([cancelRequestedAt, cancelMode, cancelReason], [null, null, null])
    const second = await stage.claimOne({ now: LATER })
    const result = await stage.finish(second, { outcome: failed(), retry: newRetry() })
    assert.ok(result.kind === 'finished' && result.retryJobId !== null)
  })

  test('makes the waiting automatic retry due now', async (stage) => {
    const job = await stage.start()
    const automatic = newRetry({ runAt: NOW + HOUR })
    await stage.finish(job, { outcome: failed(), retry: automatic })
    const expected = { kind: 'made-due', jobId: automatic.jobId }
    assertSame(await retry(stage, { runId: job.claim.runId }), expected)
    assert.equal((await stage.job(automatic.jobId, LATER)).hold, null)
    assert.equal((await stage.job(automatic.jobId)).runAt, LATER)
    assert.equal((await stage.store.findChain(job.claim.jobId, NOW))?.items.length, 2)
    assertSame(await stage.claimIds({ now: LATER }), [automatic.jobId])
  })

  test('by the id of the waiting retry itself makes it due too', async (stage) => {
    const job = await stage.start()
    const automatic = newRetry({ runAt: NOW + HOUR })
    await stage.finish(job, { outcome: failed(), retry: automatic })
    const expected = { kind: 'made-due', jobId: automatic.jobId }
    assertSame(await retry(stage, { jobId: automatic.jobId }), expected)
    assert.equal((await stage.job(automatic.jobId, LATER)).hold, null)
    assertSame(await stage.claimIds({ now: LATER }), [automatic.jobId])
  })

  test('can give the waiting retry another priority, where it goes last', async (stage) => {
    const job = await stage.start()
    const automatic = newRetry({ runAt: NOW + HOUR })
    await stage.finish(job, { outcome: failed(), retry: automatic })
    const [urgent, other] = await stage.enqueue([newJob({ priority: 77 }), newJob()])
    const result = await stage.store.retryByHand({
      by: { jobId: job.claim.jobId },
      newJobId: newId(),
      priority: 77,
      now: LATER,
    })
    assertSame(result, { kind: 'made-due', jobId: automatic.jobId })
    assert.equal((await stage.job(automatic.jobId)).priority, 77)
    assertSame(await stage.queue(), [urgent, automatic.jobId, other])
    assertSame(await stage.claimIds({ now: LATER }), [urgent, automatic.jobId, other])
  })

  test('of a retry that waits for a body makes it due, but does not let it start', async (stage) => {
    const job = await stage.start()
    const automatic = newRetry({ runAt: NOW + HOUR })
    await stage.finish(job, { outcome: failed('timeout'), retry: automatic, body: 'executing' })
    assert.equal((await retry(stage, { jobId: job.claim.jobId })).kind, 'made-due')
    assert.equal((await stage.job(automatic.jobId, LATER)).hold, 'predecessor')
    assertSame(await stage.claim({ now: LATER }), [])
    await stage.release(job.claim)
    assertSame(await stage.claimIds({ now: LATER }), [automatic.jobId])
  })

  test('of an earlier attempt is refused, naming the last', async (stage) => {
    const first = await stage.start()
    await stage.finish(first, { outcome: failed(), retry: newRetry() })
    const second = await stage.claimOne({ now: NOW + SECOND })
    const { jobId: lastJobId, runId: lastRunId } = second.claim
    const refused = { kind: 'not-last', lastJobId, lastRunId }
    assertSame(await refusedRetry(stage, { runId: first.claim.runId }), refused)
    await stage.finish(second, { outcome: failed() })
    assertSame(await refusedRetry(stage, { jobId: first.claim.jobId }), refused)
    assert.equal((await retry(stage, { jobId: lastJobId })).kind, 'created')
  })

  test('of an earlier attempt names the one whose retry waits, and that one can be retried', async (stage) => {
    const first = await stage.start()
    await stage.finish(first, { outcome: failed(), retry: newRetry() })
    const second = await stage.claimOne({ now: NOW + SECOND })
    const automatic = newRetry({ runAt: NOW + HOUR })
    await stage.finish(second, { outcome: failed(), retry: automatic })
    const { jobId: lastJobId, runId: lastRunId } = second.claim
    assertSame(await refusedRetry(stage, { runId: first.claim.runId }), { kind: 'not-last', lastJobId, lastRunId })
    assertSame(await retry(stage, { runId: lastRunId }), { kind: 'made-due', jobId: automatic.jobId })
  })

  test('of anything that did not fail is refused', async (stage) => {
    const done = await stage.start()
    await stage.finish(done)
    const skippedJob = await stage.start()
    await stage.finish(skippedJob, { outcome: skipped() })
    const running = await stage.start()
    const [queued] = await stage.enqueue([newJob()])
    const expectations = [
      [done.claim.jobId, 'FINISHED', 'COMPLETED'],
      [skippedJob.claim.jobId, 'FINISHED', 'SKIPPED'],
      [running.claim.jobId, 'RUNNING', null],
      [queued, 'QUEUED', null],
    ] as const
    for (const [jobId, status, outcome] of expectations) {
      assertSame(await refusedRetry(stage, { jobId }), { kind: 'not-retryable', status, outcome })
    }
  })

  test('of something unknown is refused', async (stage) => {
    assertSame(await refusedRetry(stage, { jobId: newId() }), { kind: 'not-found' })
    assertSame(await refusedRetry(stage, { runId: newId() }), { kind: 'not-found' })
  })

  test('asked for many times at once makes one Job', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: failed() })
    const results = await Promise.all(Array.from({ length: 8 }, () => retry(stage, { jobId: job.claim.jobId })))
    assert.equal(results.filter(({ kind }) => kind === 'created').length, 1)
    assert.equal((await stage.store.findChain(job.claim.jobId, NOW))?.items.length, 2)
  })
}

type By = { jobId: string } | { runId: string }

function retry(stage: Stage, by: By, newJobId = newId()): Promise<ManualRetryResult> {
  return stage.store.retryByHand({ by, newJobId, priority: null, now: LATER })
}

function refusedRetry(stage: Stage, by: By): Promise<ManualRetryResult> {
  return stage.changesNothing(() => retry(stage, by))
}
