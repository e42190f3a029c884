// `node bench/postgres/profile.mjs [drain|enqueue|lists] [jobs] [concurrency]`: what a job costs on PostgreSQL, of the
// processor on both sides and in the write-ahead log, beside the floor; then by statement and by function. Build first.
import { readdirSync, readFileSync } from 'node:fs'
import { enqueueConcurrently, enqueueLists } from '../sections/enqueue.mjs'
import { printSelfTimesOf } from '../self-times.mjs'
import { drainPortion, fill, Noop } from '../stage.mjs'
import { PostgresFloor } from './floor.mjs'
import { withServer } from './server.mjs'
import { openOnPostgres, withClient } from './stage.mjs'

const BULK = 500
const CALLERS = 100

const [what = 'drain', jobsText = '50000', concurrencyText = '100'] = process.argv.slice(2)
const [jobs, concurrency] = [Number(jobsText), Number(concurrencyText)]
const works = { drain: prepareDrain, enqueue: prepareEnqueue, lists: prepareEnqueue }
if (!(what in works) || !Number.isInteger(jobs) || !Number.isInteger(concurrency)) {
  console.error('Usage: node bench/postgres/profile.mjs [drain|enqueue|lists] [jobs] [concurrency]')
  process.exit(2)
}

const settings = { shared_preload_libraries: 'pg_stat_statements', track_io_timing: 'on' }
await withServer(profile, settings)

async function profile({ url }) {
  const { scheduler, run, runFloor } = await works[what](url)
  await withClient(url, async (client) => {
    await client.query('create extension if not exists pg_stat_statements')
    await client.query('select pg_stat_statements_reset(), pg_stat_reset()')
    const postmaster = await parentOf(client)
    console.log(`${what} of ${jobs} jobs, concurrency ${concurrency}, per job:`)
    await printCost('Pawl', client, postmaster, run)
    await printStatements(client)
    await printTables(client)
    await printCost('floor', client, postmaster, runFloor)
  })
  console.log('\nSelf time by function:\n')
  await printSelfTimesOf(jobs, run)
  await scheduler.close()
}

async function prepareDrain(url) {
  const noop = new Noop()
  const scheduler = await openOnPostgres(url, 'profile', [noop.type], { concurrency })
  await fill(scheduler, noop.type, jobs * 2.5 + concurrency * 6)
  await drainPortion(scheduler, noop, jobs / 4)
  const floor = await PostgresFloor.open(url, 'floor')
  floor.prepareIds(jobs * 4)
  await floor.insert(jobs + concurrency, BULK)
  await floor.vacuum()
  const runFloor = async () => {
    let held = await floor.claim(concurrency)
    for (let done = concurrency; done < jobs; done += concurrency) held = await floor.finishAndClaim(held, concurrency)
    await floor.finish(held)
    await floor.close()
  }
  return { scheduler, run: () => drainPortion(scheduler, noop, jobs), runFloor }
}

async function prepareEnqueue(url) {
  const { type } = new Noop()
  const scheduler = await openOnPostgres(url, 'profile', [type])
  const work = what === 'lists' ? enqueueLists : enqueueConcurrently
  await work(scheduler, type, jobs / 4)
  const floor = await PostgresFloor.open(url, 'floor')
  floor.prepareIds(jobs)
  const runFloor = async () => {
    await floor.insert(jobs, what === 'lists' ? BULK : CALLERS)
    await floor.close()
  }
  return { scheduler, run: () => work(scheduler, type, jobs), runFloor }
}

async function printCost(name, client, postmaster, work) {
  const before = await costsSoFar(client, postmaster)
  const startedAt = performance.now()
  await work()
  const us = (performance.now() - startedAt) * 1_000
  const after = await costsSoFar(client, postmaster)
  const per = (key) => ((after[key] - before[key]) / jobs).toFixed(1)
  console.log(
    `${name.padEnd(6)} ${(us / jobs).toFixed(1)} µs, processor ${per('client')} µs here and ${per('server')} µs in ` +
      `PostgreSQL, ${per('wal')} bytes of log in ${per('records')} records with ${per('pages')} full pages`,
  )
}

async function costsSoFar(client, postmaster) {
  // What the server counts as a whole it counts late.
  const { rows } = await client.query(
    `select sum(wal_bytes)::float8 as wal, sum(wal_records)::float8 as records, sum(wal_fpi)::float8 as pages
     from pg_stat_statements`,
  )
  const { user, system } = process.cpuUsage()
  return { ...rows[0], client: user + system, server: processorOf(postmaster) }
}

async function parentOf(client) {
  const { rows } = await client.query('select pg_backend_pid() as pid')
  return statOf(rows[0].pid).parent
}

/** What the processes of the server have used of the processor so far, in microseconds. */
function processorOf(postmaster) {
  const own = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [statOf(pid)]
      } catch {
        return []
      }
    })
    .filter(({ parent }) => parent === postmaster)
  return own.reduce((sum, { ticks }) => sum + ticks, statOf(postmaster).endedTicks) * 10_000
}

/** The fields of /proc/<pid>/stat behind the name, which may have spaces. A tick is a hundredth of a second. */
function statOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').map(Number)
  return { parent: fields[1], ticks: fields[11] + fields[12], endedTicks: fields[13] + fields[14] }
}

async function printStatements(client) {
  const { rows } = await client.query(`
    select calls::integer, total_exec_time as ms, rows::integer, wal_bytes::float8 as wal, shared_blks_dirtied::integer as dirtied,
      left(regexp_replace(query, '\\s+', ' ', 'g'), 90) as query
    from pg_stat_statements
    order by total_exec_time desc
    limit 8`)
  console.log('\nBy statement:')
  for (const { calls, ms, wal, query } of rows) {
    console.log(
      `${((ms / jobs) * 1_000).toFixed(1).padStart(7)} µs/job ${(wal / jobs).toFixed(0).padStart(6)} bytes/job ${String(calls).padStart(7)} calls  ${query}`,
    )
  }
}

async function printTables(client) {
  const { rows } = await client.query(`
    select relname as name, n_tup_ins::integer as inserted, n_tup_upd::integer as updated, n_tup_hot_upd::integer as hot,
      n_tup_del::integer as deleted, seq_scan::integer as whole, idx_scan::integer as searches
    from pg_stat_user_tables
    where schemaname = 'profile' and n_tup_ins + n_tup_upd + n_tup_del > 0
    order by n_tup_ins + n_tup_upd + n_tup_del desc`)
  console.log('\nBy table:')
  console.table(rows)
}
