import assert from 'node:assert/strict'
import { HOUR, NOW, newId, newJob, newNode, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'
import {
  attemptOf,
  complete,
  deliveriesOf,
  deliveryOf,
  LEASE_MS,
  lease,
  leaseOne,
  leasePage,
  record,
  refused,
  SECRET,
  subscribe,
} from './webhook-fixtures.ts'

export function testDeliveryLeases({ test, testShared }: Kit): void {
  test('a leased delivery has all that its message is made of', async (stage) => {
    const { webhookId, url } = await subscribe(stage)
    const job = await stage.start()
    await stage.finish(job)
    const leased = await leaseOne(stage)
    const { delivery } = leased
    assertSame([delivery.webhookId, delivery.event, delivery.attempts], [webhookId, 'job.settled', 0])
    assertSame([leased.url, leased.secrets], [url, [SECRET]])
    assertSame(leased.job, await stage.job(job.claim.jobId))
    assertSame(leased.run, await stage.run(job.claim.runId))
  })

  test('a cancelled Job that never ran has no Run to tell of', async (stage) => {
    await subscribe(stage)
    const [jobId] = await stage.enqueue([newJob()])
    await stage.cancel(jobId)
    const leased = await leaseOne(stage)
    assertSame([leased.run, leased.delivery.runId, leased.job.status], [null, null, 'CANCELLED'])
  })

  test('a leased delivery is not leased again while its lease lasts', async (stage) => {
    await subscribe(stage)
    await complete(stage)
    await leaseOne(stage, { perEndpoint: 1 })
    assertSame(await lease(stage, { now: NOW + SECOND + LEASE_MS - 1 }), [])
    assert.equal((await lease(stage, { now: NOW + SECOND + LEASE_MS, perEndpoint: 1 })).length, 1)
  })

  test('nothing is leased before it is due', async (stage) => {
    await subscribe(stage)
    await complete(stage)
    assertSame(await lease(stage, { now: NOW }), [])
    assert.equal(await stage.store.nextDeliveryAt(0), NOW + SECOND)
    assert.equal((await lease(stage, { now: NOW + SECOND })).length, 1)
  })

  test('each endpoint gives its oldest, and no more than it may at once', async (stage) => {
    const { webhookId } = await subscribe(stage)
    await complete(stage, 5)
    const ids = (await deliveriesOf(stage)).map(({ deliveryId }) => deliveryId)
    const first = await lease(stage, { perEndpoint: 2 })
    assertSame(idsOf(first), ids.slice(0, 2))
    assertSame(
      first.map(({ delivery }) => delivery.webhookId),
      [webhookId, webhookId],
    )
    assertSame(await lease(stage, { perEndpoint: 2 }), [])
    await record(stage, ...first.slice(0, 1).map((one) => attemptOf(one)))
    assertSame(idsOf(await lease(stage, { perEndpoint: 2 })), ids.slice(2, 3))
  })

  test('the urls of Jobs are endpoints by their origin', async (stage) => {
    await stage.store.declareDefaultSecret(SECRET)
    const urls = ['https://example.com/a', 'https://example.com/b', 'https://example.org/']
    for (const webhookUrl of urls) await stage.cancel((await stage.enqueue([newJob({ webhookUrl })]))[0])
    const leased = await lease(stage, { perEndpoint: 2 })
    assertSame(leased.map(({ url }) => url).toSorted(), [urls[0], urls[0], urls[2], urls[2]])
  })

  test("a delivery to a Job's own url waits until there is a secret to sign it", async (stage) => {
    await stage.finish(await stage.start(newJob({ webhookUrl: 'https://example.com/' })))
    assertSame(await lease(stage), [])
    await stage.store.declareDefaultSecret(SECRET)
    assert.equal((await lease(stage)).length, 2)
  })

  test('all endpoints give one before any gives another', async (stage) => {
    const webhooks = [await subscribe(stage), await subscribe(stage), await subscribe(stage)]
    await complete(stage, 4)
    const counts = (leased: Awaited<ReturnType<typeof lease>>) =>
      webhooks.map(({ webhookId }) => leased.filter(({ delivery }) => delivery.webhookId === webhookId).length)
    const first = await lease(stage, { limit: 4 })
    assertSame(
      counts(first).toSorted((a, b) => a - b),
      [1, 1, 2],
    )
    const second = await lease(stage, { limit: 8 })
    assertSame(
      counts(second).toSorted((a, b) => a - b),
      [2, 3, 3],
    )
    assertSame(counts([...first, ...second]), [4, 4, 4])
  })

  // Few and many: a store may find its way differently when much is due.
  for (const each of [3, 40]) {
    test(`endpoints with ${each} deliveries each take turns, beginning after the one that was last`, async (stage) => {
      const first = await subscribe(stage)
      await complete(stage, each)
      const webhooks = [first, await subscribe(stage), await subscribe(stage)]
      await complete(stage, each)
      const seen: (string | null)[] = []
      let after: string | null = null
      for (let turn = 0; turn < 6; turn++) {
        const page = await leasePage(stage, { limit: 1, after })
        seen.push(...page.leased.map(({ delivery }) => delivery.webhookId))
        after = page.after
      }
      assertSame(new Set(seen.slice(0, 3)), new Set(webhooks.map(({ webhookId }) => webhookId)))
      assertSame(seen.slice(3), seen.slice(0, 3))
      const two = await lease(stage, { limit: 2, after })
      assertSame(
        two.map(({ delivery }) => delivery.webhookId),
        seen.slice(0, 2),
      )
    })
  }

  test('a round closes, and comes by all endpoints, however many calls it takes', async (stage) => {
    await stage.store.declareDefaultSecret(SECRET)
    const full = await subscribe(stage)
    await complete(stage, 80)
    const jobs = Array.from({ length: 2_200 }, (_, n) => newJob({ webhookUrl: `https://n${n}.example.com/` }))
    await stage.enqueue(jobs)
    await Promise.all(jobs.map(({ jobId }) => stage.cancel(jobId)))
    const middle = 'https://n1500.example.com'
    for (const until of [null, middle, full.webhookId]) {
      const leased = await leaseRound(stage, until)
      assert.equal(new Set(leased).size, jobs.length + 1)
      assertSame(await leaseRound(stage, until), [])
      await stage.store.releaseDeliveries(stage.nodeId, NOW)
    }
  })

  test('any number of deliveries that wait for one endpoint hides no other', async (stage) => {
    const dead = await subscribe(stage)
    await complete(stage, 80)
    const living = await subscribe(stage)
    await complete(stage, 1)
    const leased = await lease(stage, { limit: 5, perEndpoint: 3 })
    const counts = [dead, living].map(
      ({ webhookId }) => leased.filter(({ delivery }) => delivery.webhookId === webhookId).length,
    )
    assertSame(counts, [3, 1])
  })

  test('a delivery that arrived is over', async (stage) => {
    await subscribe(stage)
    await complete(stage)
    const leased = await leaseOne(stage)
    assertSame(await record(stage, attemptOf(leased, { responseExcerpt: 'thanks' })), ['recorded'])
    const { deliveryId, webhookId, jobId, runId, createdAt } = leased.delivery
    assertSame(await deliveryOf(stage, deliveryId), {
      deliveryId,
      webhookId,
      jobId,
      runId,
      event: 'job.settled',
      willRetry: false,
      status: 'DELIVERED',
      attempts: 1,
      lastAttemptAt: NOW + 2 * SECOND,
      lastStatusCode: 204,
      lastError: null,
      latencyMs: 12,
      responseExcerpt: 'thanks',
      nextAttemptAt: null,
      createdAt,
    })
    assertSame(await lease(stage, { now: NOW + HOUR }), [])
    assert.equal(await stage.store.nextDeliveryAt(0), null)
  })

  test('a delivery that failed comes again at its time, and at last no more', async (stage) => {
    await subscribe(stage)
    await complete(stage)
    const first = await leaseOne(stage)
    const at = NOW + 10 * SECOND
    assertSame(await record(stage, attemptOf(first, refused({ kind: 'again', at }))), ['recorded'])
    const { status, attempts, lastStatusCode, lastError, responseExcerpt, nextAttemptAt } = await deliveryOf(
      stage,
      first.delivery.deliveryId,
    )
    assertSame([status, attempts, nextAttemptAt], ['PENDING', 1, at])
    assertSame([lastStatusCode, lastError, responseExcerpt], [503, 'The receiver answered 503.', 'closed for lunch'])
    assertSame(await lease(stage, { now: at - 1 }), [])
    const second = await leaseOne(stage, { now: at })
    assertSame([second.delivery.deliveryId, second.delivery.attempts], [first.delivery.deliveryId, 1])
    await record(stage, attemptOf(second, refused({ kind: 'failed' })))
    assert.equal((await deliveryOf(stage, second.delivery.deliveryId)).status, 'FAILED')
    assertSame(await lease(stage, { now: at + HOUR }), [])
  })

  testShared('who comes too late changes nothing', async (stage, other) => {
    await subscribe(stage)
    await complete(stage)
    const lost = await leaseOne(stage)
    const now = NOW + SECOND + LEASE_MS
    const taken = await leaseOne(other, { now })
    assert.equal(taken.delivery.deliveryId, lost.delivery.deliveryId)
    const before = await deliveriesOf(stage)
    assertSame(await record(stage, attemptOf(lost)), ['late'])
    assertSame(await deliveriesOf(stage), before)
    assertSame(await record(other, attemptOf(taken)), ['recorded'])
    assertSame(await record(other, attemptOf(taken)), ['late'])
    assert.equal((await deliveryOf(stage, taken.delivery.deliveryId)).attempts, 1)
  })

  test('a lease that is over but nobody else took still counts', async (stage) => {
    await subscribe(stage)
    await complete(stage)
    const leased = await leaseOne(stage)
    assertSame(await record(stage, attemptOf(leased, { at: NOW + HOUR })), ['recorded'])
  })

  test('attempts that are recorded together stand for themselves', async (stage) => {
    await subscribe(stage)
    await complete(stage, 2)
    const [one, two] = await lease(stage)
    assert.ok(one && two)
    await record(stage, attemptOf(one))
    assertSame(await record(stage, attemptOf(one), attemptOf(two)), ['late', 'recorded'])
  })

  testShared('an endpoint is not sent more at once by two nodes than by one', async (stage, other) => {
    await subscribe(stage)
    await complete(stage, 5)
    const [mine, theirs] = [await lease(stage, { perEndpoint: 3 }), await lease(other, { perEndpoint: 3 })]
    assertSame([mine.length, theirs.length], [3, 0])
    await record(stage, attemptOf(mine[0] as (typeof mine)[0]))
    assert.equal((await lease(other, { perEndpoint: 3 })).length, 1)
  })

  testShared('what a node gives back is sent by another at once', async (stage, other) => {
    await subscribe(stage)
    await complete(stage, 2)
    const mine = await lease(stage)
    assertSame(await lease(other), [])
    assert.equal(await stage.store.releaseDeliveries(stage.nodeId, NOW + 2 * SECOND), 2)
    assert.equal(await stage.store.releaseDeliveries(stage.nodeId, NOW + 2 * SECOND), 0)
    assert.equal(await stage.store.nextDeliveryAt(0), NOW + 2 * SECOND)
    const theirs = await lease(other, { now: NOW + 2 * SECOND })
    assertSame(idsOf(theirs).toSorted(), idsOf(mine).toSorted())
    assertSame(await record(stage, ...mine.map((one) => attemptOf(one))), ['late', 'late'])
  })

  testShared('the leases of a node that is gone count for nothing', async (stage, other) => {
    await subscribe(stage)
    await complete(stage, 2)
    await lease(stage, { perEndpoint: 1 })
    await stage.store.removeNode(stage.nodeId, NOW)
    assert.equal((await lease(other, { perEndpoint: 2 })).length, 2)
  })

  test('a node that is not registered leases nothing', async (stage) => {
    await subscribe(stage)
    await complete(stage)
    assertSame(await lease(stage, { nodeId: newId() }), [])
    await stage.store.removeNode(stage.nodeId, NOW)
    assertSame(await lease(stage), [])
    assert.equal(await stage.store.releaseDeliveries(newId(), NOW), 0)
    const back = newNode({ nodeId: stage.nodeId })
    await stage.store.registerNode(back)
    assert.equal((await lease(stage)).length, 1)
  })

  test('a receiver that is gone disables its webhook, and the rest waits', async (stage) => {
    const webhook = await subscribe(stage)
    await complete(stage, 3)
    const leased = await leaseOne(stage, { limit: 1 })
    const gone = { ...refused({ kind: 'failed' }), statusCode: 410, disableWebhook: 'it is gone' }
    await record(stage, attemptOf(leased, gone))
    const disabled = { ...webhook, enabled: false, disabledReason: 'it is gone', revision: 2 }
    assertSame(await stage.store.findWebhook(webhook.webhookId), { ...disabled, updatedAt: NOW + 2 * SECOND })
    assertSame(await statuses(stage), ['FAILED', 'PENDING', 'PENDING'])
    assertSame(await lease(stage, { now: NOW + HOUR }), [])
    await complete(stage)
    assert.equal((await deliveriesOf(stage)).length, 3)
    await stage.store.changeWebhook({ webhook: { ...disabled, enabled: true, disabledReason: null }, now: NOW })
    assert.equal((await lease(stage, { now: NOW + HOUR })).length, 2)
  })

  test("a receiver that is gone at a Job's own url disables nothing", async (stage) => {
    const webhook = await subscribe(stage)
    await stage.store.declareDefaultSecret(SECRET)
    await stage.finish(await stage.start(newJob({ webhookUrl: 'https://example.com/' })))
    const own = (await lease(stage)).find(({ delivery }) => delivery.webhookId === null)
    assert.ok(own)
    await record(stage, attemptOf(own, { ...refused({ kind: 'failed' }), disableWebhook: 'it is gone' }))
    assertSame(await stage.store.findWebhook(webhook.webhookId), webhook)
  })

  test('a disabled webhook waits, also with what was leased meanwhile', async (stage) => {
    const webhook = await subscribe(stage)
    await complete(stage, 2)
    const leased = await leaseOne(stage, { limit: 1 })
    await stage.store.changeWebhook({ webhook: { ...webhook, enabled: false }, now: NOW })
    assertSame(await lease(stage, { now: NOW + HOUR }), [])
    assertSame(await record(stage, attemptOf(leased)), ['recorded'])
    assertSame(await statuses(stage), ['DELIVERED', 'PENDING'])
  })

  test('what was leased when its webhook was removed has failed, whatever came of it', async (stage) => {
    const { webhookId } = await subscribe(stage)
    await complete(stage)
    const leased = await leaseOne(stage)
    await stage.store.removeWebhook(webhookId, NOW)
    assertSame(await record(stage, attemptOf(leased)), ['late'])
    assertSame(await statuses(stage), ['FAILED'])
  })

  test('what can be sent now is told to whoever listens', async (stage) => {
    const { store, nodeId } = stage
    let stirs = 0
    const stop = store.subscribe((signal) => {
      if (signal.kind === 'stirred' && signal.what.has('deliveries')) stirs++
    })
    const isTold = async (act: () => Promise<unknown>): Promise<void> => {
      stirs = 0
      await act()
      assert.equal(stirs, 1)
    }
    const webhook = await subscribe(stage)
    const job = await stage.start()
    await isTold(() => stage.finish(job))
    const leased = await leaseOne(stage)
    await isTold(() => store.releaseDeliveries(nodeId, NOW))
    await record(stage, attemptOf(await leaseOne(stage)))
    await isTold(() => store.replayDelivery(leased.delivery.deliveryId, NOW))
    await isTold(() => store.changeWebhook({ webhook, now: NOW }))
    stop()
  })

  test('the next instant is that of the first delivery or lease after the given one', async (stage) => {
    const { store } = stage
    assert.equal(await store.nextDeliveryAt(0), null)
    await subscribe(stage)
    await complete(stage)
    assert.equal(await store.nextDeliveryAt(0), NOW + SECOND)
    assert.equal(await store.nextDeliveryAt(NOW + SECOND), null)
    const leased = await leaseOne(stage)
    assert.equal(await store.nextDeliveryAt(0), NOW + SECOND + LEASE_MS)
    await record(stage, attemptOf(leased, refused({ kind: 'again', at: NOW + HOUR })))
    assert.equal(await store.nextDeliveryAt(NOW + SECOND), NOW + HOUR)
  })
}

/** One of each endpoint, 300 at a time. */
async function leaseRound(stage: Stage, until: string | null): Promise<string[]> {
  const leased: string[] = []
  let after = until
  for (let call = 0; call < 10; call++) {
    const page = await leasePage(stage, { limit: 300, perEndpoint: 1, now: NOW + 2 * SECOND, after, until })
    leased.push(...page.leased.map(({ delivery, url }) => delivery.webhookId ?? url))
    if (page.leased.length < 300 && !page.isCutShort) return leased
    after = page.after
  }
  throw new Error('The round did not close.')
}

function idsOf(leased: Awaited<ReturnType<typeof lease>>): string[] {
  return leased.map(({ delivery }) => delivery.deliveryId)
}

async function statuses(stage: Stage): Promise<string[]> {
  return (await deliveriesOf(stage)).map(({ status }) => status)
}
