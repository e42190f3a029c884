// A job and your own data in one transaction of yours: both exist, or neither does.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'

// The library that Pawl uses on this Node. Two SQLite libraries must not share a file.
const isBuiltIn = Number(process.versions.node.split('.')[0]) >= 24
const { DatabaseSync } = await import(isBuiltIn ? 'node:sqlite' : '@photostructure/sqlite')

const welcome = defineJob({ type: 'welcome', run: ({ params }) => `welcomed ${params.user}` })

const folder = mkdtempSync(join(tmpdir(), 'pawl-'))
const path = join(folder, 'app.db')
const scheduler = await openScheduler({ store: sqlite(path), jobs: [welcome] })
const database = new DatabaseSync(path)
database.exec('create table users (name text primary key)')

function signUp(name, isAccepted) {
  database.exec('begin immediate')
  database.prepare('insert into users (name) values (?)').run(name)
  const job = scheduler.enqueueSync(database, welcome, { user: name })
  database.exec(isAccepted ? 'commit' : 'rollback')
  return job
}

signUp('mallory', false)
const job = signUp('ada', true)

await scheduler.start()
assert.equal((await job.settled()).result, 'welcomed ada')
assert.equal((await scheduler.listJobs()).items.length, 1)
console.log((await job.settled()).result)

database.close()
await scheduler.close()
rmSync(folder, { recursive: true })
