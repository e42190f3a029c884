import { defineJob } from 'pawl'
import { onFaultPoint } from 'pawl/testing'
import { afterEach, expect, test } from 'vitest'
import { openTestScheduler } from '../stores/package-stores.ts'
import { SILENT } from './scene.ts'

afterEach(() => onFaultPoint(null))

test('a claim whose answer is lost leaves a Run without a body; its own node ends it and retries the Job', async () => {
  const executed: number[] = []
  const work = defineJob({ type: 'work', run: ({ attempt }) => void executed.push(attempt) })
  await using process = await openTestScheduler({ jobs: [work], logger: SILENT })
  const { scheduler, advance, runUntilIdle } = process
  onFaultPoint((point) => {
    if (point !== 'dispatcher:claimed') return
    onFaultPoint(null)
    throw new Error('the answer is lost')
  })
  const job = await scheduler.enqueue(work, null)
  await runUntilIdle()
  expect(await job.get()).toMatchObject({ status: 'RUNNING' })
  expect(scheduler.executing).toEqual([])
  await advance('5s')
  expect(await scheduler.findRunOfJob(job.jobId)).toMatchObject({ status: 'FAILED', reason: 'crash' })
  expect(await job.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 2 })
  expect(executed).toEqual([2])
})
