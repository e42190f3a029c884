// Ten thousand schedules that are due in the same second hold nobody up, and schedules that wait cost nothing.
import { expect, test } from 'vitest'
import { JOBS_PER_WRITE_MAX } from '../../src/engine/schedule-page.ts'
import { defineJob } from '../../src/library/define-job.ts'
import type { Transition } from '../../src/store/events.ts'
import { type BetterSqlite3, sqlite } from '../../src/stores/sqlite/index.ts'
import { SettableClock } from '../../src/testing/index.ts'
import { DatabaseSync, type Handle, newDatabasePath, withHandle } from '../sqlite/stage.ts'
import { HOUR, openStage, SECOND, START } from './stage.ts'

const bulk = defineJob({ type: 'bulk', run: () => null })
const urgent = defineJob({ type: 'urgent', run: () => null })

/** Makes a type known that nobody handles, so that its Jobs stay where they are. */
async function makeKnown(path: string, clock: SettableClock): Promise<void> {
  const stage = await openStage({ store: sqlite(path), clock, jobs: [bulk] })
  await stage.close()
}

test('ten thousand schedules of one second: each makes its Job, and urgent Jobs start in between', {
  timeout: 120_000,
}, async () => {
  const path = newDatabasePath()
  const clock = new SettableClock(START)
  await makeKnown(path, clock)
  await using stage = await openStage({ store: sqlite(path), clock, jobs: [urgent], concurrency: 5 })
  await Promise.all(
    Array.from({ length: 10_000 }, (_, index) =>
      stage.schedules.create({
        name: `${index}`,
        type: bulk,
        cron: '@hourly',
        missed: index % 2 === 0 ? 'one' : 'all',
      }),
    ),
  )
  stage.clock.set(START + HOUR)
  // One urgent Job after the other, each as soon as the one before it has ended.
  let urgents = 0
  while (hasDue(path)) {
    await (await stage.scheduler.enqueue(urgent, null, { priority: 10 })).settled()
    urgents++
  }
  await stage.runUntilIdle()

  const commits = await readCommits(path)
  const made = commits.map((steps) => steps.filter(({ kind }) => kind === 'schedule.triggered').length)
  expect(made.reduce((sum, count) => sum + count, 0)).toBe(10_000)
  expect(Math.max(...made)).toBeLessThanOrEqual(JOBS_PER_WRITE_MAX)
  // However long the whole took: between an urgent Job and its start there were at most a few pages of slots.
  expect(urgents).toBeGreaterThan(10)
  const find = (kind: string) => {
    const isUrgent = (step: Transition) => step.kind === kind && step.type === 'urgent'
    return commits.flatMap((steps, index) => (steps.some(isUrgent) ? [index] : []))
  }
  const [queued, started] = [find('job.queued'), find('job.started')]
  expect(started).toHaveLength(urgents)
  for (const [index, from] of queued.entries()) {
    const pages = made.slice(from + 1, started[index]).filter((count) => count > 0)
    expect(pages.length).toBeLessThanOrEqual(3)
  }
})

function hasDue(path: string): boolean {
  const sql = `select 1 from pawl_schedules where next_slot_at <= ${START + HOUR} limit 1`
  return withHandle(path, (handle) => handle.prepare(sql).get() !== undefined)
}

/** All transitions, commit by commit. */
async function readCommits(path: string): Promise<(readonly Transition[])[]> {
  const store = await sqlite(path).open()
  const rows = await store.readEvents(0, 1_000_000)
  await store.close()
  return rows.map(({ transitions }) => transitions)
}

interface Counted {
  readonly driver: BetterSqlite3
  /** How often each statement was executed. */
  readonly executions: Map<string, number>
}

/** The library that Pawl uses here, where the executions of each statement are counted. */
function countStatements(): Counted {
  const executions = new Map<string, number>()
  class CountingDatabase extends (DatabaseSync as new (path: string) => Handle) {
    override prepare(sql: string): ReturnType<Handle['prepare']> {
      const statement = super.prepare(sql)
      const counted = <Answer>(execute: (...values: unknown[]) => Answer) => {
        return (...values: unknown[]): Answer => {
          executions.set(sql, (executions.get(sql) ?? 0) + 1)
          return execute.apply(statement, values)
        }
      }
      return { run: counted(statement.run), get: counted(statement.get), all: counted(statement.all) }
    }
  }
  return { driver: CountingDatabase as unknown as BetterSqlite3, executions }
}

/** What schedules that are not due cost in ten looks: how many statements, of which kinds. */
async function costOfWaiting(schedules: number): Promise<{ statements: number; sql: string[] }> {
  const path = newDatabasePath()
  const { driver, executions } = countStatements()
  await using stage = await openStage({ store: sqlite(path, { driver }), jobs: [bulk] })
  await Promise.all(
    Array.from({ length: schedules }, () => stage.schedules.create({ name: 'x', type: bulk, cron: '@yearly' })),
  )
  await stage.runUntilIdle()
  executions.clear()
  for (let looks = 0; looks < 10; looks++) await stage.advance(5 * SECOND)
  const ours = [...executions].filter(([sql]) => /pawl_(schedule|template|skipped)/.test(sql))
  return { statements: ours.reduce((sum, [, count]) => sum + count, 0), sql: ours.map(([sql]) => sql) }
}

test('schedules that wait cost two reads of an index at each look, however many there are', {
  timeout: 60_000,
}, async () => {
  const few = await costOfWaiting(1)
  const many = await costOfWaiting(2_000)
  expect(few.statements).toBe(20)
  expect(many.statements).toBe(20)
  for (const sql of many.sql) expect(sql).toMatch(/^\s*select/)
})

test('no statement that fires, changes or looks reads more than it needs', async () => {
  const path = newDatabasePath()
  const { driver, executions } = countStatements()
  await using stage = await openStage({ store: sqlite(path, { driver }), jobs: [bulk] })
  const { templateId } = await stage.templates.create({ name: 't', type: bulk })
  const overlaps = ['allow', 'skip', 'queue-one'] as const
  const made = await Promise.all(
    overlaps.map((overlap) => stage.schedules.create({ name: 'x', templateId, cron: '* * * * *', overlap })),
  )
  await stage.scheduler.enqueue(bulk, {}, { businessKey: 'b', delayMs: HOUR })
  await stage.schedules.create({ name: 'x', type: bulk, cron: '* * * * *', businessKey: 'b' })
  await stage.advance('3m')
  await stage.scheduler.stop()
  await stage.advance('10m')
  for (const { scheduleId } of made) await stage.schedules.trigger(scheduleId)
  for (const { scheduleId } of made) await stage.schedules.change(scheduleId, { name: 'y', cron: '@hourly' })
  await stage.scheduler.start()
  await stage.templates.change(templateId, { name: 'u' })
  await stage.templates.archive(templateId)
  await stage.advance('2h')
  await stage.schedules.remove(made[0]?.scheduleId ?? '')

  const ours = [...executions.keys()].filter((sql) => /pawl_(schedule|template|skipped)|slot_at = \?/.test(sql))
  expect(ours.length).toBeGreaterThan(15)
  const scans = withHandle(path, (handle) =>
    ours.flatMap((sql) => {
      const values = Array.from({ length: sql.split('?').length - 1 }, () => 1)
      const plan = handle.prepare(`explain query plan ${sql}`).all(...values) as { detail: string }[]
      return plan.filter(({ detail }) => /^SCAN |TEMP B-TREE/.test(detail)).map(({ detail }) => `${detail} in ${sql}`)
    }),
  )
  // The next slot of all is the first entry of its index.
  expect(scans.filter((scan) => !/pawl_schedules_due in .*limit 1$/s.test(scan))).toEqual([])
})
