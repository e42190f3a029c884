// What happened stays readable until a retention policy says otherwise, and can be copied while work goes on.
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { describe, expect, test } from 'vitest'
import {
  newDatabasePath,
  newGate,
  newSharedStore,
  onlyOnSqlite,
  openHandle,
  openTestScheduler,
  plainSql,
  refusalOf,
  storeKind,
} from './stage.ts'

const note = defineJob({
  type: 'note',
  run: ({ log }) => {
    log.info('written')
    return 'noted'
  },
})
const failing = defineJob({ type: 'failing', run: () => Promise.reject(new Error('no')) })

const testFiles = onlyOnSqlite('it is about files')

describe('reading', () => {
  test('lists Jobs and Runs newest first, page by page, by status and type', async () => {
    await using stage = await openTestScheduler({ jobs: [note, failing] })
    const { scheduler } = stage
    const notes = await scheduler.enqueueMany(Array.from({ length: 5 }, () => ({ type: note, params: null })))
    await scheduler.enqueue(failing, null, { retry: { maxRetries: 0 } })
    await stage.runUntilIdle()
    await scheduler.enqueue(note, null, { delayMs: 1000, name: 'waiting' })
    const newestFirst = notes.map(({ jobId }) => jobId).toReversed()

    const first = await scheduler.listJobs({ type: 'note', status: 'FINISHED', limit: 3 })
    const second = await scheduler.listJobs({ type: 'note', status: 'FINISHED', limit: 3, cursor: first.nextCursor })
    expect([...first.items, ...second.items].map(({ jobId }) => jobId)).toEqual(newestFirst)
    expect(second.nextCursor).toBeNull()
    expect((await scheduler.listJobs({ status: 'QUEUED' })).items).toMatchObject([{ name: 'waiting' }])
    expect((await scheduler.listRuns({ status: 'COMPLETED' })).items.map(({ jobId }) => jobId)).toEqual(newestFirst)
    const runs = await scheduler.listRuns({ status: 'COMPLETED', limit: 3 })
    const moreRuns = await scheduler.listRuns({ status: 'COMPLETED', limit: 3, cursor: runs.nextCursor })
    expect([...runs.items, ...moreRuns.items].map(({ jobId }) => jobId)).toEqual(newestFirst)
    expect(moreRuns.nextCursor).toBeNull()
    expect((await scheduler.listRuns({ status: 'FAILED' })).items).toMatchObject([{ type: 'failing' }])
    expect((await scheduler.listRuns({ jobId: newestFirst[2] ?? '' })).items).toHaveLength(1)
  })

  test('of an id that is not there says so', async () => {
    await using stage = await openTestScheduler({ jobs: [note] })
    const { scheduler } = stage
    expect(await refusalOf(scheduler.getJob('nobody'))).toMatchObject({ code: 'job_not_found' })
    expect(await refusalOf(scheduler.getChain('nobody'))).toMatchObject({ code: 'job_not_found' })
    expect(await refusalOf(scheduler.findRunOfJob('nobody'))).toMatchObject({ code: 'job_not_found' })
    expect(await refusalOf(scheduler.getRun('nobody'))).toMatchObject({ code: 'run_not_found' })
    expect(await refusalOf(scheduler.readLogs('nobody'))).toMatchObject({ code: 'run_not_found' })
  })
})

describe('prune', () => {
  test('removes chains that settled long enough ago, with their Runs and logs, and nothing else', async () => {
    const store = newSharedStore()
    await using stage = await openTestScheduler({ store, jobs: [note, failing] })
    const { scheduler } = stage
    const old = await scheduler.enqueue(note, null)
    const oldChain = await scheduler.enqueue(failing, null)
    await stage.advance('1h')
    const young = await scheduler.enqueue(note, null)
    await stage.advance('30m')
    const oldRun = await scheduler.findRunOfJob(old.jobId)

    expect(await scheduler.prune({ olderThanMs: 45 * 60_000 })).toEqual({
      jobsRemoved: 5,
      groupsRemoved: 0,
      reservationsRemoved: 0,
      auditRemoved: 0,
      operationsRemoved: 0,
    })

    expect(await refusalOf(old.get())).toMatchObject({ code: 'job_not_found' })
    expect(await refusalOf(oldChain.get())).toMatchObject({ code: 'job_not_found' })
    expect(await refusalOf(scheduler.getRun(oldRun?.runId ?? ''))).toMatchObject({ code: 'run_not_found' })
    expect((await young.get()).outcome).toBe('COMPLETED')
    expect(await plainSql(store, 'select count(*) as n from pawl_run_logs')).toEqual([{ n: 1 }])
    expect(await plainSql(store, 'select count(*) as n from pawl_runs')).toEqual([{ n: 1 }])
    if (storeKind === 'sqlite') expect(await plainSql(store, 'pragma foreign_key_check')).toEqual([])
    expect(await scheduler.prune({ olderThanMs: 45 * 60_000 })).toEqual({
      jobsRemoved: 0,
      groupsRemoved: 0,
      reservationsRemoved: 0,
      auditRemoved: 0,
      operationsRemoved: 0,
    })
  })

  test('never removes a live chain, however old: waiting, executing, or between two attempts', async () => {
    const gate = newGate()
    const slow = defineJob({ type: 'slow', run: () => gate.passed })
    const rare = defineJob({
      type: 'rare',
      retry: { backoff: { kind: 'fixed', delayMs: 86_400_000 } },
      run: () => Promise.reject(new Error('tomorrow')),
    })
    await using stage = await openTestScheduler({ jobs: [slow, note, rare], concurrency: 2 })
    const { scheduler } = stage
    const live = [
      await scheduler.enqueue(slow, null),
      await scheduler.enqueue(note, null, { delayMs: 86_400_000 }),
      await scheduler.enqueue(rare, null),
    ]
    await stage.advance('1h')
    expect(await scheduler.prune({ olderThanMs: 0 })).toEqual({
      jobsRemoved: 0,
      groupsRemoved: 0,
      reservationsRemoved: 0,
      auditRemoved: 0,
      operationsRemoved: 0,
    })
    for (const handle of live) await handle.get()
    gate.open()
  })

  test('does not remove a chain whose body has not ended, though its outcome is known', async () => {
    const gate = newGate()
    const stubborn = defineJob({ type: 'stubborn', timeoutMs: 1000, retry: { maxRetries: 0 }, run: () => gate.passed })
    await using stage = await openTestScheduler({ jobs: [stubborn] })
    const handle = await stage.scheduler.enqueue(stubborn, null)
    await stage.advance('1m')
    expect(await handle.settled()).toMatchObject({ reason: 'timeout' })
    expect(await stage.scheduler.prune({ olderThanMs: 0 })).toEqual({
      jobsRemoved: 0,
      groupsRemoved: 0,
      reservationsRemoved: 0,
      auditRemoved: 0,
      operationsRemoved: 0,
    })
    gate.open()
    await stage.advance('1s')
    expect(await stage.scheduler.prune({ olderThanMs: 0 })).toEqual({
      jobsRemoved: 1,
      groupsRemoved: 0,
      reservationsRemoved: 0,
      auditRemoved: 0,
      operationsRemoved: 0,
    })
  })

  test('goes through pages: thousands of old chains around live ones', async () => {
    const store = newSharedStore()
    await using stage = await openTestScheduler({
      store,
      jobs: [note],
      concurrency: 100,
    })
    const items = Array.from({ length: 1500 }, (_, index) => ({
      type: note,
      params: null,
      ...(index % 500 === 250 ? { delayMs: 86_400_000 } : {}),
    }))
    await stage.scheduler.enqueueMany(items)
    await stage.advance('1h')
    expect(await stage.scheduler.prune({ olderThanMs: 60_000 })).toEqual({
      jobsRemoved: 1497,
      groupsRemoved: 0,
      reservationsRemoved: 0,
      auditRemoved: 0,
      operationsRemoved: 0,
    })
    expect((await stage.scheduler.listJobs()).items).toHaveLength(3)
  })

  test('keeps idempotency keys: the same request is answered with the first Job, which is gone', async () => {
    await using stage = await openTestScheduler({ jobs: [note] })
    const { scheduler } = stage
    const first = await scheduler.enqueue(note, { a: 1 }, { idempotencyKey: 'k' })
    await first.settled()
    await stage.advance('1m')
    await scheduler.prune({ olderThanMs: 0 })

    const again = await scheduler.enqueue(note, { a: 1 }, { idempotencyKey: 'k' })

    expect(again).toMatchObject({ jobId: first.jobId, existed: true, pruned: true })
    expect(await refusalOf(again.get())).toMatchObject({ code: 'job_not_found' })
    expect(await refusalOf(scheduler.enqueue(note, { a: 2 }, { idempotencyKey: 'k' }))).toMatchObject({
      code: 'idempotency_key_reused',
    })
    expect((await scheduler.listJobs()).items).toEqual([])
  })

  testFiles('deletes the log files of commands, and no file outside their folder', async () => {
    const path = newDatabasePath()
    const command = defineJob({ type: 'command', command: [process.execPath, '-e', 'console.log("hello")'] })
    await using scheduler = await openScheduler({ store: sqlite(path), jobs: [command] })
    await scheduler.start()
    const handle = await scheduler.enqueue(command, null)
    const other = await scheduler.enqueue(command, null)
    await Promise.all([handle.settled(), other.settled()])
    const logPath = (await scheduler.findRunOfJob(handle.jobId))?.logPath ?? ''
    expect(existsSync(logPath)).toBe(true)
    const outside = join(dirname(path), 'outside.txt')
    writeFileSync(outside, 'mine')
    const database = openHandle(path)
    database.prepare('update pawl_runs set log_path = ? where log_path <> ?').run(outside, logPath)
    database.close()

    await scheduler.stop()
    while (Date.now() <= ((await handle.get()).finishedAt ?? 0) + 1);
    await scheduler.prune({ olderThanMs: 0 })

    expect(existsSync(logPath)).toBe(false)
    expect(existsSync(outside)).toBe(true)
  })
})

describe('backup', () => {
  testFiles('writes a complete copy while work goes on, which opens like any store', async () => {
    const path = newDatabasePath()
    const copy = join(dirname(path), 'copy.db')
    await using stage = await openTestScheduler({ store: sqlite(path), jobs: [note, failing] })
    const { scheduler } = stage
    const done = await scheduler.enqueue(note, { n: 1 })
    const chain = await scheduler.enqueue(failing, null)
    await stage.advance('1h')
    const waiting = await scheduler.enqueue(note, { n: 2 }, { delayMs: 60_000, businessKey: 'k' })

    await scheduler.backup(copy)
    const later = await scheduler.enqueue(note, null)
    await stage.runUntilIdle()

    expect(statSync(copy).mode & 0o777).toBe(0o600)
    await using restored = await openTestScheduler({ store: sqlite(copy), jobs: [note, failing], clock: stage.clock })
    for (const { jobId } of [done, chain, waiting]) {
      expect(await restored.scheduler.getChain(jobId)).toEqual(await scheduler.getChain(jobId))
    }
    const run = await scheduler.findRunOfJob(done.jobId)
    expect(await restored.scheduler.findRunOfJob(done.jobId)).toEqual(run)
    expect(await restored.scheduler.readLogs(run?.runId ?? '')).toMatchObject([{ text: 'written' }])
    expect(await refusalOf(restored.scheduler.getJob(later.jobId))).toMatchObject({ code: 'job_not_found' })

    await restored.advance('1m')
    expect((await restored.scheduler.getJob(waiting.jobId)).outcome).toBe('COMPLETED')
  })

  testFiles('can be made again and again while Jobs are accepted and executed', async () => {
    const path = newDatabasePath()
    await using scheduler = await openScheduler({ store: sqlite(path), jobs: [note], concurrency: 10 })
    await scheduler.start()
    await scheduler.enqueueMany(Array.from({ length: 1000 }, () => ({ type: note, params: 'x'.repeat(500) })))
    let isCopying = true
    const work = (async () => {
      while (isCopying) await (await scheduler.enqueue(note, null)).settled()
    })()
    try {
      for (let copy = 1; copy <= 10; copy++) await scheduler.backup(join(dirname(path), `copy-${copy}.db`))
    } finally {
      isCopying = false
      await work
    }
    for (let copy = 1; copy <= 10; copy++) {
      const handle = openHandle(join(dirname(path), `copy-${copy}.db`))
      expect(handle.prepare('pragma integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
      expect(handle.prepare('pragma foreign_key_check').all()).toEqual([])
      expect(handle.prepare('select count(*) >= 1000 as complete from pawl_jobs').get()).toEqual({ complete: 1 })
      handle.close()
    }
  })

  testFiles('of a database in memory is a file', async () => {
    const copy = newDatabasePath()
    await using scheduler = await openScheduler({ store: sqlite(':memory:'), jobs: [note] })
    const { jobId } = await scheduler.enqueue(note, null)
    await scheduler.backup(copy)
    await using restored = await openScheduler({ store: sqlite(copy) })
    expect((await restored.getJob(jobId)).status).toBe('QUEUED')
  })

  testFiles('overwrites nothing, and says when it cannot write', async () => {
    const path = newDatabasePath()
    await using scheduler = await openScheduler({ store: sqlite(':memory:'), jobs: [note] })
    writeFileSync(path, 'something of mine')
    expect(await refusalOf(scheduler.backup(path))).toMatchObject({ code: 'invalid_option' })
    expect(statSync(path).size).toBe('something of mine'.length)
    const folder = join(dirname(path), 'folder')
    mkdirSync(folder)
    expect(await refusalOf(scheduler.backup(folder))).toMatchObject({ code: 'invalid_option' })
    expect(await refusalOf(scheduler.backup(join(dirname(path), 'missing', 'copy.db')))).toMatchObject({
      code: 'database_unavailable',
    })
  })
})
