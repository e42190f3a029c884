import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type ConcurrencyPolicy,
  defineJob,
  type EnqueueOptions,
  type Job,
  type Logger,
  openScheduler,
  type RecoveryStats,
  type Reservation,
  type RetryOptions,
  type Run,
} from 'pawl'
import type { ClaimedJob, Store } from 'pawl/store'
import { type FaultPoint, openTestScheduler, SettableClock } from 'pawl/testing'
import { expect } from 'vitest'
import { z } from 'zod'
import { storeAt, storeKind } from '../stores/package-stores.ts'
import { SharedDatabase } from '../stores/shared-database.ts'
import { type Exit, runScript } from './processes.ts'

export const SECOND = 1_000

/** What recovery writes as the error of a Run whose process is gone. */
export const CRASH_ERROR = 'Crash recovery: the process that executed this job ended before the job did.'

export const NOTHING_RECOVERED: RecoveryStats = {
  runningJobsRecovered: 0,
  reservationsExpired: 0,
  retriesCreated: 0,
  jobGroupsRecovered: 0,
  errors: [],
}

/**
 * The write after this one at which a process is killed. On SQLite each in turn; on a server, where every process takes
 * longer to come to it, and where `npm run torture -- sweep` breaks off at each, fewer and fewer.
 */
export function nextWrite(write: number): number {
  return storeKind === 'sqlite' ? write + 1 : write * 3
}

/** How many of those kills there must have been at least: on a server much is one statement. */
export const KILLS_MIN = storeKind === 'sqlite' ? 3 : 1

const CRASH = new URL('./fixtures/crash.mjs', import.meta.url)

/** The file itself says what each of these means. */
export interface CrashPlan {
  readonly enqueue?: readonly string[]
  readonly retry?: RetryOptions
  readonly body?: 'return' | 'throw' | 'enqueue' | 'die'
  readonly bodies?: number
  readonly concurrency?: number
  readonly arm?: 'enqueue' | 'claim' | 'body' | FaultPoint
  readonly at?: FaultPoint
  readonly nth?: number
}

/** Warnings and errors are what these tests are about; they need not be printed. */
export const SILENT: Logger = { info() {}, warn() {}, error() {} }

/** One database, and the processes that open it one after the other. Its clock stands still unless a test moves it. */
export class Scene {
  readonly database = new SharedDatabase()
  readonly clock = new SettableClock(Date.now())
  /** The bodies that were executed, in order, as `name attempt`. */
  readonly executed: string[] = []
  readonly #work = defineJob({
    type: 'work',
    params: z.string(),
    run: ({ params, attempt }) => void this.executed.push(`${params} ${attempt}`),
  })

  /** Accepts one Job for each name. Their type allows three retries and three retries after crashes. */
  async enqueue(names: readonly string[], options: EnqueueOptions = {}): Promise<string[]> {
    await using scheduler = await this.#open()
    const handles = await scheduler.enqueueMany(
      names.map((name) => ({ type: this.#work, params: name, name, ...options })),
    )
    return handles.map(({ jobId }) => jobId)
  }

  /** A node claims these Jobs from the head of the queue and dies. */
  async crashAfterClaiming(
    count: number,
    andThen: (store: Store, claimed: readonly ClaimedJob[], nodeId: string) => Promise<unknown> = async () => {},
  ): Promise<readonly ClaimedJob[]> {
    const store = await storeAt(this.database.address).open()
    const nodeId = randomUUID()
    const now = this.clock.now()
    const life = await store.liveness.begin(nodeId)
    const rest = { types: ['work'], concurrency: count, startedAt: now, claims: true }
    await store.registerNode({ nodeId, name: 'the dead', host: 'house', pid: 4_711, ...rest })
    const types = new Map([['work', count]])
    const { jobs: claimed } = await store.claimJobs({ nodeId, now, limit: count, types, newRunId: randomUUID })
    await andThen(store, claimed, nodeId)
    await life.end()
    await store.close()
    return claimed
  }

  /** A process executes the head of the queue, and the body fails. */
  async failAfterClaiming(): Promise<void> {
    const fail = defineJob({
      type: 'work',
      run: () => {
        throw new Error('no')
      },
    })
    const options = {
      store: storeAt(this.database.address),
      clock: this.clock,
      jobs: [fail],
      concurrencyPolicy: claimOnce(),
    }
    await using process = await openTestScheduler(options)
    await process.runUntilIdle()
  }

  /**
   * A real process works on this database as the plan says, and is killed by SIGKILL at the place that the plan names.
   * `exited`: it never came to that place, and left in good order.
   */
  async crash(plan: CrashPlan): Promise<'killed' | 'exited'> {
    const { address, folder } = this.database
    const { exit } = await runScript(CRASH, { store: address, folder, ...plan })
    await this.database.outlives()
    this.clock.set(Date.now())
    expect(exit).toSatisfy((how: Exit) => how === 'SIGKILL' || how === 0)
    return exit === 'SIGKILL' ? 'killed' : 'exited'
  }

  /** The bodies that killed processes began, as `name attempt`. */
  get begun(): string[] {
    const log = join(this.database.folder, 'begun.log')
    if (!existsSync(log)) return []
    const lines = readFileSync(log, 'utf8').trimEnd().split('\n')
    return lines.map((line) => (JSON.parse(line) as (string | number)[]).join(' '))
  }

  /** A new process starts and recovers. It handles no type, so that what recovery left can be looked at. */
  async recover(): Promise<RecoveryStats> {
    await using scheduler = await openScheduler({
      store: storeAt(this.database.address),
      clock: this.clock,
      logger: SILENT,
    })
    return await scheduler.start()
  }

  /** Recovers twice: the second time nothing is found and not one row changes. Returns what the first found. */
  async recoverTwice(): Promise<RecoveryStats> {
    const stats = await this.recover()
    await this.database.isSound()
    const tables = await this.database.tables()
    expect(await this.recover()).toEqual(NOTHING_RECOVERED)
    expect(await this.database.tables()).toEqual(tables)
    return stats
  }

  /** All Jobs and Runs, in the order of their making. */
  async read(): Promise<{ readonly jobs: readonly Job[]; readonly runs: readonly Run[] }> {
    await using scheduler = await this.#open()
    const jobs = (await scheduler.listJobs({ limit: 200 })).items.toReversed()
    const runs = (await scheduler.listRuns({ limit: 200 })).items.toReversed()
    return { jobs, runs }
  }

  /** All reservations, in the order of their making. */
  async reservations(): Promise<readonly Reservation[]> {
    await using scheduler = await this.#open()
    return (await scheduler.listReservations({ limit: 200 })).items.toReversed()
  }

  /** A process executes everything that is due now, one after the other. */
  async executeDue(): Promise<void> {
    await using process = await openTestScheduler({
      store: storeAt(this.database.address),
      clock: this.clock,
      jobs: [this.#work],
    })
    await process.runUntilIdle()
  }

  #open() {
    return openScheduler({ store: storeAt(this.database.address), clock: this.clock, jobs: [this.#work] })
  }
}

function claimOnce(): ConcurrencyPolicy {
  let isAsked = false
  return {
    decideClaims({ types }) {
      const claims = new Map(types.map((type) => [type, isAsked ? 0 : 1]))
      isAsked = true
      return claims
    },
  }
}

/**
 * A scene in which a process was killed right after a certain commit, which changed the first line of its Jobs from `before`.
 * On a server other commits of the same process are on their way as well, and another one may have come first: then the next.
 */
export async function killedAfterCommit(
  plan: CrashPlan,
  before: string,
  open: () => Promise<Scene> = async () => new Scene(),
): Promise<Scene> {
  for (let nth = 1; ; nth++) {
    const scene = await open()
    expect(await scene.crash({ ...plan, nth })).toBe('killed')
    if (storeKind === 'sqlite' || (await scene.database.jobs())[0] !== before) return scene
  }
}

/** The Job as it is once its Run has failed in a crash. */
export function crashed(job: Job, finishedAt: number): Job {
  return { ...job, status: 'FINISHED', outcome: 'FAILED', finishedAt }
}

/** The Run as it is once recovery has ended it. */
export function endedByCrash(run: Run, finishedAt: number, willRetry = true): Run {
  const durationMs = finishedAt - run.startedAt
  return { ...run, status: 'FAILED', reason: 'crash', finishedAt, durationMs, error: CRASH_ERROR, willRetry }
}

/** The retry of a Job that was lost in its chain's first crash: all of it copied, also its place, and due at once. */
export function firstCrashRetry(lost: Job, now: number): Job {
  return {
    ...lost,
    jobId: expect.any(String) as unknown as string,
    status: 'QUEUED',
    hold: null,
    outcome: null,
    attempt: lost.attempt + 1,
    retryOf: lost.jobId,
    counts: { ...lost.counts, crashRetries: lost.counts.crashRetries + 1 },
    idempotencyKey: null,
    createdAt: now,
    queuedAt: now,
    runAt: now,
    startedAt: null,
    finishedAt: null,
  }
}
