// A file that an earlier version made is brought up to date with everything in it, and its jobs go on.
import { createHash } from 'node:crypto'
import { defineJob } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler, SettableClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { kernel } from '../../src/stores/sqlite/migrations/0001-kernel.ts'
import { type Handle, newDatabasePath, withHandle } from './stage.ts'

const NOW = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000
const policy = JSON.stringify({
  retry: { maxRetries: 3, maxCrashRetries: 3, backoff: { kind: 'none' } },
  timeoutMs: null,
  resources: [],
})

/** A database as version 1 made it, with one Job that ended, one that waits and one that is delayed. */
function makeVersion1(handle: Handle): void {
  handle.exec('pragma journal_mode = wal')
  handle.exec(kernel.sql)
  handle.exec(
    'create table pawl_migrations (version integer primary key, name text not null, checksum text not null, applied_at integer not null) strict',
  )
  const checksum = createHash('sha256').update(`1 kernel\n${kernel.sql}`).digest('hex')
  handle.prepare('insert into pawl_migrations values (1, ?, ?, ?)').run('kernel', checksum, NOW)
  handle.exec('pragma application_id = 1348564844; pragma user_version = 1')
  handle.prepare('insert into pawl_types values (?, ?, ?)').run('story', policy, NOW)
  handle.prepare("insert into pawl_lanes (lane_id, type, resources) values (1, 'story', '[]')").run()
  handle.prepare('insert into pawl_policies (policy_id, body) values (1, ?)').run(policy)
  handle
    .prepare(
      'insert into pawl_nodes (node_seq, node_id, name, host, pid, types, concurrency, started_at, ended_at) values (1, ?, ?, ?, 1, ?, 1, ?, ?)',
    )
    .run('n1', 'old', 'host', '["story"]', NOW, NOW)
  for (const [seq, id, runAt] of [
    [1, 'ended', NOW],
    [2, 'waiting', NOW],
    [3, 'delayed', NOW + 60_000],
  ] as const) {
    handle
      .prepare(
        'insert into pawl_jobs (seq, job_id, lane_id, policy_id, priority, position, run_at, created_at, params) values (?, ?, 1, 1, 0, ?, ?, ?, ?)',
      )
      .run(seq, id, seq * 100, runAt, NOW, JSON.stringify({ n: seq }))
    if (id === 'ended') continue
    handle
      .prepare(
        'insert into pawl_queue (priority, position, created_at, seq, lane_id, ready, awaits_predecessor, run_at) values (0, ?, ?, ?, 1, ?, 0, ?)',
      )
      .run(seq * 100, NOW, seq, runAt <= NOW ? 1 : 0, runAt)
  }
  handle
    .prepare(
      "insert into pawl_runs (seq, run_id, node_seq, status, started_at, finished_at, result) values (1, 'r1', 1, 'COMPLETED', ?, ?, '\"old\"')",
    )
    .run(NOW, NOW)
}

test('a database of version 1 is upgraded when it is opened; its history stays, and its jobs are executed in order', async () => {
  const path = newDatabasePath()
  withHandle(path, makeVersion1)
  const executed: unknown[] = []
  const story = defineJob({ type: 'story', run: ({ params }) => void executed.push(params) })

  await using stage = await openTestScheduler({ store: sqlite(path), clock: new SettableClock(NOW), jobs: [story] })
  const { scheduler } = stage
  const child = await scheduler.enqueue(story, { n: 4 }, { dependsOn: ['ended', 'delayed'] })
  await stage.runUntilIdle()
  expect(executed).toEqual([{ n: 2 }])
  expect(await scheduler.getJob('ended')).toMatchObject({ status: 'FINISHED', outcome: 'COMPLETED', dependsOn: [] })
  expect(await child.get()).toMatchObject({ status: 'QUEUED', hold: 'dependencies', dependsOn: ['ended', 'delayed'] })

  await stage.advance('1m')
  expect(executed).toEqual([{ n: 2 }, { n: 3 }, { n: 4 }])
  withHandle(path, (handle) => {
    expect(handle.prepare('select version from pawl_migrations order by version').all()).toEqual([
      { version: 1 },
      { version: 2 },
      { version: 3 },
      { version: 4 },
      { version: 5 },
      { version: 6 },
      { version: 7 },
    ])
    expect(handle.prepare('pragma foreign_key_check').all()).toEqual([])
  })
})

/** What version 1 and 2 made: a Job with tags that failed and was retried, and one that was cancelled. */
function makeHistory(handle: Handle): void {
  makeVersion1(handle)
  handle.exec(`update pawl_jobs set tags = '["red","blue","red"]' where job_id = 'ended'`)
  handle.exec(
    `update pawl_runs set status = 'FAILED', started_at = ${NOW + 5}, finished_at = ${NOW + 12} where seq = 1`,
  )
  handle.exec(`update pawl_jobs set cancelled_at = ${NOW + HOUR_MS}, tags = '["red"]' where job_id = 'delayed'`)
  handle.exec('delete from pawl_queue where seq = 3')
}

test('what an earlier version wrote is found by tag and type, and counted', async () => {
  const path = newDatabasePath()
  withHandle(path, makeHistory)
  const store = await sqlite(path).open()
  const jobs = async (filter: object) => {
    const { items } = await store.listJobs({ ...filter, limit: 10 }, NOW)
    return items.map(({ jobId }) => jobId)
  }
  expect(await jobs({ tag: 'red' })).toEqual(['delayed', 'ended'])
  expect(await jobs({ tag: 'blue' })).toEqual(['ended'])
  expect(await jobs({ type: 'story' })).toEqual(['delayed', 'waiting', 'ended'])
  expect(await jobs({ type: 'story', status: 'QUEUED' })).toEqual(['waiting'])
  const failed = { status: 'FINISHED', outcome: 'FAILED', limit: 10 } as const
  const retryable = { kind: 'retry', mode: null, filter: failed, lastSeq: null } as const
  expect((await store.matchJobs(retryable)).items).toEqual(['ended'])
  expect((await store.listRuns({ status: 'FAILED', limit: 10 })).items).toMatchObject([{ runId: 'r1' }])
  expect(await store.readTotals()).toEqual({ executed: 1, completed: 0, failed: 1, skipped: 0, cancelled: 1 })
  expect(await store.listHours(0, 10)).toMatchObject([
    { hourAt: NOW, nodeId: null, executed: 1, failed: 1, cancelled: 0, runMs: 7, waitMs: 5 },
    { hourAt: NOW + HOUR_MS, nodeId: null, executed: 0, cancelled: 1, runMs: 0, waitMs: 0 },
  ])
  await store.close()
})
