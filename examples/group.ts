// A group: accepted as one, watched as one. This one is a sequence that stops at its first failure.
import assert from 'node:assert/strict'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { z } from 'zod'

const step = defineJob({
  type: 'step',
  params: z.object({ name: z.string(), fails: z.boolean().default(false) }),
  retry: { maxRetries: 0 },
  run({ params }) {
    if (params.fails) throw new Error('2 tests failed')
    return `${params.name} done`
  },
})

const scheduler = await openScheduler({ store: sqlite(':memory:'), jobs: [step], concurrency: 3 })
await scheduler.start()

const release = await scheduler.groups.create({
  name: 'release 1.4',
  mode: 'sequential',
  jobs: [
    { type: step, params: { name: 'build' } },
    { type: step, params: { name: 'test', fails: true } },
    { type: step, params: { name: 'deploy' } },
  ],
})
const { status, counts } = await release.settled()
assert.equal(status, 'PARTIAL')
assert.deepEqual([counts.completed, counts.failed, counts.cancelled], [1, 1, 1])
for (const job of release.jobs) {
  const { outcome, error } = await job.settled()
  console.log(`${outcome} ${error?.replace(/job \S+/, 'test') ?? ''}`)
}

// A batch is a parallel group. Whatever fails, the others go on.
const batch = await scheduler.groups.create({
  onFailure: 'continue',
  jobs: Array.from({ length: 100 }, (_, index) => ({
    type: step,
    params: { name: `page ${index}`, fails: index === 7 },
  })),
})
const ended = await batch.settled()
assert.equal(ended.counts.completed, 99)
console.log(`${ended.status}: ${ended.counts.completed} of ${ended.counts.total} pages, ${ended.counts.failed} failed`)
await scheduler.close()
