import { defineJob } from 'pawl'
import { expect, test } from 'vitest'
import { openTestScheduler } from '../stores/package-stores.ts'

test('a stop that times out aborts nothing; after start the Job runs on, once, to its own end', async () => {
  let begun = 0
  let signal: AbortSignal | undefined
  let end = (_result: string) => {}
  const long = defineJob({
    type: 'long',
    run(context) {
      begun++
      signal = context.signal
      return new Promise<string>((resolve) => {
        end = resolve
      })
    },
  })
  await using process = await openTestScheduler({ jobs: [long] })
  const { scheduler, advance, runUntilIdle } = process
  const job = await scheduler.enqueue(long, null)
  await runUntilIdle()

  const stopping = scheduler.stop(5_000)
  await advance('5s')
  expect(await stopping).toEqual({ stillRunning: [job.jobId] })
  expect(scheduler.isStarted).toBe(false)
  const waiting = await scheduler.enqueue(long, null)
  await advance('1m')
  expect(begun).toBe(1)
  expect(await job.get()).toMatchObject({ status: 'RUNNING', attempt: 1 })

  expect(await scheduler.start()).toEqual({
    runningJobsRecovered: 0,
    reservationsExpired: 0,
    retriesCreated: 0,
    jobGroupsRecovered: 0,
    errors: [],
  })
  await advance('1m')
  expect(await job.get()).toMatchObject({ status: 'RUNNING', attempt: 1 })
  expect(signal?.aborted).toBe(false)
  end('done')
  expect(await job.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'done', attempts: 1 })
  await runUntilIdle()
  end('done')
  expect(await waiting.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 1 })
  expect(begun).toBe(2)
})

test('a body that ends while the scheduler is stopped has its outcome written', async () => {
  let end = () => {}
  const long = defineJob({
    type: 'long',
    run: () =>
      new Promise<void>((resolve) => {
        end = resolve
      }),
  })
  await using process = await openTestScheduler({ jobs: [long] })
  const { scheduler, runUntilIdle } = process
  const job = await scheduler.enqueue(long, null)
  await runUntilIdle()
  const stopping = scheduler.stop(0)
  await process.advance(0)
  expect(await stopping).toEqual({ stillRunning: [job.jobId] })
  end()
  expect(await job.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 1 })
  expect(scheduler.isStarted).toBe(false)
})
