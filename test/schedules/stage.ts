import { PawlError } from '../../src/domain/errors.ts'
import type { Job } from '../../src/domain/job.ts'
import type { Schedule } from '../../src/domain/schedule.ts'
import { defineJob } from '../../src/library/define-job.ts'
import type { Scheduler } from '../../src/library/scheduler.ts'
import type { Logger } from '../../src/platform/logger.ts'
import { openTestScheduler, SettableClock, type TestSchedulerOptions } from '../../src/testing/index.ts'
import { newSharedStore } from '../stores/source-stores.ts'

export { newSharedStore, onlyOnSqlite, plainSql, storeKind } from '../stores/source-stores.ts'

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE

/** Where the clock of every test begins: the first second of 2026. */
export const START = Date.UTC(2026, 0, 1)

/** A type whose bodies end at once. */
export const report = defineJob({ type: 'report', run: () => 'done' })

/** A scheduler on a virtual clock, on a store of its own, so that tests can look at it with plain SQL. */
export async function openStage(options: TestSchedulerOptions = {}) {
  const { store = newSharedStore(), clock = new SettableClock(START), ...rest } = options
  const logger = listeningLogger()
  const test = await openTestScheduler({ store, clock, jobs: [report], logger, ...rest })
  const { schedules, templates } = test.scheduler
  return { ...test, store, clock, logger, schedules, templates }
}

export type OpenStage = Awaited<ReturnType<typeof openStage>>

/** All Jobs of a schedule, oldest first. */
export async function jobsOf(scheduler: Scheduler, { scheduleId }: Pick<Schedule, 'scheduleId'>): Promise<Job[]> {
  const jobs: Job[] = []
  let cursor: string | null = null
  do {
    const page = await scheduler.listJobs({ limit: 200, cursor })
    jobs.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== null)
  return jobs.filter((job) => job.scheduleId === scheduleId).toReversed()
}

/** The slots for which a schedule made Jobs, as time since the start of the test, oldest Job first. */
export async function slotsOf(
  scheduler: Scheduler,
  schedule: Pick<Schedule, 'scheduleId'>,
): Promise<(number | null)[]> {
  const jobs = await jobsOf(scheduler, schedule)
  return jobs.filter(({ attempt }) => attempt === 1).map(({ slotAt }) => (slotAt === null ? null : slotAt - START))
}

/** What made no Job, oldest first, as `reason first–last ×count` in seconds since the start of the test. */
export async function skipsOf(scheduler: Scheduler, { scheduleId }: Pick<Schedule, 'scheduleId'>): Promise<string[]> {
  const { items } = await scheduler.schedules.listSkipped(scheduleId)
  const since = (at: number) => (at - START) / SECOND
  return items
    .toReversed()
    .map(
      ({ reason, firstSlotAt, lastSlotAt, count }) => `${reason} ${since(firstSlotAt)}–${since(lastSlotAt)} ×${count}`,
    )
}

/** The refusal that this call must end with. Any other error, and none at all, fails the test. */
export async function refusalOf(call: Promise<unknown> | (() => unknown)): Promise<PawlError> {
  try {
    await (typeof call === 'function' ? call() : call)
  } catch (error) {
    if (error instanceof PawlError) return error
    throw error
  }
  throw new Error('Expected a PawlError, but the call was not refused.')
}

export interface Told {
  readonly level: 'info' | 'warn' | 'error'
  readonly fields: Readonly<Record<string, unknown>>
  readonly message: string
}

/** A logger that remembers what an operator would have been told. */
export function listeningLogger(): Logger & { readonly told: Told[] } {
  const told: Told[] = []
  return {
    told,
    info: (fields, message) => void told.push({ level: 'info', fields, message }),
    warn: (fields, message) => void told.push({ level: 'warn', fields, message }),
    error: (fields, message) => void told.push({ level: 'error', fields, message }),
  }
}
