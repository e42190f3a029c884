import { openPlain } from './driver.mjs'

const HOUR_MS = 3_600_000
const YEAR_MS = 365 * 24 * HOUR_MS

/**
 * Fills a database of Pawl's with history and backlog, by plain SQL. The Jobs are copies of two that the library
 * enqueued itself, so that they have the right lanes and policies. Half of the backlog is delayed; a third is ahead of
 * all the rest, but of the type that waits for a resource.
 */
export function fillWithHistory(path, { finished, queued }) {
  const database = openPlain(path)
  // Only the building is careless; whoever opens the file next sets these again.
  database.exec('pragma synchronous = off; pragma cache_size = -262144; pragma foreign_keys = off')
  const now = Date.now()
  const insert = database.prepare(COPY_JOBS)
  const add = (block, { type, count, priority, runAt }) => {
    const { changes } = insert.run(count, block, priority, runAt, now - HOUR_MS, type)
    if (Number(changes) !== count) throw new Error(`Expected ${count} jobs to be added, got ${changes}.`)
  }
  const delayed = Math.floor(queued / 2)
  const busy = Math.floor(queued / 3)
  add('01', { type: 'noop', count: finished, priority: 0, runAt: now - HOUR_MS })
  const { lastInsertRowid: node } = database.prepare(INSERT_NODE).run(now, now)
  database.prepare(INSERT_RUNS).run(node)
  add('02', { type: 'noop', count: delayed, priority: 0, runAt: now + YEAR_MS })
  add('03', { type: 'busy', count: busy, priority: 10, runAt: now - HOUR_MS })
  add('04', { type: 'noop', count: queued - delayed - busy, priority: 0, runAt: now - HOUR_MS })
  database.prepare(INSERT_QUEUE).run(now)
  database.exec(LIST_BY_LANE)
  database.exec('pragma wal_checkpoint(truncate)')
  database.close()
}

// The ids have the shape of ours and grow, each block with a beginning of its own.
const COPY_JOBS = `
with recursive numbers (n) as (
  select 1
  union all
  select n + 1
  from numbers
  where n < ?
)
insert into pawl_jobs (job_id, lane_id, policy_id, priority, position, run_at, created_at, params)
select '00' || ? || printf('%04x-%04x-7000-8000-%012x', n >> 16, n & 65535, n), pattern.lane_id, pattern.policy_id,
  ?, n * 100, ?, ?, pattern.params
from numbers, (
  select lane_id, policy_id, params
  from pawl_jobs
  join pawl_lanes using (lane_id)
  where type = ?
  limit 1
) as pattern`

const LIST_BY_LANE = `
insert or ignore into pawl_lane_jobs (lane_id, seq)
select lane_id, seq
from pawl_jobs
order by lane_id, seq;
update pawl_counters
set value = (select max(seq) from pawl_jobs)
where name = 'last_lane_job'`

const INSERT_NODE = `
insert into pawl_nodes (node_id, name, host, pid, types, concurrency, started_at, ended_at)
values ('00000000-0000-7000-8000-000000000000', 'history', 'nowhere', 1, '[]', 1, ?, ?)`

// Those of the first block: all that exist and are not queued.
const INSERT_RUNS = `
insert into pawl_runs (seq, run_id, node_seq, status, started_at, finished_at)
select seq, '05' || substr(job_id, 3), ?, 'COMPLETED', run_at, run_at
from pawl_jobs
where seq not in (select seq from pawl_queue)`

const INSERT_QUEUE = `
insert into pawl_queue (seq, lane_id, ready, awaits_predecessor, priority, position, run_at, created_at)
select seq, lane_id, run_at <= ?, 0, priority, position, run_at, created_at
from pawl_jobs
where seq not in (select seq from pawl_queue) and seq not in (select seq from pawl_runs)`
