// A handler in a child process: an endless loop there blocks nobody, and a timeout really ends it.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'

const count = defineJob({
  type: 'count',
  module: new URL('./parts/endless-loop.mjs', import.meta.url),
  isolation: 'process',
  timeoutMs: 1_500,
  killGraceMs: 100,
  retry: { maxRetries: 0 },
})

const folder = mkdtempSync(join(tmpdir(), 'pawl-'))
const scheduler = await openScheduler({ store: sqlite(join(folder, 'jobs.db')), jobs: [count] })
await scheduler.start()

const job = await scheduler.enqueue(count, {})
const settled = await job.settled()
assert.equal(settled.outcome, 'FAILED')
assert.equal(settled.reason, 'timeout')
console.log(settled.error)

await scheduler.close()
rmSync(folder, { recursive: true })
