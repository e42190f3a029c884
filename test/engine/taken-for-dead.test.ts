// A node that others took for dead, though it lives: nothing counts twice, and it finds its way back.
import { expect, test, vi } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { openTestScheduler, SettableClock, type TestSchedulerOptions } from '../../src/testing/index.ts'
import { aborted, listeningLogger, newDatabasePath, newGate } from '../lifecycle/stage.ts'
import { FarSource } from './far-store.ts'

/** Two nodes on one database and one clock, each with its own way to it. */
async function openTwo(options: { one: TestSchedulerOptions['jobs']; other: TestSchedulerOptions['jobs'] }) {
  const path = newDatabasePath()
  const clock = new SettableClock()
  const far = { one: new FarSource(sqlite(path)), other: new FarSource(sqlite(path)) }
  const logger = listeningLogger()
  const common = { clock, logger, resources: { gpu: 2 } }
  const one = await openTestScheduler({ ...common, store: far.one, jobs: options.one ?? [] })
  const other = await openTestScheduler({ ...common, store: far.other, jobs: options.other ?? [] })
  const advance = async (duration: string): Promise<void> => {
    await one.advance(duration)
    await other.runUntilIdle()
    await one.runUntilIdle()
  }
  const close = async (): Promise<void> => {
    await other.close()
    await one.close()
  }
  return { one: one.scheduler, other: other.scheduler, far, logger, advance, [Symbol.asyncDispose]: close }
}

test('its finish is refused, its job runs again elsewhere, and it registers anew and claims', async () => {
  const gate = newGate()
  const late = vi.fn()
  const work = defineJob({
    type: 'work',
    run: async ({ attempt }) => {
      if (attempt === 1) await gate.passed
      return `attempt ${attempt}`
    },
  })
  await using nodes = await openTwo({ one: [work], other: [] })
  const { one, other, far, advance } = nodes
  one.on('run.late', late)
  const job = await one.enqueue(work, null)
  await advance('1s')
  expect(one.executing).toEqual([job.jobId])
  // It is taken for dead while it is cut off; nobody can tell it.
  far.one.cut()
  far.one.standing = 'fading'
  far.other.dead.add(one.nodeId)
  await advance('2s')
  expect(await other.findRunOfJob(job.jobId)).toMatchObject({ status: 'FAILED', reason: 'crash' })
  expect((await other.listNodes()).map(({ nodeId }) => nodeId)).toEqual([other.nodeId])
  far.other.dead.clear()
  far.one.mend()
  far.one.standing = 'sound'
  await advance('10s')
  gate.open()
  await advance('10s')

  expect(late).toHaveBeenCalledOnce()
  expect(await job.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'attempt 2', attempts: 2 })
  const nodesNow = await other.listNodes()
  expect(nodesNow.find(({ nodeId }) => nodeId === one.nodeId)).toMatchObject({ claims: true })
})

test('its bodies are told to end when it finds that others have ended their runs', async () => {
  const causes: unknown[] = []
  const work = defineJob({
    type: 'work',
    run: async ({ attempt, signal }) => {
      if (attempt > 1) return
      await aborted(signal)
      causes.push((signal.reason as Error).cause)
    },
  })
  await using nodes = await openTwo({ one: [work], other: [] })
  const { one, far, advance } = nodes
  const job = await one.enqueue(work, null)
  await advance('1s')
  far.other.dead.add(one.nodeId)
  await advance('2s')
  far.other.dead.clear()
  await advance('6s')
  expect(causes).toEqual(['disconnected'])
  expect(await job.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 2 })
})

test('it does not register anew before it can prove again that it lives', async () => {
  await using nodes = await openTwo({ one: [], other: [] })
  const { one, other, far, advance } = nodes
  const ids = async () => (await other.listNodes()).map(({ nodeId }) => nodeId)
  far.one.standing = 'silent'
  far.other.dead.add(one.nodeId)
  await advance('2s')
  far.other.dead.clear()
  await advance('10s')
  expect(await ids()).toEqual([other.nodeId])
  far.one.standing = 'sound'
  await advance('2s')
  expect((await ids()).sort()).toEqual([one.nodeId, other.nodeId].sort())
})

test('what a node that came back has claimed is not taken from it by the recovery that is under way', async () => {
  const gate = newGate()
  const work = defineJob({ type: 'work', run: () => gate.passed })
  await using nodes = await openTwo({ one: [work], other: [] })
  const { one, other, far, advance } = nodes
  const job = await one.enqueue(work, null)
  // Asked once, it seems dead. Before its bodies are ended it is asked for again, and lives.
  let asked = 0
  far.other.isAlive = (nodeId) => nodeId !== one.nodeId || asked++ % 2 === 1
  await advance('10s')
  expect(asked).toBeGreaterThan(1)
  expect(await other.findRunOfJob(job.jobId)).toMatchObject({ status: null })
  far.other.isAlive = () => true
  gate.open()
  await advance('1s')
  expect(await job.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 1 })
})

test('a child on another machine is neither judged nor killed: its job is ended when its lifeline had time to end it', async () => {
  const gate = newGate()
  const work = defineJob({ type: 'work', retry: { maxRetries: 0, maxCrashRetries: 0 }, run: () => gate.passed })
  const path = newDatabasePath()
  const clock = new SettableClock()
  const far = new FarSource(sqlite(path))
  await using observer = await openTestScheduler({ store: far, clock, logger: listeningLogger() })
  await using elsewhere = await openTestScheduler({
    store: sqlite(path),
    clock,
    jobs: [work],
    logger: listeningLogger(),
  })
  const job = await elsewhere.scheduler.enqueue(work, null)
  await elsewhere.runUntilIdle()
  const store = await sqlite(path).open()
  const [occupancy] = await store.listOccupancies(elsewhere.scheduler.nodeId, 1)
  if (occupancy === undefined) expect.fail('The job does not execute.')
  const child = { pid: 4_711, startTime: '1', host: 'another-host', bootId: 'another-boot', pidNamespace: 'pid:[1]' }
  expect(await store.recordChild(occupancy.job.claim, child, null)).toBe('recorded')
  await store.close()
  far.dead.add(elsewhere.scheduler.nodeId)
  await observer.advance('2s')
  expect(await observer.scheduler.findRunOfJob(job.jobId)).toMatchObject({ status: null })
  await observer.advance('4s')
  expect(await observer.scheduler.findRunOfJob(job.jobId)).toMatchObject({ status: 'FAILED', reason: 'crash' })
  gate.open()
})
