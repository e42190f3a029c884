// A process is stopped, its thread of heartbeats with it, for so long that another one takes it for dead. Then it goes on.
import { expect, test } from 'vitest'
import { hears, Stage } from './stage.ts'

const SECONDS = 1_000
/** Nobody is taken for dead before its last proof of life is so old. */
const LEASE_MS = 15 * SECONDS

test.concurrent('its results are refused, its Jobs have run again elsewhere, and it registers anew and takes new Jobs', {
  timeout: 240 * SECONDS,
}, async () => {
  const stage = new Stage()
  const zombie = await stage.startNode('zombie', { types: ['free', 'lathe'] })
  await using scheduler = await stage.open()
  // A node that has ended something before does so in another way than the first time.
  const earlier = await scheduler.enqueue('free', { n: 0, does: 'completes' })
  expect(await earlier.settled()).toMatchObject({ outcome: 'COMPLETED' })
  const executing = await scheduler.enqueue('free', { n: 1, does: 'waits' })
  const onlyOnce = await scheduler.enqueue('free', { n: 2, does: 'waits' }, { retry: { maxCrashRetries: 0 } })
  await stage.notes(1, 1, 'began')
  await stage.notes(2, 1, 'began')
  const ending = await scheduler.enqueue('free', { n: 3, does: 'stops' })
  await hears(zombie, 'stopped')
  const lastProof = await stage.lastProof('zombie')

  const other = await stage.startNode('other', { types: ['free'] })
  stage.letGo(1)
  expect(await executing.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'other', attempts: 2 })
  expect(await ending.settled()).toMatchObject({ outcome: 'COMPLETED', result: 3, attempts: 2 })
  expect(await onlyOnce.settled()).toMatchObject({ outcome: 'FAILED', reason: 'crash', attempts: 1 })
  await hears(other, 'recovered', 'zombie')
  const before = await stage.tables()

  zombie.kill('SIGCONT')
  stage.letGo(2)
  for (const { jobId } of [executing, onlyOnce, ending]) await hears(zombie, 'late', jobId)
  expect(await stage.tables()).toEqual(before)
  await hears(zombie, 'warned', 'This node was taken for dead; it registers anew')
  await stage.hasOnly(['other', 'zombie'])
  const next = await scheduler.enqueue('lathe', { n: 4, does: 'completes' })
  expect(await next.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 1 })

  // The history tells what happened, and when.
  const [lost, retried] = await stage.runsOf(executing.jobId)
  expect(lost).toMatchObject({ node: 'zombie', status: 'FAILED', reason: 'crash', will_retry: true })
  expect(lost?.error).toMatch('Crash recovery: the process that executed this job ended before the job did.')
  expect(retried).toMatchObject({ node: 'other', status: 'COMPLETED', result: '"other"' })
  for (const run of [lost, retried]) expect(Number(run?.ended_ms) - lastProof).toBeGreaterThanOrEqual(LEASE_MS)
  const { items } = await scheduler.getChain(ending.jobId)
  expect(items.map(({ outcome, counts }) => [outcome, counts.crashRetries, counts.errorRetries])).toEqual([
    ['FAILED', 0, 0],
    ['COMPLETED', 1, 0],
  ])
  expect(await stage.runsOf(next.jobId)).toMatchObject([{ node: 'zombie', status: 'COMPLETED' }])
  expect(stage.bodies()).toEqual([
    '0.1 zombie',
    '1.1 zombie',
    '1.2 other',
    '2.1 zombie',
    '3.1 zombie',
    '3.2 other',
    '4.1 zombie',
  ])
  expect(await stage.findings()).toEqual([])
})

test.concurrent('a resource that it holds is given to others only when it was taken for dead, and its body is told to stop', {
  timeout: 240 * SECONDS,
}, async () => {
  const stage = new Stage()
  const zombie = await stage.startNode('zombie', { types: ['press', 'lathe'] })
  await using scheduler = await stage.open()
  const holding = await scheduler.enqueue('press', { n: 1, does: 'heeds' })
  await stage.notes(1, 1, 'began')
  const other = await stage.startNode('other', { types: ['press'] })
  const waiting = await scheduler.enqueue('press', { n: 2, does: 'completes' }, { priority: 1 })
  zombie.kill('SIGSTOP')
  const lastProof = await stage.lastProof('zombie')

  expect(await waiting.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 1 })
  await stage.notes(1, 2, 'began')
  await hears(other, 'recovered', 'zombie')
  zombie.kill('SIGCONT')
  expect(await stage.notes(1, 1, 'ended')).toMatchObject({ how: 'aborted: disconnected' })
  stage.letGo(1)
  expect(await holding.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'other', attempts: 2 })
  const next = await scheduler.enqueue('lathe', { n: 3, does: 'completes' })
  expect(await next.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 1 })

  const [lost] = await stage.runsOf(holding.jobId)
  const [given] = await stage.runsOf(waiting.jobId)
  expect(lost).toMatchObject({ node: 'zombie', status: 'FAILED', reason: 'crash' })
  expect(given).toMatchObject({ node: 'other', status: 'COMPLETED' })
  expect(Number(lost?.ended_ms) - lastProof).toBeGreaterThanOrEqual(LEASE_MS)
  expect(Number(given?.started_ms)).toBeGreaterThanOrEqual(Number(lost?.ended_ms))
  expect(stage.bodies()).toEqual(['1.1 zombie', '1.2 other', '2.1 other', '3.1 zombie'])
  expect(await stage.findings()).toEqual([])
})
