import assert from 'node:assert/strict'
import { completed, failed, HOUR, NOW, newId, newJob, newRetry, SECOND, skipped } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

export function testHistory({ test, testShared }: Kit): void {
  test('what is not there is not found', async ({ store }) => {
    assert.equal(await store.findJob(newId(), NOW), null)
    assert.equal(await store.findRun(newId()), null)
    assert.equal(await store.findRunOfJob(newId()), null)
    assert.equal(await store.findChain(newId(), NOW), null)
    assertSame(await store.findChainEnds([newId()]), [])
    assertSame(await store.findChainEnds([]), [])
  })

  test('the Run of a Job is found by either id', async (stage) => {
    const [queued] = await stage.enqueue([newJob({ type: 'poem' })])
    const { claim } = await stage.start()
    assertSame(await stage.store.findRunOfJob(claim.jobId), await stage.run(claim.runId))
    assert.equal(await stage.store.findRunOfJob(queued), null)
  })

  test('a chain of one is live until its Job ends', async (stage) => {
    const [jobId] = await stage.enqueue([newJob()])
    const chain = async () => {
      const { items, ...rest } = (await stage.store.findChain(jobId, NOW)) ?? { items: [] }
      assertSame(items, [await stage.job(jobId)])
      return rest
    }
    assertSame(await chain(), { chainId: jobId, settled: false, outcome: null })
    const job = await stage.claimOne()
    assertSame(await chain(), { chainId: jobId, settled: false, outcome: null })
    await stage.finish(job, { outcome: skipped() })
    assertSame(await chain(), { chainId: jobId, settled: true, outcome: 'SKIPPED' })
  })

  test('a chain is found by any of its ids, oldest Job first', async (stage) => {
    const { ids } = await chainOfTwo(stage)
    const expected = {
      chainId: ids[0],
      settled: false,
      outcome: null,
      items: [await stage.job(ids[0]), await stage.job(ids[1])],
    }
    assertSame(await stage.store.findChain(ids[0], NOW), expected)
    assertSame(await stage.store.findChain(ids[1], NOW), expected)
  })

  test('holds are told as of the time that is asked for', async (stage) => {
    const { ids } = await chainOfTwo(stage)
    const holdAt = async (now: number) => (await stage.store.findChain(ids[0], now))?.items[1]?.hold
    assert.equal(await holdAt(NOW), 'delayed')
    assert.equal(await holdAt(NOW + HOUR), null)
    const [listed] = (await stage.store.listJobs({ limit: 1 }, NOW + HOUR)).items
    assert.equal(listed?.hold, null)
    const [queued] = await stage.store.listQueue(1, NOW)
    assert.equal(queued?.hold, 'delayed')
  })

  test('the ends of chains are told for those that are settled', async (stage) => {
    const { ids } = await chainOfTwo(stage)
    assertSame(await stage.store.findChainEnds([ids[0]]), [])
    const second = await stage.claimOne({ now: NOW + HOUR })
    assertSame(await stage.store.findChainEnds([ids[0]]), [])
    await stage.finish(second, { outcome: completed({ pages: 9 }), finishedAt: NOW + HOUR })
    const [end, ...rest] = await stage.store.findChainEnds([ids[0], newId()])
    assertSame(rest, [])
    assertSame(JSON.parse(end?.result ?? ''), { pages: 9 })
    assertSame(end, {
      chainId: ids[0],
      jobId: ids[1],
      runId: second.claim.runId,
      outcome: 'COMPLETED',
      attempts: 2,
      result: end?.result,
      reason: null,
      error: null,
    })
  })

  test('a chain that failed, and one that was cancelled, end so', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: failed('timeout') })
    const [cancelled] = await stage.enqueue([newJob()])
    await stage.cancel(cancelled)
    const ends = await stage.store.findChainEnds([job.claim.jobId, cancelled])
    const end = (chainId: string) => ends.find((one) => one.chainId === chainId)
    assertSame(end(job.claim.jobId), {
      chainId: job.claim.jobId,
      jobId: job.claim.jobId,
      runId: job.claim.runId,
      outcome: 'FAILED',
      attempts: 1,
      result: null,
      reason: 'timeout',
      error: failed('timeout').error,
    })
    // A cancelled chain has no error of its own; a store may tell the reason of the cancellation instead.
    assertSame(end(cancelled), {
      ...end(cancelled),
      chainId: cancelled,
      jobId: cancelled,
      runId: null,
      outcome: 'CANCELLED',
      attempts: 1,
      result: null,
      reason: null,
    })
    assert.equal(ends.length, 2)
  })

  test('a chain whose waiting retry was cancelled ends as CANCELLED, with that Job', async (stage) => {
    const { ids } = await chainOfTwo(stage)
    await stage.cancel(ids[1])
    const [end] = await stage.store.findChainEnds([ids[0]])
    assertSame([end?.outcome, end?.jobId, end?.runId, end?.attempts], ['CANCELLED', ids[1], null, 2])
  })

  test('a manual retry makes a settled chain live again', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: failed() })
    const by = { jobId: job.claim.jobId }
    await stage.store.retryByHand({ by, newJobId: newId(), priority: null, now: NOW + SECOND })
    assertSame(await stage.store.findChainEnds([job.claim.jobId]), [])
    const chain = await stage.store.findChain(job.claim.jobId, NOW)
    assertSame([chain?.settled, chain?.outcome], [false, null])
  })

  testShared('everything is seen by every store object as soon as it is acknowledged', async (stage, other) => {
    const job = await stage.start()
    assertSame(await other.job(job.claim.jobId), await stage.job(job.claim.jobId))
    await stage.finish(job)
    assert.equal((await other.run(job.claim.runId)).status, 'COMPLETED')
    assert.equal((await other.store.findChainEnds([job.claim.jobId])).length, 1)
  })
}

/** A failed Job and its retry, which waits for an hour. */
async function chainOfTwo(stage: Stage): Promise<{ ids: [string, string] }> {
  const job = await stage.start()
  const retry = newRetry({ runAt: NOW + HOUR })
  await stage.finish(job, { outcome: failed(), retry })
  return { ids: [job.claim.jobId, retry.jobId] }
}
