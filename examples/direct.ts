// A direct execution goes before the queue, makes no job, and answers with its result.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { z } from 'zod'

const order: string[] = []
const draw = defineJob({
  type: 'draw',
  params: z.string(),
  async run({ params }) {
    order.push(params)
    if (params === 'a square circle') throw new Error('there is none')
    await sleep(30)
    return `${params}.png`
  },
})

const scheduler = await openScheduler({ store: sqlite(':memory:'), jobs: [draw] })
const begun = new Promise<void>((resolve) => scheduler.on('job.started', () => resolve()))
const jobs = await scheduler.enqueueMany([
  { type: draw, params: 'job 1' },
  { type: draw, params: 'job 2', priority: 1_000 },
  { type: draw, params: 'job 3' },
])
await scheduler.start()
await begun

// The one place is taken, and two jobs wait for it. Who asks directly is next all the same.
await assert.rejects(scheduler.runDirect(draw, 'a cat', { onBusy: 'reject' }), { code: 'direct_busy' })
const { result } = await scheduler.runDirect(draw, 'a cat', { createdBy: 'ada' })
assert.equal(result, 'a cat.png')

// What the handler throws is the caller's error. Nothing is tried again.
await assert.rejects(scheduler.runDirect(draw, 'a square circle'), { code: 'direct_failed' })

await Promise.all(jobs.map((job) => job.settled()))
assert.equal(order[1], 'a cat')
assert.equal((await scheduler.listJobs()).items.length, 3)
const records = (await scheduler.listReservations()).items
assert.deepEqual(
  records.map(({ outcome }) => outcome),
  ['FAILED', 'COMPLETED'],
)
console.log(order.join(', '))
await scheduler.close()
