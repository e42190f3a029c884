import assert from 'node:assert/strict'
import { asQueued, failed, HOUR, NOW, newId, newJob, newPolicy, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

export function testRetry({ test }: Kit): void {
  test('the retry is a new Job in the chain, copied from its predecessor', async (stage) => {
    const job = newJob({
      name: 'A tale',
      params: '{"n":1}',
      priority: 4,
      policy: newPolicy({ resources: ['ink'] }),
      tags: ['t'],
      createdBy: 'mary',
      businessKey: 'b',
    })
    const claimed = await stage.start(job)
    const predecessor = await stage.job(job.jobId)
    const counts = { errorRetries: 1, crashRetries: 2, shutdownRetries: 3 }
    const retry = { jobId: newId(), runAt: NOW + HOUR, counts }
    const result = await stage.finish(claimed, { outcome: failed(), retry })
    assertSame(result, { kind: 'finished', retryJobId: retry.jobId, followUps: [] })
    assertSame(await stage.job(retry.jobId), {
      ...asQueued({ ...job, jobId: retry.jobId, runAt: NOW + HOUR }, predecessor.position, NOW + SECOND),
      attempt: 2,
      chainId: job.jobId,
      retryOf: job.jobId,
      counts,
    })
    assert.equal(await stage.store.findRunOfJob(retry.jobId), null)
  })

  test('the failed Job stays as it ended, and its Run says that a retry follows', async (stage) => {
    const claimed = await stage.start()
    await stage.finish(claimed, { outcome: failed(), retry: newRetry() })
    const { status, outcome } = await stage.job(claimed.claim.jobId)
    assertSame({ status, outcome }, { status: 'FINISHED', outcome: 'FAILED' })
    assert.equal((await stage.run(claimed.claim.runId)).willRetry, true)
  })

  test('a retry that is due at once can be claimed at once', async (stage) => {
    const claimed = await stage.start()
    const retry = newRetry({ runAt: NOW + SECOND })
    await stage.finish(claimed, { outcome: failed(), retry })
    assertSame(await stage.claimIds({ now: NOW + SECOND }), [retry.jobId])
  })

  test('a chain can be long: each attempt has its own Job and its own Run', async (stage) => {
    const first = await stage.start()
    let claimed = first
    for (let attempt = 2; attempt <= 6; attempt++) {
      const now = NOW + attempt * HOUR
      await stage.finish(claimed, { outcome: failed(), finishedAt: now, retry: newRetry({ runAt: now }) })
      claimed = await stage.claimOne({ now })
      assert.equal(claimed.attempt, attempt)
      assert.equal(claimed.chainId, first.claim.jobId)
    }
    await stage.finish(claimed, { finishedAt: NOW + 7 * HOUR })
    const chain = await stage.store.findChain(first.claim.jobId, NOW)
    assert.ok(chain)
    assertSame(
      chain.items.map(({ attempt, status, outcome }) => ({ attempt, status, outcome })),
      [1, 2, 3, 4, 5, 6].map((attempt) => ({
        attempt,
        status: 'FINISHED',
        outcome: attempt === 6 ? 'COMPLETED' : 'FAILED',
      })),
    )
    assertSame(
      chain.items.map(({ retryOf }) => retryOf),
      [null, ...chain.items.slice(0, -1).map(({ jobId }) => jobId)],
    )
  })

  test('a retry that was ordered is not written when cancellation was asked for', async (stage) => {
    const claimed = await stage.start()
    await stage.cancel(claimed.claim.jobId)
    const retry = newRetry()
    const result = await stage.finish(claimed, { outcome: failed(), retry })
    assertSame(result, { kind: 'finished', retryJobId: null, followUps: [] })
    assert.equal(await stage.store.findJob(retry.jobId, NOW), null)
    assertSame(await stage.queue(), [])
    assert.equal((await stage.run(claimed.claim.runId)).willRetry, false)
    const { status, outcome } = await stage.job(claimed.claim.jobId)
    assertSame({ status, outcome }, { status: 'FINISHED', outcome: 'FAILED' })
  })

  test('repeating a finish whose retry was not written still answers that there is none', async (stage) => {
    const claimed = await stage.start()
    await stage.cancel(claimed.claim.jobId)
    const end = { outcome: failed(), retry: newRetry() }
    await stage.finish(claimed, end)
    const again = await stage.changesNothing(() => stage.finish(claimed, end))
    assertSame(again, { kind: 'finished', retryJobId: null, followUps: [] })
  })
}
