import assert from 'node:assert/strict'
import { comparePlaces } from '../../domain/order.ts'
import { failed, HOUR, NOW, newJob, newJobs, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

const at = (priority: number) => newJob({ priority })

export function testOrder({ test }: Kit): void {
  test('the queue goes by priority, then by arrival', async (stage) => {
    const [a, b, c, d, e] = await stage.enqueue([at(0), at(5), at(-5), at(5), at(0)])
    assertSame(await stage.queue(), [b, d, a, e, c])
  })

  test('the order is in the stored fields alone', async (stage) => {
    await stage.enqueue([at(3), at(1), at(3), at(2), at(1), at(3)])
    const queue = await stage.store.listQueue(10, NOW)
    assertSame(queue.toSorted(comparePlaces), queue)
  })

  test('who comes later stands later, also when the clock went back', async (stage) => {
    const first = await stage.enqueue(newJobs(2), NOW)
    const second = await stage.enqueue(newJobs(2), NOW - HOUR)
    assertSame(await stage.queue(), [...first, ...second])
    assertSame(await stage.claimIds(), [...first, ...second])
  })

  test('a delayed Job stands where it arrived', async (stage) => {
    const ids = await stage.enqueue([newJob(), newJob({ runAt: NOW + HOUR }), newJob()])
    assertSame(await stage.queue(), ids)
    assertSame(await stage.claimIds({ now: NOW + HOUR }), ids)
  })

  test('a retry stands where its predecessor stood, before all who came meanwhile', async (stage) => {
    const job = await stage.start()
    const later = await stage.enqueue(newJobs(2))
    const retry = newRetry()
    await stage.finish(job, { outcome: failed(), retry })
    assertSame(await stage.queue(), [retry.jobId, ...later])
    assertSame(await stage.claimIds({ now: NOW + SECOND }), [retry.jobId, ...later])
  })

  test('a new priority puts a Job last there', async (stage) => {
    const [a, b, c] = await stage.enqueue([at(1), at(0), at(1)])
    const before = await stage.job(b)
    const result = await stage.store.reprioritiseJob({ jobId: b, priority: 1, now: NOW + 1 })
    assertSame(await stage.queue(), [a, c, b])
    const { position } = await stage.job(b)
    assertSame(result, { kind: 'moved', priority: 1, position })
    assertSame(await stage.job(b), { ...before, priority: 1, position })
    assertSame(await stage.claimIds(), [a, c, b])
  })

  test('a new priority puts a Job behind those that run there, and so behind their retries', async (stage) => {
    const running = await stage.start(at(1))
    const [jobId] = await stage.enqueue([newJob()])
    await stage.store.reprioritiseJob({ jobId: jobId, priority: 1, now: NOW + 1 })
    const retry = newRetry()
    await stage.finish(running, { outcome: failed(), retry })
    assertSame(await stage.queue(), [retry.jobId, jobId])
  })

  test('normalising renumbers one priority and keeps its order', async (stage) => {
    const [a, b, c, d] = await stage.enqueue([at(0), at(0), at(0), at(1)])
    await stage.store.moveJob({ jobId: c, target: { after: a }, now: NOW })
    const other = await stage.job(d)
    assert.equal(await stage.store.normalisePositions(0), 3)
    assertSame(await stage.queue(), [d, a, c, b])
    const positions = (await stage.store.listQueue(10, NOW)).slice(1).map(({ position }) => position)
    assertSame(positions, [100, 200, 300])
    assertSame(await stage.job(d), other)
  })

  test('normalising a priority without Jobs changes nothing', async (stage) => {
    await stage.enqueue(newJobs(2))
    assert.equal(await stage.changesNothing(() => stage.store.normalisePositions(9)), 0)
  })

  test('the queue is read from its head, as far as asked', async (stage) => {
    const ids = await stage.enqueue(newJobs(5))
    const head = await stage.store.listQueue(2, NOW)
    assertSame(
      head.map(({ jobId }) => jobId),
      ids.slice(0, 2),
    )
  })

  test('what runs or has ended is not in the queue', async (stage) => {
    await stage.finish(await stage.start())
    await stage.start()
    const [cancelled, queued] = await stage.enqueue([newJob(), newJob()])
    await stage.cancel(cancelled)
    assertSame(await stage.queue(), [queued])
  })
}
