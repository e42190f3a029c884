// The schema is there for people who query it with plain SQL: what docs/sqlite-schema.md says is held here.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { defineJob } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler, SettableClock } from 'pawl/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DatabaseSync, type Handle } from './stage.ts'

const document = readFileSync(new URL('../../docs/sqlite-schema.md', import.meta.url), 'utf8')

const folder = mkdtempSync(join(tmpdir(), 'pawl-schema-'))
const path = join(folder, 'pawl.db')
const BEGIN = Date.UTC(2026, 2, 1, 9, 30, 0, 123)

let database: Handle
let ids: { done: string; chain: string; cancelled: string; running: string; waiting: string }
let closeStage: () => Promise<void>

beforeAll(async () => {
  const greet = defineJob({
    type: 'greet',
    run: ({ params, log, progress, addArtifact }) => {
      const { name } = params as { name: string }
      log.info(`Hello, ${name}`, { name })
      progress(0.25, 'a quarter')
      addArtifact('/tmp/greeting.txt')
      return `Hello, ${name}`
    },
  })
  const failing = defineJob({ type: 'failing', retry: { maxRetries: 1 }, run: () => Promise.reject(new Error('no')) })
  const endless = defineJob({ type: 'endless', resources: ['gpu'], run: () => new Promise<void>(() => {}) })
  const stage = await openTestScheduler({
    store: sqlite(path),
    clock: new SettableClock(BEGIN),
    jobs: [greet, failing, endless],
    name: 'the node',
    concurrency: 4,
    resources: { gpu: 1 },
    logger: { info: () => {}, warn: () => {}, error: () => {} },
  })
  const { scheduler } = stage
  const done = await scheduler.enqueue(greet, { name: 'Ada' }, { tags: ['a', 'b'], createdBy: 'ada', name: 'hello' })
  const chain = await scheduler.enqueue(failing, null, { idempotencyKey: 'i' })
  const cancelled = await scheduler.enqueue(greet, { name: 'Bob' }, { delayMs: 1000 })
  await cancelled.cancel({ reason: 'not today' })
  await stage.advance('10s')
  const running = await scheduler.enqueue(endless, null, { businessKey: 'b' })
  const waiting = await scheduler.enqueue(greet, { name: 'Eve' }, { delayMs: 60_000, priority: 3 })
  await stage.runUntilIdle()
  ids = {
    done: done.jobId,
    chain: chain.jobId,
    cancelled: cancelled.jobId,
    running: running.jobId,
    waiting: waiting.jobId,
  }
  database = new DatabaseSync(path)
  closeStage = () => stage.close()
})

afterAll(async () => {
  database.close()
  await closeStage()
  rmSync(folder, { recursive: true, force: true })
})

const all = (sql: string, ...values: unknown[]) =>
  database.prepare(sql).all(...values) as Record<string, string | number | null>[]

describe('the document', () => {
  test('names every table and view with every column, and nothing else', () => {
    const documented = new Map<string, string[]>()
    for (const section of document.split(/^### /m).slice(1)) {
      const name = /^`(\w+)`/.exec(section)?.[1]
      if (name === undefined) continue
      documented.set(name, [...section.matchAll(/^\| `(\w+)`/gm)].map(([, column = '']) => column).toSorted())
    }
    const inDatabase = all(
      "select name from sqlite_schema where type in ('table', 'view') and name not like 'sqlite_%' order by name",
    ).map(({ name }) => {
      const columns = all(`select name from pragma_table_info('${name}')`).map((column) => String(column['name']))
      return [String(name), columns.toSorted()] as const
    })
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(inDatabase))
  })

  test('names every index with its columns, and nothing else', () => {
    const [, section = ''] = document.split('### Indexes')
    const documented = [...section.matchAll(/^\| `(\w+)` +\| `([^`]+)`/gm)].map(([, name, columns]) => [name, columns])
    const inDatabase = all("select name, sql from sqlite_schema where type = 'index' and sql is not null").map(
      (row) => {
        const [, columns] = /on \w+ \(([^)]*)\)/.exec(String(row['sql'])) ?? []
        return [row['name'], columns]
      },
    )
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(inDatabase))
  })

  const queries = [...document.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql = '']) => sql.trim())

  test('has queries to start from', () => expect(queries.length).toBeGreaterThan(5))

  test.each(queries.map((sql) => [sql.split('\n').slice(0, 2).join(' '), sql]))(
    'has a query that runs: %s …',
    (_, sql) => {
      for (const statement of sql.split(';').filter((text) => text.trim() !== '')) {
        // What asks for the last day by the real clock finds nothing on this one.
        expect(all(statement).length).toBeGreaterThan(statement.includes("'now'") ? -1 : 0)
      }
    },
  )
})

describe('the views', () => {
  test('show Jobs with their status and readable times', () => {
    const rows = all('select * from pawl_jobs_readable')
    const byId = new Map(rows.map((row) => [row['job_id'], row]))
    expect(byId.get(ids.done)).toMatchObject({
      job_type: 'greet',
      name: 'hello',
      status: 'FINISHED',
      outcome: 'COMPLETED',
      attempt: 1,
      chain_id: ids.done,
      params: '{"name":"Ada"}',
      tags: '["a","b"]',
      created_by: 'ada',
      created_at: '2026-03-01T09:30:00.123Z',
      started_at: '2026-03-01T09:30:00.123Z',
      finished_at: '2026-03-01T09:30:00.123Z',
    })
    expect(byId.get(ids.cancelled)).toMatchObject({
      status: 'CANCELLED',
      outcome: null,
      cancel_reason: 'not today',
      run_at: '2026-03-01T09:30:01.123Z',
      started_at: null,
      finished_at: '2026-03-01T09:30:00.123Z',
    })
    expect(byId.get(ids.running)).toMatchObject({ status: 'RUNNING', resources: '["gpu"]', finished_at: null })
    expect(byId.get(ids.waiting)).toMatchObject({ status: 'QUEUED', run_at: '2026-03-01T09:31:10.123Z' })
    expect(rows.filter((row) => row['chain_id'] === ids.chain).map((row) => row['attempt'])).toEqual([1, 2])
    expect(rows).toHaveLength(6)
  })

  test('show Runs with their times, results and errors', () => {
    const rows = all('select * from pawl_runs_readable')
    expect(rows.find((row) => row['job_id'] === ids.done)).toMatchObject({
      status: 'COMPLETED',
      result: '"Hello, Ada"',
      duration_ms: 0,
      node: 'the node',
      progress: 0.25,
      progress_message: 'a quarter',
      artifacts: '[{"name":"greeting.txt","path":"/tmp/greeting.txt"}]',
      params_snapshot: '{"name":"Ada"}',
    })
    const chain = rows.filter((row) => row['chain_id'] === ids.chain)
    expect(chain.map((row) => [row['attempt'], row['reason'], row['error'], row['will_retry']])).toEqual([
      [1, 'error', 'no', 1],
      [2, 'error', 'no', 0],
    ])
    expect(chain.map((row) => row['started_at'])).toEqual(['2026-03-01T09:30:00.123Z', '2026-03-01T09:30:10.123Z'])
  })

  test('show events one by one', () => {
    const rows = all('select * from pawl_events_readable where chain_id = ? order by seq', ids.chain)
    expect(rows.map((row) => [row['event'], row['attempt'], row['outcome']])).toEqual([
      ['job.queued', 1, null],
      ['job.started', 1, null],
      ['job.finished', 1, 'FAILED'],
      ['job.queued', 2, null],
      ['job.started', 2, null],
      ['job.finished', 2, 'FAILED'],
    ])
    expect(rows[0]).toMatchObject({ job_id: ids.chain, job_type: 'failing', at: '2026-03-01T09:30:00.123Z' })
  })

  test('show nodes and how many bodies they execute', () => {
    expect(all('select * from pawl_nodes_readable')).toMatchObject([
      { name: 'the node', pid: process.pid, concurrency: 4, bodies: 1, ended_at: null },
    ])
  })

  test('show what ended in each hour', () => {
    const ended = { completed: 1, failed: 2, skipped: 0, run_ms: 0, wait_ms: 0 }
    expect(all('select * from pawl_statistics_readable order by node')).toMatchObject([
      { hour: '2026-03-01T09:00:00Z', node: null, executed: 0, cancelled: 1 },
      { hour: '2026-03-01T09:00:00Z', node: 'the node', executed: 3, cancelled: 0, ...ended },
    ])
  })

  test('show every instant to the millisecond', () => {
    const text = database.prepare("select strftime('%Y-%m-%dT%H:%M:%fZ', ? / 1000.0, 'unixepoch') as text")
    const pattern = /strftime\('%Y-%m-%dT%H:%M:%fZ', [\w.]+ \/ 1000\.0, 'unixepoch'\)/
    expect(all("select sql from sqlite_schema where name = 'pawl_jobs_readable'")[0]?.['sql']).toMatch(pattern)
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) }), (instant) => {
        expect((text.get(instant) as { text: string }).text).toBe(new Date(instant).toISOString())
      }),
      { numRuns: 500 },
    )
  })
})

describe('the tables', () => {
  test('are strict, and keep their references', () => {
    const loose = all("select name from pragma_table_list where schema = 'main' and type = 'table' and strict = 0")
    expect(loose.map(({ name }) => name).filter((name) => !String(name).startsWith('sqlite_'))).toEqual([])
    expect(all('pragma foreign_key_check')).toEqual([])
    expect(all('pragma integrity_check')).toEqual([{ integrity_check: 'ok' }])
  })

  test('carry the mark of Pawl and their version', () => {
    expect(all('pragma application_id')).toEqual([{ application_id: 0x5061776c }])
    expect(all('pragma user_version')).toEqual([{ user_version: all('select * from pawl_migrations').length }])
  })
})
