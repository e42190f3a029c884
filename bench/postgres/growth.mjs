import { alternate, compareSpeeds, speedOf } from '../figures.mjs'
import { enqueueConcurrently, enqueueOneByOne } from '../sections/enqueue.mjs'
import { AS_FAST_AS_EMPTY, compareStarts, memoryOnFullStore } from '../sections/growth.mjs'
import { drainPortion, fill, Noop } from '../stage.mjs'
import { openOnPostgres, withClient } from './stage.mjs'

/** The same work on a store with a long history, a long backlog and many dead rows, and on an empty one. */
export async function growth({ url, scale, say }) {
  const { finished, queued, dead, concurrent, oneByOne, starts } = scale.growth
  say(
    `building a store with ${count(finished)} finished and ${count(queued)} queued jobs, and ${count(dead)} dead rows`,
  )
  const full = await openSide(url, 'growth_full')
  await fillWithHistory(url, full, { finished, queued, dead })
  const empty = await openSide(url, 'growth_empty')
  const lines = []
  const compare = async (name, { portions, jobs }, work) => {
    const speeds = await alternate(portions, {
      ours: () => speedOf(jobs, () => work(full, jobs)),
      reference: () => speedOf(jobs, () => work(empty, jobs)),
    })
    lines.push(compareSpeeds({ name, ...speeds, referenceName: 'on an empty store', atLeast: AS_FAST_AS_EMPTY }))
  }
  await compare('full store: enqueue, 100 concurrent callers', concurrent, ({ scheduler, noop }, jobs) =>
    enqueueConcurrently(scheduler, noop.type, jobs),
  )
  await compare('full store: enqueue, one by one', oneByOne, ({ scheduler, noop }, jobs) =>
    enqueueOneByOne(scheduler, noop.type, jobs),
  )
  await fill(empty.scheduler, empty.noop.type, (concurrent.jobs + 200) * (concurrent.portions + 1))
  await compare('full store: drain, concurrency 100', concurrent, ({ scheduler, noop }, jobs) =>
    drainPortion(scheduler, noop, jobs),
  )
  await full.scheduler.close()
  await empty.scheduler.close()
  lines.push(await compareStarts(starts, { full: () => startOn(url, full), empty: () => startOn(url, empty) }))
  lines.push(await memoryOnFullStore({ url, schema: full.schema }, concurrent.jobs))
  return lines
}

/** How long it takes from opening to the first body. */
async function startOn(url, { schema, noop }) {
  const filling = await openOnPostgres(url, schema, [noop.type])
  await filling.enqueue(noop.type, { n: 1 })
  await filling.close()
  const begun = noop.whenNext()
  const startedAt = performance.now()
  const scheduler = await openOnPostgres(url, schema, [noop.type], { concurrency: 1 })
  await scheduler.start()
  const ms = (await begun) - startedAt
  await scheduler.close()
  return ms
}

function count(jobs) {
  return jobs.toLocaleString('en')
}

async function openSide(url, schema) {
  const noop = new Noop()
  const scheduler = await openOnPostgres(url, schema, [noop.type], { concurrency: 100 })
  await fill(scheduler, noop.type, 100)
  await drainPortion(scheduler, noop, 100)
  return { schema, noop, scheduler }
}

/** By plain SQL, as copies of a Job that the library made. Half of the backlog is delayed. */
async function fillWithHistory(url, { schema }, { finished, queued, dead }) {
  const values = { finished, queued, dead }
  await withClient(url, async (client) => {
    for (const statement of HISTORY) {
      await client.query(statement.replaceAll('pawl.', `${schema}.`).replace(/:(\w+)/g, (_, name) => values[name]))
    }
  })
}

const COPY_JOBS = (amount) => `
insert into pawl.jobs (job_id, lane_id, policy_id, priority, position, run_at, created_at, params)
select gen_random_uuid(), j.lane_id, j.policy_id, 0, 100 * currval('pawl.job_seq'), j.run_at, j.created_at, j.params
from (select * from pawl.jobs order by seq limit 1) j
cross join generate_series(1, ${amount})`

const QUEUE_JOBS = `
insert into pawl.queue (seq, position, created_at, run_at, priority, lane_id, ready)
select seq, position, created_at, case seq % 2 when 0 then run_at else run_at + 31536000000 end, priority, lane_id, seq % 2 = 0
from pawl.jobs j
where not exists (select 1 from pawl.runs r where r.seq = j.seq)`

const HISTORY = [
  "select nextval('pawl.job_seq')",
  COPY_JOBS(':finished'),
  `insert into pawl.runs (seq, run_id, node_seq, status, started_at, finished_at)
   select seq, gen_random_uuid(), 1, 'COMPLETED', run_at, run_at
   from pawl.jobs j
   where not exists (select 1 from pawl.runs r where r.seq = j.seq)`,
  // What stood at the head of the queue, and has just been removed.
  COPY_JOBS(':dead'),
  QUEUE_JOBS,
  'alter table pawl.queue set (autovacuum_enabled = false)',
  'delete from pawl.queue',
  `insert into pawl.runs (seq, run_id, node_seq, status, started_at, finished_at)
   select seq, gen_random_uuid(), 1, 'COMPLETED', run_at, run_at
   from pawl.jobs j
   where not exists (select 1 from pawl.runs r where r.seq = j.seq)`,
  COPY_JOBS(':queued'),
  QUEUE_JOBS,
  'analyze pawl.jobs',
]
