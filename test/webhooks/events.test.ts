import { expect, test } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { SettableClock } from '../../src/testing/index.ts'
import { newStore } from '../stores/source-stores.ts'
import { burn, openReceiver, openStage, write } from './stage.ts'

test('a completed job is told with its end, and that it settled', async () => {
  const receiver = await openReceiver()
  await using stage = await openStage()
  await stage.scheduler.webhooks.create({ url: receiver.url })
  await stage.scheduler.enqueue(write, { page: 1 })
  await stage.runUntilIdle()
  expect(receiver.told()).toEqual(['job.run.completed', 'job.settled'])
})

test('a failed run says whether a retry will follow', async () => {
  const receiver = await openReceiver()
  await using stage = await openStage()
  await stage.scheduler.webhooks.create({ url: receiver.url })
  await stage.scheduler.enqueue(burn, null)
  await stage.runUntilIdle()
  expect(receiver.told()).toEqual(['job.run.failed, will retry'])
  await stage.advance('10s')
  expect(receiver.told()).toEqual(['job.run.failed', 'job.run.failed, will retry', 'job.settled'])
  const [first, second] = receiver.about('job.run.failed')
  const [settled] = receiver.about('job.settled')
  expect(second?.job).toMatchObject({ retry_of: first?.job_id, attempt: 2 })
  expect(settled).toMatchObject({ job_id: second?.job_id, status: 'FAILED' })
})

test('a skipped run is told as such', async () => {
  const receiver = await openReceiver()
  const idle = defineJob({ type: 'idle', run: ({ skip }) => skip('no new mail') })
  await using stage = await openStage({ jobs: [idle] })
  await stage.scheduler.webhooks.create({ url: receiver.url })
  await stage.scheduler.enqueue(idle, null)
  await stage.runUntilIdle()
  expect(receiver.told()).toEqual(['job.run.skipped', 'job.settled'])
  expect(receiver.about('job.run.skipped')).toMatchObject([{ status: 'SKIPPED' }])
})

test('a job that is cancelled before it starts is told without a run', async () => {
  const receiver = await openReceiver()
  await using stage = await openStage()
  await stage.scheduler.webhooks.create({ url: receiver.url })
  const job = await stage.scheduler.enqueue(write, null, { delayMs: 60_000 })
  await job.cancel({ reason: 'nobody reads it' })
  await stage.runUntilIdle()
  expect(receiver.told()).toEqual(['job.cancelled', 'job.settled'])
  for (const { message } of receiver.received) {
    expect(message).toMatchObject({ job_id: job.jobId, run: null, run_id: null, status: null, error: null })
    expect(message.job).toMatchObject({ status: 'CANCELLED', cancel_reason: 'nobody reads it' })
  }
})

test('an aborted job is told with the end of its run, and as cancelled', async () => {
  const receiver = await openReceiver()
  const wait = defineJob({
    type: 'wait',
    run: ({ signal }) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
  })
  await using stage = await openStage({ jobs: [wait] })
  await stage.scheduler.webhooks.create({ url: receiver.url })
  const job = await stage.scheduler.enqueue(wait, null)
  await stage.runUntilIdle()
  await job.cancel({ mode: 'abort' })
  await stage.runUntilIdle()
  expect(receiver.told()).toEqual(['job.cancelled', 'job.run.failed', 'job.settled'])
  expect(receiver.about('job.run.failed')).toMatchObject([{ status: 'FAILED', reason: 'cancelled' }])
})

test('a run that recovery ends is told like any other', async () => {
  const receiver = await openReceiver()
  const clock = new SettableClock()
  const place = newStore()
  const store = await place.open()
  const source = { ...place, open: async () => store }
  const stage = await openStage({ store: source, clock })
  await stage.scheduler.webhooks.create({ url: receiver.url })
  await stage.scheduler.stop()
  const job = await stage.scheduler.enqueue(write, null)
  const dead = { nodeId: 'dead', name: 'dead', host: 'house', pid: 1, types: ['write'], concurrency: 1 }
  await store.registerNode({ ...dead, startedAt: clock.now(), claims: true })
  const types = new Map([['write', 1]])
  await store.claimJobs({ nodeId: 'dead', now: clock.now(), limit: 1, types, newRunId: () => 'run-of-the-dead' })
  await stage.scheduler.start()
  await stage.runUntilIdle()
  expect(receiver.told()).toEqual(['job.run.completed', 'job.run.failed, will retry', 'job.settled'])
  expect(receiver.about('job.run.failed')).toMatchObject([
    { run_id: 'run-of-the-dead', job_id: job.jobId, status: 'FAILED', reason: 'crash' },
  ])
  await stage.close()
})
