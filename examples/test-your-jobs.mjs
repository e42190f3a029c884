// Testing your own jobs on a virtual clock: four attempts over seventy seconds take milliseconds.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineJob } from 'pawl'
import { openTestScheduler } from 'pawl/testing'

const upload = defineJob({
  type: 'upload',
  async run() {
    throw new Error('offline')
  },
})

await test('an upload is tried four times, after 10, 20 and 40 seconds', async () => {
  const { scheduler, advance, clock, close } = await openTestScheduler({ jobs: [upload] })
  const startedAt = clock.now()
  const job = await scheduler.enqueue(upload, null)

  await advance('69s')
  assert.equal((await scheduler.getChain(job.jobId)).settled, false)
  await advance('1s')

  const settled = await job.settled()
  assert.equal(settled.outcome, 'FAILED')
  assert.equal(settled.attempts, 4)
  const { items } = await scheduler.getChain(job.jobId)
  const startsAfter = items.map((attempt) => (attempt.startedAt ?? 0) - startedAt)
  assert.deepEqual(startsAfter, [0, 10_000, 30_000, 70_000])
  await close()
})
