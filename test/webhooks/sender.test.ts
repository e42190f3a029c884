import { expect, test } from 'vitest'
import { newNode } from '../../src/store/conformance/fixtures.ts'
import { onFaultPoint } from '../../src/store/fault-points.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { SettableClock } from '../../src/testing/index.ts'
import { recordStatements } from '../sqlite/stage.ts'
import { SenderStage } from './sender-stage.ts'
import { newDatabasePath, openReceiver, until, warnings } from './stage.ts'

// What happens between the steps of a sender: it posts, then it records, and either may fail or come too late.

test('an answer that the store cannot take is recorded when it can, and nothing is sent twice', async () => {
  const stage = await SenderStage.open()
  const receiver = await openReceiver(() => {
    onFaultPoint((point) => {
      if (point === 'store:before-commit') throw Object.assign(new Error('disk full'), { errcode: 13 })
    })
    return 204
  })
  await stage.subscribe(receiver.url)
  stage.sender.start()
  await stage.complete()
  await until(() => expect(warnings).toEqual(['A delivery cannot be recorded; trying again']))
  stage.clock.set(stage.clock.now() + 10_000)
  expect(stage.sender.isQuiet).toBe(false)
  onFaultPoint(null)
  await moveUntilQuiet(stage)
  expect(await stage.log()).toEqual(['DELIVERED 1'])
  expect(receiver.received).toHaveLength(1)
  expect(warnings).toHaveLength(1)
})

test('an answer that the store cannot take while its lease lasts is lost, and the message sent again', async () => {
  const stage = await SenderStage.open()
  const receiver = await openReceiver((_one, nth) => {
    if (nth === 1) {
      onFaultPoint((point) => {
        if (point === 'store:before-commit') throw Object.assign(new Error('disk full'), { errcode: 13 })
      })
    }
    return 204
  })
  await stage.subscribe(receiver.url)
  stage.sender.start()
  await stage.complete()
  await until(() => expect(warnings).toContain('A delivery cannot be recorded; trying again'))
  await moveUntil(stage, () => stage.sender.isQuiet)
  onFaultPoint(null)
  await moveUntil(stage, () => receiver.received.length === 2)
  await moveUntilQuiet(stage)
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1)
  expect(await stage.log()).toEqual(['DELIVERED 1'])
})

test('a sender that stops waits for posts that end soon, and records them', async () => {
  const stage = await SenderStage.open()
  const receiver = await openReceiver(() => 'never')
  await stage.subscribe(receiver.url)
  stage.sender.start()
  await stage.complete()
  await until(() => expect(receiver.received).toHaveLength(1))
  const stopped = stage.sender.stop()
  receiver.hangUp()
  await stopped
  expect(await stage.log()).toEqual(['PENDING 1'])
})

test('a sender that stops ends posts that do not end, and gives them back', async () => {
  const stage = await SenderStage.open()
  const receiver = await openReceiver(() => 'never')
  await stage.subscribe(receiver.url)
  stage.sender.start()
  await stage.complete(3)
  await until(() => expect(receiver.received).toHaveLength(3))
  expect(await stage.store.nextDeliveryAt(0)).toBeGreaterThan(stage.clock.now())
  const stopped = stage.sender.stop()
  await moveUntil(stage, () => stage.sender.isQuiet)
  await stopped
  expect(await stage.log()).toEqual(['PENDING 0', 'PENDING 0', 'PENDING 0'])
  expect(await stage.store.nextDeliveryAt(0)).toBeLessThanOrEqual(stage.clock.now())
  const other = newNode()
  await stage.store.registerNode(other)
  const now = stage.clock.now()
  const request = {
    nodeId: other.nodeId,
    now,
    leasedUntil: now + 1,
    limit: 9,
    perEndpoint: 9,
    after: null,
    until: null,
  }
  expect((await stage.store.leaseDeliveries(request)).leased).toHaveLength(3)
})

test('a stopped sender sends nothing, and one that is started again goes on', async () => {
  const stage = await SenderStage.open()
  const receiver = await openReceiver()
  await stage.subscribe(receiver.url)
  stage.sender.start()
  await stage.sender.stop()
  await stage.complete()
  await stage.settle()
  expect(receiver.received).toEqual([])
  stage.sender.start()
  await stage.settle()
  expect(receiver.received).toHaveLength(1)
})

test('a clock that leaps over the lease does not make it send twice', async () => {
  const stage = await SenderStage.open()
  const receiver = await openReceiver(() => 'never')
  await stage.subscribe(receiver.url)
  stage.sender.start()
  await stage.complete()
  await until(() => expect(receiver.received).toHaveLength(1))
  stage.clock.set(stage.clock.now() + 41_000)
  await until(async () => expect(await stage.store.nextDeliveryAt(0)).toBeGreaterThan(stage.clock.now()))
  receiver.hangUp()
  await stage.settle()
  expect(receiver.received).toHaveLength(1)
  expect(await stage.log()).toEqual(['PENDING 1'])
})

test('a message that cannot be signed fails, and the others are sent', async () => {
  const stage = await SenderStage.open()
  const [spoilt, sound] = [await openReceiver(), await openReceiver()]
  const webhookId = await stage.subscribe(spoilt.url)
  await stage.store.rotateWebhookSecret(webhookId, 'whsec_', 0, 0)
  await stage.subscribe(sound.url)
  stage.sender.start()
  await stage.complete()
  await stage.settle()
  expect(sound.received).toHaveLength(1)
  expect(spoilt.received).toEqual([])
  const { items } = await stage.store.listDeliveries({ webhookId, limit: 1 })
  expect(items).toMatchObject([
    { status: 'PENDING', attempts: 1, lastError: 'The message could not be made or signed.' },
  ])
})

test('an idle sender reads a row every five seconds, and writes nothing', async () => {
  const recording = recordStatements()
  const source = sqlite(newDatabasePath(), { driver: recording.driver, durability: 'process' })
  const stage = await SenderStage.open({ source, clock: new SettableClock() })
  stage.sender.start()
  await stage.settle()
  let looks = 0
  const executed = new Set<string>()
  recording.executed.clear()
  for (let second = 0; second < 60; second++) {
    stage.clock.set(stage.clock.now() + 1_000)
    await stage.settle()
    const sql = [...recording.executed.keys()].filter((text) => !text.startsWith('pragma'))
    if (sql.length > 0) looks++
    for (const text of sql) executed.add(text)
    recording.executed.clear()
  }
  expect(looks).toBe(12)
  expect([...executed]).toEqual([expect.stringContaining('select next_attempt_at')])
})

test('other processes that commit without end make it look four times a second at most', async () => {
  const recording = recordStatements()
  const source = sqlite(newDatabasePath(), { driver: recording.driver, durability: 'process' })
  const stage = await SenderStage.open({ source, clock: new SettableClock() })
  stage.sender.start()
  await stage.settle()
  let looks = 0
  for (let ms = 0; ms < 2_000; ms += 10) {
    recording.executed.clear()
    stage.clock.set(stage.clock.now() + 10)
    stage.sender.hear({ kind: 'changed-elsewhere' })
    await stage.settle()
    if ([...recording.executed.keys()].some((text) => text.includes('pawl_deliveries'))) looks++
  }
  expect(looks).toBeGreaterThan(0)
  expect(looks).toBeLessThanOrEqual(8)
})

/** Moves the clock in small steps, as time does, until this holds. */
async function moveUntil(stage: SenderStage, holds: () => boolean): Promise<void> {
  await until(async () => {
    stage.clock.set(stage.clock.now() + 250)
    await new Promise<void>((resolve) => setImmediate(resolve))
    expect(holds()).toBe(true)
  })
}

function moveUntilQuiet(stage: SenderStage): Promise<void> {
  return moveUntil(stage, () => stage.sender.isQuiet)
}
