// Stopping: what runs may end, what waits stays in the queue, and nothing is lost.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'

const nap = defineJob({
  type: 'nap',
  run: async ({ params, signal }) => {
    await sleep(params === 'short' ? 50 : 60_000, undefined, { signal })
  },
})

const folder = mkdtempSync(join(tmpdir(), 'pawl-'))
const store = sqlite(join(folder, 'jobs.db'))

// `handleSignals: true` would do the closing for you on SIGTERM and SIGINT.
const first = await openScheduler({ store, jobs: [nap], concurrency: 2, shutdownTimeoutMs: 200 })
const [short, long] = await first.enqueueMany([
  { type: nap, params: 'short' },
  { type: nap, params: 'long' },
])
const bothBegun = new Promise<void>((resolve) => {
  let begun = 0
  first.on('job.started', () => ++begun === 2 && resolve())
})
await first.start()
await bothBegun
await first.close()

const second = await openScheduler({ store, jobs: [nap] })
assert.equal((await second.getJob(short.jobId)).outcome, 'COMPLETED')
const chain = await second.getChain(long.jobId)
const aborted = await second.findRunOfJob(long.jobId)
assert.equal(aborted?.reason, 'shutdown')
// The retry is due at once and charged to no budget.
assert.equal(chain.items[1]?.status, 'QUEUED')
assert.equal(chain.items[1]?.counts.errorRetries, 0)
console.log(`short: COMPLETED, long: ${aborted?.reason}, and attempt ${chain.items[1]?.attempt} waits`)

await second.close()
rmSync(folder, { recursive: true })
