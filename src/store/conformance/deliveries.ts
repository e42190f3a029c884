import assert from 'node:assert/strict'
import type { DeliveryStatus } from '../../domain/webhook.ts'
import type { ReplayRequest } from '../webhooks.ts'
import { completed, failed, HOUR, NOW, newId, newJob, newNode, newRetry, SECOND, skipped } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'
import {
  attemptOf,
  complete,
  deliveriesOf,
  deliveryOf,
  lease,
  leaseOne,
  newWebhook,
  record,
  refused,
  SECRET,
  subscribe,
  toldOf,
} from './webhook-fixtures.ts'

export function testDeliveries({ test }: Kit): void {
  test('are written for each end of a Run, and for that of its chain', async (stage) => {
    await subscribe(stage, { events: null })
    const ends = [
      { end: { outcome: completed() }, told: ['job.run.completed', 'job.settled'] },
      { end: { outcome: skipped() }, told: ['job.run.skipped', 'job.settled'] },
      { end: { outcome: failed() }, told: ['job.run.failed', 'job.settled'] },
      {
        end: { outcome: failed('crash'), retry: newRetry({ runAt: NOW + HOUR }) },
        told: ['job.run.failed, will retry'],
      },
    ]
    for (const { end, told } of ends) {
      const job = await stage.start()
      await stage.finish(job, end)
      assertSame(await toldOf(stage, { jobId: job.claim.jobId }), told)
    }
  })

  test('a delivery says what it is about, and is due at once', async (stage) => {
    const { webhookId } = await subscribe(stage)
    const job = await stage.start()
    await stage.finish(job)
    const [delivery] = await deliveriesOf(stage)
    assertSame(delivery, {
      deliveryId: delivery?.deliveryId,
      webhookId,
      jobId: job.claim.jobId,
      runId: job.claim.runId,
      event: 'job.settled',
      willRetry: false,
      status: 'PENDING',
      attempts: 0,
      lastAttemptAt: null,
      lastStatusCode: null,
      lastError: null,
      latencyMs: null,
      responseExcerpt: null,
      nextAttemptAt: NOW + SECOND,
      createdAt: NOW + SECOND,
    })
    assertSame(await stage.store.findDelivery(delivery?.deliveryId ?? ''), delivery)
    assert.equal(await stage.store.findDelivery(newId()), null)
  })

  test('are written when a Job is cancelled: without a Run, or with its end', async (stage) => {
    await subscribe(stage, { events: null })
    const [queued] = await stage.enqueue([newJob()])
    await stage.cancel(queued)
    assertSame(await toldOf(stage, { jobId: queued }), ['job.cancelled', 'job.settled'])
    assertSame(
      (await deliveriesOf(stage, { jobId: queued })).map(({ runId }) => runId),
      [null, null],
    )
    const running = await stage.start()
    await stage.cancel(running.claim.jobId, 'abort')
    assertSame(await toldOf(stage, { jobId: running.claim.jobId }), [])
    await stage.finish(running, { outcome: failed('cancelled'), retry: newRetry() })
    assertSame(await toldOf(stage, { jobId: running.claim.jobId }), ['job.run.failed', 'job.cancelled', 'job.settled'])
  })

  test('a retry that a cancellation forbids is not announced', async (stage) => {
    await subscribe(stage, { events: null })
    const job = await stage.start()
    await stage.cancel(job.claim.jobId)
    await stage.finish(job, { outcome: failed(), retry: newRetry() })
    assertSame(await toldOf(stage), ['job.run.failed', 'job.settled'])
  })

  test('are written for those who asked: by event, by type, and who is enabled', async (stage) => {
    const all = await subscribe(stage, { events: null })
    const poems = await subscribe(stage, { events: null, jobTypes: ['poem', 'song'] })
    const failures = await subscribe(stage, { events: ['job.run.failed'] })
    const silent = await subscribe(stage, { events: null, enabled: false })
    await stage.finish(await stage.start(newJob({ type: 'poem' })))
    await stage.finish(await stage.start(), { outcome: failed() })
    const told = async (webhookId: string) => toldOf(stage, { webhookId })
    assertSame(await told(all.webhookId), ['job.run.completed', 'job.settled', 'job.run.failed', 'job.settled'])
    assertSame(await told(poems.webhookId), ['job.run.completed', 'job.settled'])
    assertSame(await told(failures.webhookId), ['job.run.failed'])
    assertSame(await told(silent.webhookId), [])
  })

  test("go to the Job's own url, also those of its retries", async (stage) => {
    const job = await stage.start(newJob({ webhookUrl: 'https://example.com/own' }))
    const retry = newRetry()
    await stage.finish(job, { outcome: failed(), retry })
    await stage.finish(await stage.claimOne({ now: NOW + SECOND }))
    assertSame(await toldOf(stage, { jobId: job.claim.jobId }), ['job.run.failed, will retry'])
    assertSame(await toldOf(stage, { jobId: retry.jobId }), ['job.run.completed', 'job.settled'])
    assertSame(
      (await deliveriesOf(stage)).map(({ webhookId }) => webhookId),
      [null, null, null],
    )
  })

  test('a repeated finish writes none again, and a late one writes none', async (stage) => {
    await subscribe(stage, { events: null })
    const job = await stage.start()
    await stage.finish(job)
    const written = await deliveriesOf(stage)
    await stage.finish(job)
    const other = newNode()
    await stage.store.registerNode(other)
    await stage.finish(job, { outcome: failed(), by: other.nodeId })
    assertSame(await deliveriesOf(stage), written)
  })

  test('have ids that no other delivery has', async (stage) => {
    await subscribe(stage, { events: null })
    await subscribe(stage, { events: null })
    for (const webhookUrl of ['https://example.com/', 'https://example.org/']) {
      await stage.finish(await stage.start(newJob({ webhookUrl })))
    }
    const ids = (await deliveriesOf(stage)).map(({ deliveryId }) => deliveryId)
    assert.equal(ids.length, 12)
    assert.equal(new Set(ids).size, 12)
  })

  test('are listed newest first: by webhook, by Job, by status, page by page', async (stage) => {
    const { webhookId } = await subscribe(stage)
    await subscribe(stage)
    const [first, second, third] = await complete(stage, 3)
    const mine = await deliveriesOf(stage, { webhookId })
    assertSame(
      mine.map(({ jobId }) => jobId),
      [first, second, third],
    )
    assert.equal((await deliveriesOf(stage, { jobId: second as string })).length, 2)
    assert.equal((await deliveriesOf(stage, { jobId: second as string, webhookId })).length, 1)
    await end(stage, mine[0]?.deliveryId, 'DELIVERED')
    await end(stage, mine[1]?.deliveryId, 'FAILED')
    for (const [index, status] of (['DELIVERED', 'FAILED', 'PENDING'] as const).entries()) {
      const found = await deliveriesOf(stage, { webhookId, status })
      assertSame(
        found.map(({ deliveryId }) => deliveryId),
        [mine[index]?.deliveryId],
      )
    }
    assert.equal((await deliveriesOf(stage, { status: 'PENDING' })).length, 4)
    const page = await stage.store.listDeliveries({ webhookId, limit: 2 })
    assertSame(
      page.items.map(({ jobId }) => jobId),
      [third, second],
    )
    const rest = await stage.store.listDeliveries({ webhookId, limit: 2, cursor: page.nextCursor })
    assertSame([rest.items.map(({ jobId }) => jobId), rest.nextCursor], [[first], null])
    assertSame(await deliveriesOf(stage, { webhookId: newId() }), [])
  })

  test('an ended one can be replayed, with the same id and fresh attempts', async (stage) => {
    await subscribe(stage)
    await complete(stage, 2)
    const [one, two] = (await deliveriesOf(stage)).map(({ deliveryId }) => deliveryId) as [string, string]
    await end(stage, one, 'FAILED')
    await end(stage, two, 'DELIVERED')
    for (const deliveryId of [one, two]) {
      assert.equal(await stage.store.replayDelivery(deliveryId, NOW + HOUR), 'replayed')
      const { status, attempts, nextAttemptAt } = await deliveryOf(stage, deliveryId)
      assertSame([status, attempts, nextAttemptAt], ['PENDING', 0, NOW + HOUR])
    }
    const leased = await lease(stage, { now: NOW + HOUR })
    assertSame(
      leased.map(({ delivery }) => delivery.deliveryId),
      [one, two],
    )
  })

  test('one that is pending, or that nobody would get, cannot be replayed', async (stage) => {
    const { webhookId } = await subscribe(stage)
    await complete(stage)
    const deliveryId = (await deliveriesOf(stage))[0]?.deliveryId ?? ''
    assert.equal(await stage.store.replayDelivery(deliveryId, NOW), 'pending')
    assert.equal(await stage.store.replayDelivery(newId(), NOW), 'not-found')
    await stage.store.removeWebhook(webhookId, NOW)
    assert.equal(await stage.store.replayDelivery(deliveryId, NOW), 'removed')
    assertSame(await replayAll(stage, { webhookId }), 0)
    assert.equal((await deliveryOf(stage, deliveryId)).status, 'FAILED')
  })

  test('many can be replayed, those of one webhook with a status', async (stage) => {
    const { webhookId } = await subscribe(stage)
    const other = await subscribe(stage)
    await complete(stage, 7)
    const mine = await deliveriesOf(stage, { webhookId })
    for (const { deliveryId } of mine.slice(0, 4)) await end(stage, deliveryId, 'FAILED')
    for (const { deliveryId } of mine.slice(4, 6)) await end(stage, deliveryId, 'DELIVERED')
    for (const { deliveryId } of await deliveriesOf(stage, { webhookId: other.webhookId })) {
      await end(stage, deliveryId, 'FAILED')
    }
    assert.equal(await replayAll(stage, { webhookId, status: 'DELIVERED' }), 2)
    assert.equal(await replayAll(stage, { webhookId }), 4)
    assert.equal(await replayAll(stage, { webhookId }), 0)
    assert.equal((await deliveriesOf(stage, { webhookId, status: 'PENDING' })).length, 7)
    assert.equal((await deliveriesOf(stage, { status: 'FAILED' })).length, 7)
    assert.equal(await replayAll(stage, { webhookId: newId() }), 0)
  })

  test('many can be replayed since an instant', async (stage) => {
    const { webhookId } = await subscribe(stage)
    for (const hours of [1, 2, 3, 4]) await stage.finish(await stage.start(), { finishedAt: NOW + hours * HOUR })
    for (const { deliveryId } of await deliveriesOf(stage)) await end(stage, deliveryId, 'FAILED', NOW + 5 * HOUR)
    assert.equal(await replayAll(stage, { webhookId, since: NOW + 3 * HOUR }), 2)
    assert.equal(await replayAll(stage, { webhookId, since: NOW }), 2)
  })

  test('a chain is pruned with its deliveries, but not before they have ended', async (stage) => {
    await subscribe(stage)
    const [jobId] = await complete(stage)
    const request = { endedBefore: NOW + HOUR, limit: 100, cursor: null }
    assert.equal((await stage.store.pruneChains(request)).jobsRemoved, 0)
    const deliveryId = (await deliveriesOf(stage))[0]?.deliveryId ?? ''
    await end(stage, deliveryId, 'DELIVERED')
    assert.equal((await stage.store.pruneChains(request)).jobsRemoved, 1)
    assert.equal(await stage.store.findJob(jobId as string, NOW), null)
    assert.equal(await stage.store.findDelivery(deliveryId), null)
  })

  test('a Job that nobody is told of has none', async (stage) => {
    await stage.store.createWebhook(newWebhook({ jobTypes: ['poem'] }), SECRET)
    await complete(stage)
    assertSame(await deliveriesOf(stage), [])
    assert.equal(await stage.store.nextDeliveryAt(0), null)
    await assert.rejects(leaseOne(stage))
  })
}

/** Lets one delivery end so, and gives back what else was leased for that. */
async function end(
  stage: Stage,
  deliveryId: string | undefined,
  status: Exclude<DeliveryStatus, 'PENDING'>,
  now = NOW + SECOND,
): Promise<void> {
  const leased = (await lease(stage, { now })).find(({ delivery }) => delivery.deliveryId === deliveryId)
  assert.ok(leased, `Delivery ${deliveryId} can be leased`)
  await record(stage, attemptOf(leased, status === 'FAILED' ? refused({ kind: 'failed' }) : {}))
  await stage.store.releaseDeliveries(stage.nodeId, now)
}

/** Replays page by page, two at a time, and counts. */
async function replayAll(stage: Stage, request: Partial<ReplayRequest> & { webhookId: string }): Promise<number> {
  let count = 0
  let cursor: string | null = null
  do {
    const given = { status: 'FAILED' as const, since: null, limit: 2, now: NOW + HOUR, ...request }
    const page = await stage.store.replayDeliveries({ ...given, cursor })
    count += page.replayed
    cursor = page.nextCursor
  } while (cursor !== null)
  return count
}
