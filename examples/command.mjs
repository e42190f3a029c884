// An external program as a job: an argument list (never a shell line), JSON on stdin, exit code and output in the history.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'

const script = `
  const params = JSON.parse(require('node:fs').readFileSync(0, 'utf8'))
  console.log('resizing', params.file)
  process.exit(params.file.endsWith('.png') ? 0 : 3)`

const resize = defineJob({
  type: 'resize',
  command: [process.execPath, '-e', script],
  retry: { maxRetries: 0 },
})

const folder = mkdtempSync(join(tmpdir(), 'pawl-'))
const scheduler = await openScheduler({ store: sqlite(join(folder, 'jobs.db')), jobs: [resize], concurrency: 2 })
await scheduler.start()

const good = await scheduler.enqueue(resize, { file: 'cat.png' })
const bad = await scheduler.enqueue(resize, { file: 'cat.txt' })
assert.equal((await good.settled()).outcome, 'COMPLETED')
assert.equal((await bad.settled()).outcome, 'FAILED')

const run = await scheduler.findRunOfJob(bad.jobId)
assert.equal(run.exitCode, 3)
assert.match(readFileSync(run.logPath, 'utf8'), /resizing cat.txt/)
console.log(run.error)

await scheduler.close()
rmSync(folder, { recursive: true })
