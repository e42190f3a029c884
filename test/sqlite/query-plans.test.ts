// No hot statement may scan: what Pawl does must cost the same on an empty store and on one with millions of rows.
//
// The statements are not copied here. They are written down while a whole life is lived, and explained afterwards by
// SQLite on the same database; a statement that this life does not reach is reported, so a new one cannot slip by.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineJob, NonRetryableError, type StoreSource } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler, SettableClock } from 'pawl/testing'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Explained, explain, harmfulScans, isHarmlessScan, oneLine, SORT } from './harmless-scans.ts'
import { examineAndMend } from './life-of-doctor.ts'
import { readDoors, useDoors } from './life-of-doors.ts'
import { liveWithLists, readLists } from './life-of-lists.ts'
import { liveWithTriggers, readTriggers, triggerTypes } from './life-of-triggers.ts'
import { newDatabasePath, recordStatements, withHandle } from './stage.ts'

type Store = Awaited<ReturnType<StoreSource['open']>>

let explained: readonly Explained[] = []
/** As SQLite was given them. */
let recorded: readonly string[] = []
/** Statements of the doctor, which reads everything: in pages, on a connection of its own, and only when a person asks. */
let examinations: ReadonlySet<string> = new Set()

beforeAll(async () => {
  const path = newDatabasePath()
  const recording = recordStatements()
  const source = sqlite(path, { driver: recording.driver, durability: 'process' })
  const clock = new SettableClock()
  await liveAWholeLife(source, clock, path)
  await readHistory(source, clock)
  await makeSureOfRows(path)
  const daily = new Set(recording.executed.keys())
  await examineAndMend(source, clock, path)
  examinations = new Set([...recording.executed.keys()].filter((sql) => !daily.has(sql)).map(oneLine))
  recorded = [...recording.executed.keys()]
  explained = explain(
    path,
    [...recording.executed].filter(([sql]) => !/^\s*pragma/i.test(sql)),
  )
}, 120_000)

// Everything that happens to Jobs, on some thousand of them: queued, delayed, finished, failed, with and without keys.
async function liveAWholeLife(source: StoreSource, clock: SettableClock, path: string): Promise<void> {
  const store = await source.open()
  await leaveADeadNode(store, clock)
  const quick = defineJob({ type: 'quick', run: ({ params }) => params })
  const busy = defineJob({ type: 'busy', resources: ['gpu'], concurrency: 3, run: () => null })
  const talkative = defineJob({
    type: 'talkative',
    run: async ({ log, progress, addArtifact, enqueue }) => {
      log.info('hello', { n: 1 })
      progress(0.5, 'half')
      addArtifact('/tmp/a')
      await enqueue(quick, null, { idempotencyKey: 'follow-up', businessKey: 'follow-up' })
      await new Promise<void>((resolve) => clock.after(2500, resolve))
      log.info('bye')
      addArtifact('/tmp/b')
    },
  })
  const failing = defineJob({
    type: 'failing',
    run: () => {
      throw new Error('no')
    },
  })
  const stubborn = defineJob({
    type: 'stubborn',
    timeoutMs: 1000,
    run: ({ attempt }) =>
      attempt === 1
        ? new Promise<void>((resolve) => clock.after(5000, resolve))
        : Promise.reject(new NonRetryableError()),
  })
  const abortable = defineJob({
    type: 'abortable',
    run: ({ signal }) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
  })
  const command = defineJob({ type: 'command', command: [process.execPath, '-e', '0'] })
  await using stage = await openTestScheduler({
    store: { open: async () => store, inspect: () => source.inspect() },
    clock,
    jobs: [quick, busy, talkative, failing, stubborn, abortable, command, ...triggerTypes(clock)],
    webhooks: { allowPrivate: ['127.0.0.1'] },
    concurrency: 50,
    maxRunning: 200,
    resources: { gpu: 2 },
    patienceMs: 200,
  })
  const { scheduler } = stage
  scheduler.on('run.progress', () => {})

  // Thousands of ended, waiting and delayed Jobs.
  const some = (count: number, more: object = {}) =>
    Array.from({ length: count }, (_, n) => ({ type: quick, params: { n }, ...more }))
  await scheduler.enqueueMany(some(3000))
  await scheduler.enqueueMany(some(400).map((item, n) => ({ ...item, params: { n: n % 2 } })))
  await scheduler.enqueueMany(some(200).map((item, n) => ({ ...item, idempotencyKey: `i${n}`, businessKey: `b${n}` })))
  await scheduler.enqueueMany(Array.from({ length: 20 }, () => ({ type: failing, params: null })))
  await scheduler.enqueueMany(Array.from({ length: 10 }, () => ({ type: busy, params: null })))
  await stage.advance('2m')
  await scheduler.enqueueMany(some(2000, { delayMs: 86_400_000 }))
  await scheduler.enqueueMany(some(500, { delayMs: 60_000, priority: -5 }))

  // Keys, by both answers.
  await scheduler.enqueue(quick, { n: 0 }, { idempotencyKey: 'i0' })
  const held = await scheduler.enqueue(quick, null, { businessKey: 'held', delayMs: 86_400_000 })
  await scheduler.enqueue(quick, null, { businessKey: 'held' }).catch(() => {})

  // Reports, a timeout with a body that goes on, a retry that waits for it.
  const stuck = await scheduler.enqueue(stubborn, null, { businessKey: 'stuck' })
  await scheduler.enqueue(talkative, null)
  await stage.advance('10s')
  await stage.advance('1m')
  await scheduler.retry((await stuck.settled()).jobId).catch(() => {})
  await stage.advance('2m')

  // Cancels of every kind.
  await held.cancel()
  const aborted = await scheduler.enqueue(abortable, null)
  await stage.runUntilIdle()
  await aborted.cancel({ mode: 'abort' })
  await aborted.cancel({ mode: 'abort' })
  await stage.advance('2s')
  await scheduler.cancel(aborted.jobId).catch(() => {})

  // Retries by hand: made due, created, refused, by Run.
  const failed = await scheduler.enqueue(failing, null, { businessKey: 'failed' })
  await stage.advance('1s')
  await scheduler.retry(failed.jobId)
  await stage.advance('5m')
  const last = await failed.settled()
  const run = await scheduler.findRunOfJob(last.jobId)
  await scheduler.retry(failed.jobId).catch(() => {})
  await scheduler.retry({ runId: run?.runId ?? '' })
  await stage.advance('5m')

  // Moves, with used-up gaps.
  await scheduler.stop()
  const [a, b, c] = await scheduler.enqueueMany([
    { type: quick, params: null, priority: 7 },
    { type: quick, params: null, priority: 7 },
    { type: quick, params: null, priority: 7 },
  ])
  for (let round = 0; round < 12; round++) {
    await scheduler.move(c.jobId, { after: a.jobId })
    await scheduler.move(b.jobId, { after: a.jobId })
    await scheduler.move(b.jobId, { before: c.jobId })
  }
  await scheduler.move(c.jobId, { to: 'front' })
  await scheduler.move(c.jobId, { to: 'back' })
  await scheduler.reprioritise(c.jobId, 8)
  await store.normalisePositions(7)
  await useDoors(scheduler, store, clock)

  // What nobody does every day: limits, pruning, a late finish, a child, damage, the end of a node.
  await scheduler.setLimit('running', null)
  await scheduler.setLimit('running', 500)
  await scheduler.start()
  await stage.runUntilIdle()
  await (await scheduler.enqueue(command, null)).settled()
  await liveWithTriggers(stage, store, clock)
  await liveWithLists(stage, store, clock)
  await scheduler.prune({ olderThanMs: 60_000, dryRun: true })
  await scheduler.prune({ olderThanMs: 60_000 })
  await scheduler.enqueueMany(some(2000))
  await stage.runUntilIdle()
  await store.pruneEvents(clock.now() - 3_600_000, 1000)
  await store.lastEventSeq()
  await store.findTypes()
  await store.readEvents(0, 50)
  await scheduler.stop()
  await repairDamage(store, clock, path)
}

/** A node that was registered, claimed, and died: it never began a life that anybody could see. */
async function leaveADeadNode(store: Store, clock: SettableClock): Promise<void> {
  const node = {
    name: 'dead',
    host: 'h',
    pid: 1,
    types: ['quick'],
    concurrency: 5,
    startedAt: clock.now(),
    claims: true,
  }
  await store.registerNode({ ...node, nodeId: 'dead' })
  await enqueuePlain(store, clock, ['d1', 'd2', 'd3'])
  const { jobs } = await claimAs(store, clock, 'dead', 3)
  const [first, second, third] = jobs
  if (first === undefined || second === undefined || third === undefined)
    throw new Error('Three Jobs were to be claimed.')
  await store.recordReports(
    [{ claim: first.claim, report: { progress: null, logs: [], artifacts: [], logsDropped: 1 } }],
    clock.now(),
  )
  const finish = {
    job: second,
    by: 'dead',
    outcome: { status: 'FAILED', reason: 'timeout', error: '', stack: null, exitCode: null },
    finishedAt: clock.now(),
    retry: null,
    followUps: [],
    report: { progress: null, logs: [], artifacts: [], logsDropped: 0 },
    body: 'executing',
  } as const
  await store.finishRuns([finish], () => 'never')
  await store.finishRuns([finish], () => 'never')
  expect(await store.removeNode('dead', clock.now())).toBe('occupied')
  await store.recordReports(
    [{ claim: second.claim, report: { progress: null, logs: [], artifacts: [], logsDropped: 1 } }],
    clock.now(),
  )
}

async function enqueuePlain(store: Store, clock: SettableClock, ids: readonly string[]): Promise<void> {
  const retry = { maxRetries: 3, maxCrashRetries: 3, backoff: { kind: 'none' } } as const
  await store.enqueueJobs(
    ids.map((jobId) => ({
      jobId,
      type: 'quick',
      name: null,
      params: 'null',
      priority: 100,
      runAt: null,
      policy: { retry, timeoutMs: null, resources: [] },
      tags: [],
      createdBy: null,
      businessKey: null,
      idempotency: null,
      templateId: null,
      scheduleId: null,
      slotAt: null,
      dependsOn: [],
      onParentFailure: 'cancel' as const,
      webhookUrl: null,
    })),
    clock.now(),
  )
}

function claimAs(store: Store, clock: SettableClock, nodeId: string, limit: number) {
  let runs = 0
  const newRunId = () => `${nodeId}-run-${++runs}`
  return store.claimJobs({ nodeId, now: clock.now(), limit, types: new Map([['quick', limit]]), newRunId })
}

/** Damage that only a hand from outside can do, and its repair. */
async function repairDamage(store: Store, clock: SettableClock, path: string): Promise<void> {
  const node = { name: 'late', host: 'h', pid: 1, types: [], concurrency: 1, startedAt: clock.now(), claims: true }
  await store.registerNode({ ...node, nodeId: 'late' })
  await enqueuePlain(store, clock, ['x1', 'x2', 'x3'])
  const [claimed] = (await claimAs(store, clock, 'late', 1)).jobs
  if (claimed === undefined) throw new Error('A Job was to be claimed.')
  const { jobId } = claimed.claim
  withHandle(path, (handle) => {
    handle.exec(`pragma foreign_keys = off`)
    handle.exec(`delete from pawl_occupancies where seq = ${claimed.claim.ref}`)
    handle.exec(`delete from pawl_runs where seq = ${claimed.claim.ref}`)
  })
  const outcome = { status: 'FAILED', reason: 'crash', error: '', stack: null, exitCode: null } as const
  const counts = { errorRetries: 0, crashRetries: 1, shutdownRetries: 0 }
  const now = clock.now()
  const retry = { jobId: 'x1-retry', runAt: now, counts }
  const found = await store.findDamage(100)
  expect(found).toMatchObject([{ kind: 'run-missing', job: { jobId } }])
  expect(
    await store.repairMissingRun({ jobId, runId: 'repair', by: 'late', outcome, retry, newId: () => 'never', now }),
  ).toBe(true)
  withHandle(path, (handle) => {
    handle.exec('pragma foreign_keys = off')
    handle.exec(`delete from pawl_queue where seq = (select seq from pawl_jobs where job_id = 'x1-retry')`)
    handle.exec(`delete from pawl_jobs where job_id = 'x1-retry'`)
  })
  expect(await store.repairMissingRetry({ jobId, retry: { ...retry, jobId: 'x1-again' }, now })).toBe(true)
  expect(await store.removeNode('late', now)).toBe('removed')
}

const STATUSES = ['QUEUED', 'RUNNING', 'FINISHED', 'CANCELLED'] as const

/** What people ask for: pages of history. */
async function readHistory(source: StoreSource, clock: SettableClock): Promise<void> {
  const store = await source.open()
  const now = clock.now()
  for (const status of [{}, ...STATUSES.map((one) => ({ status: one }))]) {
    for (const type of [{}, { type: 'quick' }]) {
      const { nextCursor } = await store.listJobs({ limit: 2, ...status, ...type }, now)
      if (nextCursor !== null) await store.listJobs({ limit: 2, ...status, ...type, cursor: nextCursor }, now)
    }
  }
  for (const status of [{}, { status: 'FAILED' as const }]) {
    const { nextCursor } = await store.listRuns({ limit: 2, ...status })
    await store.listRuns({ limit: 2, ...status, cursor: nextCursor })
  }
  await store.listRuns({ limit: 10, jobId: 'd1' })
  await store.listQueue(10, now)
  await store.readLogs('d1', 0, 10)
  await readTriggers(store, now)
  await readDoors(store)
  await readLists(store, now)
  await store.close()
}

async function makeSureOfRows(path: string): Promise<void> {
  const counts = withHandle(path, (handle) =>
    ['pawl_jobs', 'pawl_runs', 'pawl_queue', 'pawl_events'].map((table) => {
      const { n } = handle.prepare(`select count(*) as n from ${table}`).get() as { n: number }
      return [table, n] as const
    }),
  )
  for (const [table, count] of counts) expect([table, count > 50]).toEqual([table, true])
}

describe('the statements', () => {
  test('of every file in statements/ were all executed', () => {
    const executed = explained.map(({ sql }) => sql)
    const missing = constantsOfSource().filter(({ text }) => !executed.some((sql) => sql.includes(text)))
    expect(missing.map(({ name, file }) => `${name} in ${file} was never executed: extend the life above`)).toEqual([])
  })

  test('are planned once: none has a limit that SQLite looks at when it plans', () => {
    expect(recorded.filter((sql) => /limit \?(?! \+ 0)/.test(sql))).toEqual([])
  })

  test('scan no table that grows', () => {
    const asked = explained.filter(({ sql }) => !examinations.has(sql))
    expect(harmfulScans(asked)).toEqual([])
  })

  test('sort nothing but ties', () => {
    const sorts = explained
      .filter(({ sql }) => !sql.includes('row_number() over') && !isSmallSort(sql))
      .filter(({ sql }) => !examinations.has(sql))
      .flatMap(({ sql, plan }) => plan.filter((step) => SORT.test(step)).map((step) => `${step}\n    in: ${sql}`))
    expect([...new Set(sorts)]).toEqual([])
  })

  test('of lists that are read in pages look at no row that does not belong to them', () => {
    const pages = explained.filter(({ sql }) =>
      /^select (priority, position, created_at|started_at|o\.)?,? ?seq from .* limit \?( offset \?)?$/.test(sql),
    )
    expect(new Set(pages.map(({ sql }) => sql)).size).toBeGreaterThanOrEqual(17)
    const others = pages.flatMap(({ sql, plan }) =>
      plan.filter((step) => !step.startsWith('SEARCH ')).map((step) => `${step}\n    in: ${sql}`),
    )
    expect([...new Set(others)]).toEqual([])
  })

  test('build no index of their own', () => {
    const automatic = explained.filter(({ plan }) => plan.some((step) => step.includes('AUTOMATIC')))
    expect(automatic.map(({ sql }) => sql)).toEqual([])
  })
})

test('this check sees a scan: the same statement without its index fails it', () => {
  const path = newDatabasePath()
  const plan = withHandle(path, (handle) => {
    handle.exec('create table pawl_jobs (seq integer primary key, job_id text)')
    return handle.prepare('explain query plan select seq from pawl_jobs where job_id = ?').all('x')
  })
  const [step] = plan.map((row) => (row as { detail: string }).detail)
  expect(step).toBe('SCAN pawl_jobs')
  expect(isHarmlessScan('select seq from pawl_jobs where job_id = ?', step ?? '')).toBe(false)
})

/** Sorting as many rows as bodies execute, as callers wait, or as one chain has Jobs or parents, is no sorting of the queue. */
function isSmallSort(sql: string): boolean {
  if (/indexed by pawl_reservations_waiting\b/.test(sql)) return true
  return /from pawl_(occupancies|statistics)\b/.test(sql) || /from pawl_dependencies where child_seq = \?/.test(sql)
}

/** The SQL constants of the source, up to the first place where something is put in. */
function constantsOfSource(): { name: string; file: string; text: string }[] {
  const folder = fileURLToPath(new URL('../../src/stores/sqlite/', import.meta.url))
  const names = readdirSync(join(folder, 'statements'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  const files = [...names.map((name) => join('statements', name)), 'transaction.ts']
  return files.flatMap((file) => {
    const source = readFileSync(join(folder, file), 'utf8')
    const constants = [
      ...source.matchAll(/^const ([A-Z_]+)(?:: \w+)? =\s*(['"`])\s*((?:select|insert|update|delete)[\s\S]*?)\2/gm),
    ]
    return constants.map(([, name = '', , body = '']) => ({
      name,
      file: `${basename(dirname(file))}/${basename(file)}`,
      // The longest piece without an interpolation tells statements with the same beginning apart.
      text: body
        .split(/\$\{[^}]*\}/)
        .map(oneLine)
        .reduce((longest, piece) => (piece.length > longest.length ? piece : longest), ''),
    }))
  })
}
