// A job and your own data in one transaction of yours on PostgreSQL: both exist, or neither does.
// Needs a server: DATABASE_URL=postgres://localhost/postgres node examples/postgres-transaction.mjs
import assert from 'node:assert/strict'
import { defineJob, openScheduler } from 'pawl'
import { postgres } from 'pawl/postgres'
import pg from 'pg'

const url = process.env.DATABASE_URL ?? 'postgres://localhost/postgres'

const welcome = defineJob({ type: 'welcome', run: ({ params }) => `welcomed ${params.user}` })

const pool = new pg.Pool({ connectionString: url })
await pool.query(
  'drop schema if exists pawl_example cascade; create table if not exists pawl_example_users (name text)',
)
const scheduler = await openScheduler({ store: postgres(url, { schema: 'pawl_example' }), jobs: [welcome] })
await scheduler.start()

async function signUp(name, isAccepted) {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query('insert into pawl_example_users (name) values ($1)', [name])
    const job = await scheduler.enqueue(welcome, { user: name }, { tx: client })
    await client.query(isAccepted ? 'commit' : 'rollback')
    return job
  } finally {
    client.release()
  }
}

await signUp('mallory', false)
const job = await signUp('ada', true)

assert.equal((await job.settled()).result, 'welcomed ada')
assert.equal((await scheduler.listJobs()).items.length, 1)
assert.deepEqual((await pool.query('select name from pawl_example_users')).rows, [{ name: 'ada' }])
console.log((await job.settled()).result)

await scheduler.close()
await pool.query('drop schema pawl_example cascade; drop table pawl_example_users')
await pool.end()
