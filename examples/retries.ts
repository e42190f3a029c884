// A failed execution is followed by a new Job in the same chain. All of them stay in the history.
import assert from 'node:assert/strict'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'

const fetchFeed = defineJob({
  type: 'fetch-feed',
  retry: { maxRetries: 3, backoff: { kind: 'exponential', baseMs: 20 } },
  async run({ attempt }) {
    if (attempt < 3) throw new Error('503 Service Unavailable')
    return { items: 42 }
  },
})

const scheduler = await openScheduler({ store: sqlite(':memory:'), jobs: [fetchFeed] })
await scheduler.start()

const job = await scheduler.enqueue(fetchFeed, null)
const settled = await job.settled()
assert.equal(settled.outcome, 'COMPLETED')
assert.equal(settled.attempts, 3)

const chain = await scheduler.getChain(job.jobId)
for (const { jobId, attempt } of chain.items) {
  const run = await scheduler.findRunOfJob(jobId)
  console.log(`attempt ${attempt}: ${run?.status} ${run?.error ?? ''}`)
}
assert.deepEqual(
  chain.items.map(({ outcome }) => outcome),
  ['FAILED', 'FAILED', 'COMPLETED'],
)

await scheduler.close()
