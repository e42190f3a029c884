import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineJob, openScheduler, type Scheduler } from '../../src/index.ts'
import { childrenOf } from '../../src/store/conformance/composition-steps.ts'
import { NOW } from '../../src/store/conformance/fixtures.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { SettableClock } from '../../src/testing/index.ts'
import { CountingDriver, DatabaseSync } from '../composition/counting-driver.ts'
import { newDatabase } from '../recovery/database.ts'

// A million Jobs in the queue. What counts is how many rows are read, and that is shown in two ways: by those that come
// back from statements, and by the time, against that of one walk through the queue.

const MILLION = 1_000_000
const DEPENDENTS = 20_000

/** Statements and rows of one answer, whatever the backlog: most of it are the nodes, holders and Jobs that it names. */
const ROWS_MAX = 200

const counting = new CountingDriver()
const file = newDatabase()
const story = defineJob({ type: 'story', run: () => null })
const poem = defineJob({ type: 'poem', run: () => null })
let scheduler: Scheduler

beforeAll(async () => {
  const store = sqlite(file, { driver: counting.driver, durability: 'process' })
  scheduler = await openScheduler({ store, jobs: [story, poem], clock: new SettableClock(NOW) })
  await scheduler.enqueueMany([
    { type: story, params: null },
    { type: poem, params: null },
  ])
  multiply(MILLION)
}, 300_000)

afterAll(() => scheduler?.close())

describe('with a million Jobs in the queue', { timeout: 60_000 }, () => {
  test('the last one is answered from a few thousand rows', async () => {
    const job = await scheduler.enqueue(poem, null)
    await job.why()
    counting.reset()
    const why = await job.why()
    expect(why).toMatchObject({ queueRank: null, queueRankText: '1000+' })
    expect(why.reasons.map(({ code }) => code)).toEqual(['no_node', 'jobs_ahead'])
    expect(counting.dearest.statements).toBeLessThanOrEqual(ROWS_MAX)
    expect(counting.dearest.rowsRead).toBeLessThanOrEqual(ROWS_MAX)
    expect(counting.dearest.rowsWritten).toBe(0)

    const walk = fastestOf(() => countReady())
    const answer = await fastestOfAsync(() => job.why())
    // Walking through a thousand entries of a million would be a thousandth; the rest is for names and words.
    expect(answer).toBeLessThan(walk / 5)
  })

  test('so is a new one of a type that nobody else waits for, and one at the head', async () => {
    const first = await scheduler.enqueue(story, null, { priority: 10 })
    expect(await first.why()).toMatchObject({ queueRank: 1 })
    const middle = await scheduler.enqueue(poem, null, { priority: 5 })
    expect(await middle.why()).toMatchObject({ queueRank: 2 })
  })

  test('a Job with twenty thousand dependents is no dearer', async () => {
    const parent = await scheduler.enqueue(story, null, { priority: 20 })
    const store = await sqlite(file, { driver: counting.driver, durability: 'process' }).open()
    await store.enqueueJobs(childrenOf(parent.jobId, DEPENDENTS), NOW)
    await store.close()
    await parent.cancel()
    counting.reset()
    const { reasons } = await parent.why()
    expect(reasons.find(({ code }) => code === 'dependents')).toMatchObject({ waiting: 1_000 })
    expect(counting.dearest.rowsRead).toBeLessThanOrEqual(ROWS_MAX)
  })
})

// Copies of the two Jobs that are there, by turns, each behind the one before: in a tenth of the time that enqueueing takes.
const COPY_JOBS = `
with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ?)
insert into pawl_jobs (seq, job_id, lane_id, policy_id, priority, position, run_at, created_at, params)
select n + 2, 'copy-' || n, lane_id, policy_id, priority, 200 + 100 * n, run_at, created_at, params
from numbers
join pawl_jobs on seq = 1 + n % 2`

const COPY_QUEUE = `
insert into pawl_queue (priority, position, created_at, seq, lane_id, ready, awaits_predecessor, run_at, unmet_parents)
select priority, position, created_at, seq, lane_id, 1, 0, run_at, 0
from pawl_jobs
where seq > 2`

function multiply(count: number): void {
  const handle = new DatabaseSync(file)
  handle.exec('begin')
  handle.prepare(COPY_JOBS).run(count)
  handle.prepare(COPY_QUEUE).run()
  handle.exec('commit')
  handle.close()
}

/** One walk through the index that a rank is counted in. */
function countReady(): void {
  const handle = new DatabaseSync(file)
  handle.prepare('select count(*) as ready from pawl_queue indexed by pawl_queue_ready where ready = 1').get()
  handle.close()
}

function fastestOf(work: () => void): number {
  let fastest = Number.POSITIVE_INFINITY
  for (let round = 0; round < 5; round++) {
    const begun = performance.now()
    work()
    fastest = Math.min(fastest, performance.now() - begun)
  }
  return fastest
}

async function fastestOfAsync(work: () => Promise<unknown>): Promise<number> {
  let fastest = Number.POSITIVE_INFINITY
  for (let round = 0; round < 20; round++) {
    const begun = performance.now()
    await work()
    fastest = Math.min(fastest, performance.now() - begun)
  }
  return fastest
}
