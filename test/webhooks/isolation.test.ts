import { expect, test } from 'vitest'
import { openScheduler } from '../../src/library/open-scheduler.ts'
import type { DeliveryAttempt, LeasedDelivery } from '../../src/store/webhooks.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { recordStatements, withHandle } from '../sqlite/stage.ts'
import { SenderStage } from './sender-stage.ts'
import { burn, logger, newDatabasePath, openReceiver, openStage, readLog, until, write } from './stage.ts'

test('a receiver that never answers delays no other, and no job', async () => {
  const dead = await openReceiver(() => 'never')
  const living = [await openReceiver(), await openReceiver(), await openReceiver()]
  await using scheduler = await openScheduler({
    store: sqlite(newDatabasePath()),
    jobs: [write],
    concurrency: 10,
    webhooks: { allowPrivate: ['127.0.0.1'] },
    logger,
  })
  for (const { url } of [dead, ...living]) await scheduler.webhooks.create({ url, events: ['job.settled'] })
  await scheduler.start()
  const jobs = await scheduler.enqueueMany(Array.from({ length: 50 }, (_, n) => ({ type: write, params: n })))
  const settled = await Promise.all(jobs.map((job) => job.settled()))
  expect(settled.every(({ outcome }) => outcome === 'COMPLETED')).toBe(true)
  await until(() => expect(living.map(({ received }) => received.length)).toEqual([50, 50, 50]))
  // Its own places are all it takes.
  expect(dead.received).toHaveLength(4)
  dead.hangUp()
})

test('receivers take turns: one that answers gets the place that becomes free first', async () => {
  const stage = await SenderStage.open({ concurrency: 4, perEndpoint: 4, post: { timeoutMs: 200 } })
  const dead = [await openReceiver(hold), await openReceiver(hold), await openReceiver(hold), await openReceiver(hold)]
  const living = await openReceiver()
  for (const { url } of [...dead, living]) await stage.subscribe(url)
  await stage.complete(5)
  stage.sender.start()
  await until(() => expect(living.received.length).toBeGreaterThan(0))
  // Each of the four had one place; none got a second before the fifth got its first.
  expect(dead.map(({ received }) => received.length).every((count) => count <= 2)).toBe(true)
  await until(() => expect(living.received).toHaveLength(5))
  expect(dead.map(({ received }) => received.length).every((count) => count <= 5)).toBe(true)
})

function hold(): 'never' {
  return 'never'
}

test('a receiver that fails gets its retries, while another gets its messages at once', async () => {
  const failing = await openReceiver(() => 500)
  const living = await openReceiver()
  await using stage = await openStage()
  await stage.scheduler.webhooks.create({ url: failing.url, events: ['job.settled'] })
  const { webhookId } = await stage.scheduler.webhooks.create({ url: living.url, events: ['job.settled'] })
  for (let n = 0; n < 20; n++) {
    await stage.scheduler.enqueue(write, n)
    await stage.runUntilIdle()
    expect(living.received).toHaveLength(n + 1)
  }
  expect(await readLog(stage.scheduler, { webhookId })).toEqual(Array(20).fill('job.settled DELIVERED 1'))
})

test('jobs end the same whether they are told or not', async () => {
  const outcomes = async (url: string | null) => {
    await using stage = await openStage()
    if (url !== null) await stage.scheduler.webhooks.create({ url })
    const jobs = [await stage.scheduler.enqueue(write, 1), await stage.scheduler.enqueue(burn, 2)]
    await stage.advance('1h')
    const chains = await Promise.all(jobs.map(({ jobId }) => stage.scheduler.getChain(jobId)))
    return chains.map(({ outcome, items }) => [outcome, items.map(({ status, finishedAt }) => [status, finishedAt])])
  }
  const untold = await outcomes(null)
  expect(await outcomes((await openReceiver()).url)).toEqual(untold)
  expect(await outcomes((await openReceiver(() => 500)).url)).toEqual(untold)
})

// SQLite says how it would do each statement. A lease may look at the first of each endpoint, never through its backlog.
test('ten thousand pending deliveries to a dead endpoint do not slow a lease', async () => {
  const few = await leaseBeside(100)
  const many = await leaseBeside(10_000)
  expect(many.leased).toEqual(['living', 'living', 'living', 'living'])
  expect(many.statements).toEqual(few.statements)
  expect(many.statements.length).toBeLessThan(60)
  expect(many.plans.filter((step) => /SCAN|TEMP B-TREE/.test(step))).toEqual([])
})

function delivered({ lease, delivery }: LeasedDelivery, at: number): DeliveryAttempt {
  const seen = { at, statusCode: 204, error: null, latencyMs: 1, responseExcerpt: null, disableWebhook: null }
  return { lease, deliveryId: delivery.deliveryId, ...seen, next: { kind: 'delivered' } }
}

async function leaseBeside(backlog: number): Promise<{ leased: string[]; statements: string[]; plans: string[] }> {
  const path = newDatabasePath()
  const recording = recordStatements()
  const stage = await SenderStage.open({ source: sqlite(path, { driver: recording.driver, durability: 'process' }) })
  const dead = await stage.subscribe('http://127.0.0.1:9/dead')
  const living = await stage.subscribe('http://127.0.0.1:9/living')
  await stage.complete(4)
  withHandle(path, (handle) =>
    handle.exec(`
      with recursive n (i) as (select 1 union all select i + 1 from n where i < ${backlog})
      insert into pawl_deliveries (delivery_id, webhook_seq, job_seq, event, will_retry, status, endpoint, next_attempt_at, created_at)
      select 'dead-' || i, webhook_seq, 1, 'job.settled', 0, 'PENDING', webhook_id, 0, 0
      from n, pawl_webhooks where webhook_id = '${dead}'`),
  )
  const lease = async () => {
    const now = stage.clock.now()
    const request = {
      nodeId: stage.nodeId,
      now,
      leasedUntil: now + 1_000,
      limit: 16,
      perEndpoint: 4,
      after: null,
      until: null,
    }
    return (await stage.store.leaseDeliveries(request)).leased
  }
  // Both have all they may have at once, and only one of them ends.
  const first = await lease()
  expect(first.map(({ delivery }) => delivery.webhookId === dead)).toEqual([
    ...Array(4).fill(true),
    ...Array(4).fill(false),
  ])
  const ended = first.filter(({ delivery }) => delivery.webhookId === living)
  await stage.store.recordDeliveryAttempts(ended.map((one) => delivered(one, stage.clock.now())))
  await stage.complete(4)
  recording.executed.clear()
  const leased = await lease()
  const executed = [...recording.executed].filter(([sql]) => !/^(pragma|begin|commit)/.test(sql))
  const plans = withHandle(path, (handle) =>
    executed.flatMap(([sql, values]) =>
      handle
        .prepare(`explain query plan ${sql}`)
        .all(...values)
        .map((row) => (row as { detail: string }).detail),
    ),
  )
  return {
    leased: leased.map(({ delivery }) => (delivery.webhookId === living ? 'living' : 'dead')),
    statements: executed.map(([sql]) => sql),
    plans: [...new Set(plans)],
  }
}
