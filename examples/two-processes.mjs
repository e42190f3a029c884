// Two processes on one file. One is killed with SIGKILL in the middle of a job; the other finishes it as a retry.
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { copy } from './parts/copy-job.mjs'

const folder = mkdtempSync(join(tmpdir(), 'pawl-'))
const path = join(folder, 'jobs.db')
const scheduler = await openScheduler({ store: sqlite(path), jobs: [copy] })

const worker = fork(new URL('./parts/worker.mjs', import.meta.url), [path])
const begun = once(worker, 'message')
const job = await scheduler.enqueue(copy, null)
await begun
worker.kill('SIGKILL')

// Now this process begins to work. It recovers what the dead one left, at start and about once a second afterwards.
await scheduler.start()
const settled = await job.settled()
assert.equal(settled.result, 'copied')
assert.equal(settled.attempts, 2)

const { items } = await scheduler.getChain(job.jobId)
const first = await scheduler.findRunOfJob(items[0].jobId)
assert.equal(first.reason, 'crash')
console.log(`attempt 1: ${first.reason}, attempt 2: ${settled.result}`)

await scheduler.close()
rmSync(folder, { recursive: true })
