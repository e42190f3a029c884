import assert from 'node:assert/strict'
import { resourceLimit, typeLimit } from '../../domain/limits.ts'
import { endOf, failed, jobTaking, NOW, newId, newJob, newJobs, newRetry } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

/** Two store objects on one database, at the same time: what one process cannot see of another must still hold. */
export function testRaces({ testShared }: Kit): void {
  testShared('each Job is claimed once, whoever asks', async (stage, other) => {
    const ids = await stage.enqueue(newJobs(60))
    const claimed = await atOnce(stage, other, 12, (one) => one.claimIds({ limit: 5 }))
    assertSame(claimed.flat().toSorted(), ids.toSorted())
  })

  testShared('limits hold, whoever asks', async (stage, other) => {
    await stage.store.setLimit(resourceLimit('ink'), 3)
    await stage.store.setLimit(typeLimit('poem'), 2)
    await stage.enqueue([...Array.from({ length: 10 }, () => jobTaking(['ink'])), ...newJobs(10, { type: 'poem' })])
    const claimed = await atOnce(stage, other, 10, (one) => one.claim({ limit: 4 }))
    const types = claimed.flat().map(({ type }) => type)
    assert.equal(types.filter((type) => type === 'story').length, 3)
    assert.equal(types.filter((type) => type === 'poem').length, 2)
  })

  testShared('an idempotency key makes one Job, whoever asks', async (stage, other) => {
    const results = await atOnce(stage, other, 10, (one) =>
      one.store.enqueueJobs([newJob({ idempotency: { key: 'k', fingerprint: 'f' } })], NOW),
    )
    const items = results.map((result) => (result.kind === 'enqueued' ? result.items[0] : undefined))
    assert.equal(items.filter((item) => item?.kind === 'created').length, 1)
    assert.equal(new Set(items.map((item) => item?.jobId)).size, 1)
    assertSame(await stage.queue(), [items[0]?.jobId])
  })

  testShared('a business key has one holder, whoever asks, and the losers’ neighbours win', async (stage, other) => {
    const results = await atOnce(stage, other, 20, async (one, index) => {
      const businessKey = index % 2 ? null : 'b'
      return { businessKey, result: await one.store.enqueueJobs([newJob({ businessKey })], NOW) }
    })
    const accepted = results.filter(({ result }) => result.kind === 'enqueued')
    assert.equal(accepted.filter(({ businessKey }) => businessKey === null).length, 10)
    assert.equal(accepted.filter(({ businessKey }) => businessKey === 'b').length, 1)
    const [holder] = (await stage.store.listQueue(100, NOW)).filter(({ businessKey }) => businessKey === 'b')
    for (const { result } of results) {
      if (result.kind !== 'refused') continue
      assertSame(result.conflict, { kind: 'business-key-taken', index: 0, jobId: holder?.jobId })
    }
    assert.equal((await other.queue()).length, 11)
  })

  testShared('a Run has one end, whoever says it first', async (stage, other) => {
    const job = await stage.start()
    const [seen] = await other.store.listOccupancies(stage.nodeId, 1)
    assert.ok(seen)
    const results = await atOnce(stage, other, 8, (one) => {
      const claimed = one === stage ? job : seen.job
      return one.finishAs(endOf(claimed, { by: one.nodeId, outcome: failed('crash'), retry: newRetry() }))
    })
    const { status, reason } = await stage.run(job.claim.runId)
    assertSame({ status, reason }, { status: 'FAILED', reason: 'crash' })
    const winners = results.filter(({ kind }) => kind === 'finished')
    assert.ok(winners.length > 0)
    const chain = await other.store.findChain(job.claim.jobId, NOW)
    assert.equal(chain?.items.length, 2)
    const retries = new Set(winners.map((winner) => winner.kind === 'finished' && winner.retryJobId))
    assertSame([...retries], [chain.items[1]?.jobId])
  })

  testShared('a claim and a cancellation of the same Job: one of them comes first', async (stage, other) => {
    const ids = await stage.enqueue(newJobs(20))
    const [claimed, answers] = await Promise.all([
      Promise.all(ids.map(() => stage.claimIds({ limit: 1 }))),
      Promise.all(ids.map((jobId) => other.cancel(jobId))),
    ])
    const started = new Set(claimed.flat())
    for (const answer of answers) {
      assert.ok(answer.kind === 'cancelled' || answer.kind === 'requested')
      assert.equal(started.has(answer.jobId), answer.kind === 'requested')
      const { status } = await stage.job(answer.jobId)
      assert.equal(status, answer.kind === 'requested' ? 'RUNNING' : 'CANCELLED')
    }
  })

  testShared(
    'a claim and a cancellation of what is QUEUED only: a Job that started has no wish',
    async (stage, other) => {
      const ids = await stage.enqueue(newJobs(20))
      const request = { mode: 'only-queued', reason: null, now: NOW + 1 } as const
      const [claimed, answers] = await Promise.all([
        Promise.all(ids.map(() => stage.claimIds({ limit: 1 }))),
        Promise.all(ids.map((jobId) => other.store.cancelJob({ ...request, jobId }))),
      ])
      const started = new Set(claimed.flat())
      for (const answer of answers) {
        assert.ok(answer.kind === 'cancelled' || answer.kind === 'running')
        assert.equal(started.has(answer.jobId), answer.kind === 'running')
        const { status, cancelRequestedAt } = await stage.job(answer.jobId)
        assert.equal(status, answer.kind === 'running' ? 'RUNNING' : 'CANCELLED')
        if (answer.kind === 'running') assert.equal(cancelRequestedAt, null)
      }
      assertSame(await stage.store.findCancelWishes(stage.nodeId), [])
    },
  )

  testShared('a manual retry is made once, whoever asks', async (stage, other) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: failed() })
    const by = { jobId: job.claim.jobId }
    const results = await atOnce(stage, other, 8, (one) =>
      one.store.retryByHand({ by, newJobId: newId(), priority: null, now: NOW }),
    )
    assert.equal(results.filter(({ kind }) => kind === 'created').length, 1)
    assert.equal((await stage.store.findChain(job.claim.jobId, NOW))?.items.length, 2)
  })

  testShared('places in the queue are given in the order of the acknowledgements', async (stage, other) => {
    const ids: string[] = []
    for (let count = 0; count < 10; count++) ids.push(...(await (count % 2 ? stage : other).enqueue([newJob()])))
    assertSame(await stage.queue(), ids)
    assertSame(await other.queue(), ids)
  })

  testShared('event rows of both are numbered in one order', async (stage, other) => {
    const jobs = newJobs(30)
    await Promise.all(jobs.map((job, index) => (index % 2 ? stage : other).enqueue([job])))
    const rows = await stage.readEvents(0, 100)
    assertSame(await other.readEvents(0, 100), rows)
    const numbers = rows.map(({ seq }) => seq)
    assertSame(
      numbers,
      [...new Set(numbers)].toSorted((a, b) => a - b),
    )
    assert.equal(rows.flatMap(({ transitions }) => transitions).length, 30)
  })
}

/** Calls made at the same time, one half of them on each store object. */
function atOnce<Result>(
  stage: Stage,
  other: Stage,
  count: number,
  act: (one: Stage, index: number) => Promise<Result>,
): Promise<Result[]> {
  // Halves, so that an odd or even index in a test does not always mean the same store object.
  return Promise.all(Array.from({ length: count }, (_, index) => act(index < count / 2 ? stage : other, index)))
}
