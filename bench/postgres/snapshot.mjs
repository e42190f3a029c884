import pg from 'pg'
import { line, median, perSecond } from '../figures.mjs'
import { Noop } from '../stage.mjs'
import { openOnPostgres, withClient } from './stage.mjs'

const OFFERED_PER_SECOND = 1_000
const FEEDS_PER_SECOND = 10
const AT_LEAST = 0.5

/**
 * A session that is idle in a transaction keeps PostgreSQL from removing any row that was deleted since: those of Jobs that
 * have started pile up at the head of the queue. Jobs come at a fixed rate; what counts is the worst second.
 */
export async function snapshot({ url, scale, say }) {
  const { seconds } = scale.snapshot
  const noop = new Noop()
  const scheduler = await openOnPostgres(url, 'snapshot', [noop.type], { concurrency: 100 })
  await scheduler.start()
  say(`${seconds} s at ${OFFERED_PER_SECOND} jobs a second without an old snapshot`)
  const without = await run(scheduler, noop, seconds)
  const holder = await holdSnapshot(url)
  say(`${seconds} s with one`)
  const within = await run(scheduler, noop, seconds)
  const dead = await deadRows(url)
  await holder.end()
  await scheduler.close()
  say(`${dead.toLocaleString('en')} dead rows of the queue`)
  const tail = within.slice(-Math.ceil(seconds / 4))
  return [
    compare('old snapshot: the worst second', Math.min(...within), median(without), AT_LEAST),
    compare('old snapshot: its last quarter', median(tail), median(without), AT_LEAST),
  ]
}

function compare(name, ours, reference, atLeast) {
  return line({
    name,
    ours: perSecond(ours),
    reference: `${perSecond(reference)} without it, ${OFFERED_PER_SECOND} offered`,
    ratio: ours / reference,
    needs: { kind: 'at-least', value: atLeast },
  })
}

/** How many Jobs were executed in each second. */
async function run(scheduler, noop, seconds) {
  const perFeed = OFFERED_PER_SECOND / FEEDS_PER_SECOND
  const counts = []
  const feeds = []
  const startedAt = performance.now()
  for (let feed = 1; feed <= seconds * FEEDS_PER_SECOND; feed++) {
    feeds.push(scheduler.enqueueMany(Array.from({ length: perFeed }, (_, n) => ({ type: noop.type, params: { n } }))))
    const due = startedAt + (feed * 1_000) / FEEDS_PER_SECOND
    await new Promise((resolve) => setTimeout(resolve, due - performance.now()))
    if (feed % FEEDS_PER_SECOND === 0) counts.push(noop.count)
  }
  await Promise.all(feeds)
  return counts.map((count, second) => count - (counts[second - 1] ?? 0)).slice(1)
}

async function holdSnapshot(url) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('begin isolation level repeatable read')
  await client.query('select count(*) from pg_class')
  return client
}

async function deadRows(url) {
  const { rows } = await withClient(url, (client) =>
    client.query(
      `select n_dead_tup::integer as dead from pg_stat_user_tables where schemaname = 'snapshot' and relname = 'queue'`,
    ),
  )
  return rows[0].dead
}
