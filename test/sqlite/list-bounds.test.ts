// A page of a list costs the same on any store: it looks at a bounded number of rows, and goes on where it stopped.
import { beforeAll, describe, expect, test } from 'vitest'
import { newJob, newNode, newRetry } from '../../src/store/conformance/fixtures.ts'
import type { JobFilter, Page } from '../../src/store/jobs.ts'
import type { RunFilter } from '../../src/store/runs.ts'
import type { Store } from '../../src/store/store.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { type Cost, CountingDriver } from '../composition/counting-driver.ts'
import { newDatabasePath, withHandle } from './stage.ts'

const JOBS = 30_000
const NOW = JOBS
const LIMIT = 200

/** The latest Jobs that are not in the list of their type yet. */
const NOT_LISTED = 500

/** Rows that a page may look at, and those that it shows; a type of two lanes reads one page of each more. */
const ROWS_MAX = 2_000 + 2_000 + 2 * 64 + 2 * LIMIT + NOT_LISTED
const STATEMENTS_MAX = 200

const POLICY = JSON.stringify({
  retry: { maxRetries: 0, maxCrashRetries: 0, backoff: { kind: 'none' } },
  timeoutMs: null,
  resources: [],
})

// The first half has ended, the last hundred of it because they were aborted; of the other half a tenth is delayed. Every second Job is of the type `even`, the others, which are
// of two lanes, are tagged `red`; so no Job is both `even` and `red`, but for the three that are made so.
const FILL = `
insert into pawl_lanes values (1, 'odd', '[]'), (2, 'odd', '["gpu"]'), (3, 'rare', '[]'), (4, 'even', '[]');
insert into pawl_policies values (1, '${POLICY}');
insert into pawl_nodes (node_seq, node_id, name, host, pid, types, concurrency, started_at) values (1, 'n', 'n', 'h', 1, '[]', 1, 0);
with recursive numbers (i) as (select 1 union all select i + 1 from numbers where i < ${JOBS})
insert into pawl_jobs (seq, job_id, lane_id, policy_id, priority, position, run_at, created_at, params, tags, group_id, cancelled_at)
select i, 'job-' || i,
  case when i in (5, 15005, 29995) then 3 when i % 2 = 0 then 4 when i % 3 = 0 then 2 else 1 end,
  1, 0, i * 100, i + 1000000 * (i > 15000 and i % 10 = 1), i, 'null',
  case when i in (6, 15006, 29996) then '["red","blue"]' when i % 2 = 1 then '["red"]' end,
  case when i % 10 = 0 then 'g' end, case when i between 14901 and 15000 then i end
from numbers;
insert into pawl_lane_jobs (lane_id, seq) select lane_id, seq from pawl_jobs where seq <= ${JOBS - NOT_LISTED};
update pawl_counters set value = ${JOBS - NOT_LISTED} where name = 'last_lane_job';
insert into pawl_job_tags (tag, seq) select t.value, j.seq from pawl_jobs j, json_each(j.tags) t where j.tags is not null;
insert into pawl_runs (seq, run_id, node_seq, status, started_at, finished_at)
select seq, 'run-' || seq, 1, case when seq % 5000 = 3 then 'FAILED' when seq % 5000 = 4 then 'SKIPPED' else 'COMPLETED' end,
  seq, seq
from pawl_jobs where seq <= 15000;
insert into pawl_queue (priority, position, created_at, seq, lane_id, ready, awaits_predecessor, run_at)
select priority, position, created_at, seq, lane_id, run_at <= ${NOW}, 0, run_at from pawl_jobs where seq > 15000;`

const counting = new CountingDriver()
let store: Store

beforeAll(async () => {
  const path = newDatabasePath()
  await (await sqlite(path).open()).close()
  withHandle(path, (handle) => handle.exec(`begin; ${FILL} commit;`))
  store = await sqlite(path, { driver: counting.driver }).open()
  return () => store.close()
})

/** Follows the cursors to the end. */
async function walk<Item>(
  read: (cursor: string | null) => Promise<Page<Item>>,
): Promise<{ items: Item[]; dearest: Cost }> {
  const items: Item[] = []
  const costs: Cost[] = []
  for (let cursor: string | null = null; costs.length < 700; ) {
    counting.reset()
    const page: Page<Item> = await read(cursor)
    costs.push(counting.dearest)
    items.push(...page.items)
    cursor = page.nextCursor
    if (cursor === null) break
  }
  const most = (name: keyof Cost) => Math.max(...costs.map((cost) => cost[name]))
  return {
    items,
    dearest: { statements: most('statements'), rowsRead: most('rowsRead'), rowsWritten: most('rowsWritten') },
  }
}

type Filters = Omit<JobFilter, 'limit' | 'cursor'>

const numbers = Array.from({ length: JOBS }, (_, index) => JOBS - index)
const isRare = (n: number) => [5, 15_005, 29_995].includes(n)
const isEven = (n: number) => n % 2 === 0
const isBlue = (n: number) => [6, 15_006, 29_996].includes(n)
const isRed = (n: number) => isBlue(n) || !isEven(n)
const isEnded = (n: number) => n <= 15_000
const isFinished = (n: number) => n <= 14_900
const isOfGroup = (n: number) => n % 10 === 0

const lists: readonly [Filters, (n: number) => boolean][] = [
  [{}, () => true],
  [{ type: 'odd' }, (n) => !isEven(n) && !isRare(n)],
  [{ type: 'rare' }, isRare],
  [{ tag: 'blue' }, isBlue],
  [{ tag: 'red' }, isRed],
  [{ groupId: 'g' }, isOfGroup],
  [{ status: 'FINISHED' }, isFinished],
  [{ status: 'RUNNING' }, () => false],
  [{ status: 'CANCELLED', type: 'even' }, (n) => isEnded(n) && !isFinished(n) && isEven(n)],
  [{ status: 'QUEUED' }, (n) => !isEnded(n)],
  [{ status: 'QUEUED', type: 'rare' }, (n) => !isEnded(n) && isRare(n)],
  [{ status: 'QUEUED', type: 'odd' }, (n) => !isEnded(n) && !isEven(n) && !isRare(n)],
  [{ status: 'FINISHED', type: 'odd' }, (n) => isFinished(n) && !isEven(n) && !isRare(n)],
  [{ type: 'even', tag: 'red' }, isBlue],
  [{ type: 'even', tag: 'red', status: 'QUEUED' }, (n) => isBlue(n) && !isEnded(n)],
  [{ type: 'odd', tag: 'blue' }, () => false],
  [{ groupId: 'g', tag: 'red' }, () => false],
  [{ groupId: 'g', status: 'QUEUED' }, (n) => isOfGroup(n) && !isEnded(n)],
  [{ groupId: 'g', status: 'FINISHED', type: 'even' }, (n) => isOfGroup(n) && isFinished(n)],
]

describe('of Jobs', () => {
  test.for(lists)('%j: every match once, and no page looks at more than it may', async ([filter, matches]) => {
    const { items, dearest } = await walk((cursor) => store.listJobs({ ...filter, limit: LIMIT, cursor }, NOW))
    const expected = numbers.filter(matches)
    if (filter.status === 'QUEUED') expected.reverse()
    expect(items.map(({ jobId }) => jobId)).toEqual(expected.map((n) => `job-${n}`))
    expect(dearest.rowsRead).toBeLessThanOrEqual(ROWS_MAX)
    expect(dearest.statements).toBeLessThanOrEqual(STATEMENTS_MAX)
  })

  test.for([
    { type: 'rare' },
    { tag: 'blue' },
    { type: 'odd', tag: 'blue' },
    { type: 'rare', status: 'QUEUED' },
    { tag: 'blue', status: 'QUEUED' },
  ] as const)('%j: what is rare is found by one page that looks at little else', async (filter) => {
    counting.reset()
    expect((await store.listJobs({ ...filter, limit: LIMIT }, NOW)).nextCursor).toBeNull()
    expect(counting.dearest.rowsRead).toBeLessThanOrEqual(20)
  })
})

test('a page of FINISHED Jobs is full, though others with a Run stand between', async () => {
  const { items } = await store.listJobs({ status: 'FINISHED', limit: LIMIT }, NOW)
  expect(items).toHaveLength(LIMIT)
})

describe('of Runs', () => {
  const outcomeOf = (n: number) => (n % 5_000 === 3 ? 'FAILED' : n % 5_000 === 4 ? 'SKIPPED' : 'COMPLETED')
  const ofType = { odd: (n: number) => !isEven(n) && !isRare(n), even: isEven, rare: isRare, none: () => false }
  const filters: Omit<RunFilter, 'limit' | 'cursor'>[] = []
  for (const status of [undefined, 'COMPLETED', 'FAILED', 'SKIPPED'] as const) {
    for (const type of [undefined, 'odd', 'even', 'rare', 'none']) {
      filters.push({ ...(status === undefined ? {} : { status }), ...(type === undefined ? {} : { type }) })
    }
  }

  test.for(filters)('%j: every match once, and no page looks at more than it may', async (filter) => {
    const { items, dearest } = await walk((cursor) => store.listRuns({ ...filter, limit: LIMIT, cursor }))
    const expected = numbers.filter(
      (n) =>
        isEnded(n) &&
        (filter.status === undefined || outcomeOf(n) === filter.status) &&
        (filter.type === undefined || ofType[filter.type as keyof typeof ofType](n)),
    )
    expect(items.map(({ runId }) => runId)).toEqual(expected.map((n) => `run-${n}`))
    expect(dearest.rowsRead).toBeLessThanOrEqual(ROWS_MAX)
    expect(dearest.statements).toBeLessThanOrEqual(STATEMENTS_MAX)
  })
})

test('the numbers of the queue are counted up to a bound, and cost as much as there are lanes', async () => {
  counting.reset()
  expect(await store.countQueue(1_000, NOW)).toMatchObject({ queued: 1_000, ready: 1_000, running: 0 })
  expect(await store.countQueue(JOBS, NOW)).toMatchObject({ queued: 15_000, ready: 13_500, oldestReadyAt: 15_002 })
  expect(counting.dearest.rowsRead).toBeLessThan(20)
})

test('Jobs without tags cost no statement for tags, neither accepted nor retried', async () => {
  const other = await sqlite(newDatabasePath(), { driver: counting.driver }).open()
  const node = newNode()
  await other.registerNode(node)
  const cost = async (write: () => Promise<unknown>) => {
    counting.reset()
    await write()
    return counting.dearest.statements
  }
  const accept = (tags: string[]) => cost(() => other.enqueueJobs([newJob({ tags })], NOW))
  let ids = 0
  const newId = () => `id-${++ids}`
  const fail = async () => {
    const request = { nodeId: node.nodeId, now: NOW, limit: 1, types: new Map([['story', 1]]), newRunId: newId }
    const [job] = (await other.claimJobs(request)).jobs
    expect.assert(job !== undefined)
    const outcome = { status: 'FAILED', reason: 'error', error: '', stack: null, exitCode: null } as const
    const report = { progress: null, logs: [], artifacts: [], logsDropped: 0 }
    const retry = newRetry({ runAt: 9 * NOW })
    const end = { job, by: node.nodeId, outcome, finishedAt: NOW, retry, followUps: [], report, body: 'ended' } as const
    return cost(() => other.finishRuns([end], newId))
  }
  await accept([])
  await fail()
  const plain = [await accept([]), await fail()] as const
  expect([await accept(['red', 'blue']), await fail()]).toEqual([plain[0] + 1, plain[1] + 1])
  await other.close()
})
