import { expect, vi } from 'vitest'
import { openScheduler } from '../../../src/library/open-scheduler.ts'
import type { Scheduler } from '../../../src/library/scheduler.ts'
import type { SchedulerOptions } from '../../../src/library/scheduler-options.ts'
import type { Logger } from '../../../src/platform/logger.ts'
import { postgres } from '../../../src/stores/postgres/index.ts'
import { type Proxy, startProxy } from '../../../torture/servers/proxy.ts'
import { holdsNoFault } from '../../stores/each-store.ts'
import { newSchema, postgresPool, postgresUrl } from '../schemas.ts'

/** How long to wait for something that comes in a moment unless it is broken. */
export const PATIENCE = { timeout: 25_000, interval: 10 }

const SILENT: Logger = { info() {}, warn() {}, error() {} }

/** The statements of a store, by what they do: as they are seen on their way to the server. */
export interface Statements {
  readonly thatMakeJobs: RegExp
  readonly thatMakeRuns: RegExp
  /** Of types that take resources or have a limit. */
  readonly thatMakeLimitedRuns: RegExp
  readonly thatEndRuns: RegExp
  readonly thatMakeSchedules: RegExp
  readonly thatMakeGroups: RegExp
}

/** One store, a network that misbehaves when it is told to, and an observer whom that does not concern. */
export class Stage implements AsyncDisposable {
  readonly schema: string
  readonly proxy: Proxy
  readonly observer: Scheduler
  readonly statements: Statements
  readonly #opened: Scheduler[] = []

  constructor(schema: string, proxy: Proxy, observer: Scheduler) {
    this.schema = schema
    this.proxy = proxy
    this.observer = observer
    this.statements = {
      thatMakeJobs: new RegExp(`insert into "${schema}"\\.jobs `),
      thatMakeRuns: new RegExp(`insert into "${schema}"\\.runs `),
      thatMakeLimitedRuns: new RegExp(`insert into "${schema}"\\.occupancies [^)]*has_permits`),
      thatEndRuns: new RegExp(`update "${schema}"\\.runs `),
      thatMakeSchedules: new RegExp(`insert into "${schema}"\\.schedules `),
      thatMakeGroups: new RegExp(`insert into "${schema}"\\.groups `),
    }
  }

  /** A scheduler by way of the proxy. Closed with the stage, when the network is well again. */
  async open(options: Omit<SchedulerOptions, 'store'> = {}): Promise<Scheduler> {
    const store = postgres(this.proxy.url, { schema: this.schema })
    const scheduler = await openScheduler({ store, logger: SILENT, shutdownTimeoutMs: 0, ...options })
    this.#opened.push(scheduler)
    return scheduler
  }

  async start(options: Omit<SchedulerOptions, 'store'>): Promise<Scheduler> {
    const scheduler = await this.open(options)
    await scheduler.start()
    return scheduler
  }

  /** The attempts of a chain, as `status outcome reason` of the Job and its Run. */
  async attemptsOf(jobId: string): Promise<string[]> {
    const { items } = await this.observer.getChain(jobId)
    const attempts = []
    for (const job of items) {
      const run = await this.observer.findRunOfJob(job.jobId)
      attempts.push([job.status, ...(run === null ? [] : [run.status ?? 'open', run.reason ?? ''])].join(' ').trim())
    }
    return attempts
  }

  /** What happened to a Job, by the events that were stored. */
  async transitionsOf(jobId: string): Promise<string[]> {
    // Readers wait for older transactions, also those of other tests on the same server.
    const hidden = 'select 1 from pawl.events where seq >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint'
    await vi.waitFor(async () => expect(await this.select(hidden)).toEqual([]), PATIENCE)
    const store = await postgres(postgresUrl(), { schema: this.schema }).open()
    try {
      const rows = await store.readEvents(0, 100_000)
      return rows.flatMap(({ transitions }) => transitions.filter((one) => one.jobId === jobId).map(({ kind }) => kind))
    } finally {
      await store.close()
    }
  }

  async select<Row = Readonly<Record<string, unknown>>>(sql: string): Promise<Row[]> {
    return (await postgresPool().query(sql.replaceAll('pawl.', `"${this.schema}".`))).rows as Row[]
  }

  async count(table: string): Promise<number> {
    const [row] = await this.select<{ count: string }>(`select count(*) from pawl.${table}`)
    return Number(row?.count)
  }

  /** Waits until no Job is QUEUED or RUNNING any more. */
  async drains(timeout = PATIENCE.timeout): Promise<void> {
    const left = async () => (await this.count('queue')) + (await this.count('occupancies'))
    await vi.waitFor(async () => expect(await left()).toBe(0), { timeout, interval: 50 })
  }

  async isSound(): Promise<void> {
    await holdsNoFault(postgres(postgresUrl(), { schema: this.schema }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.proxy.heal()
    await Promise.all([this.observer, ...this.#opened].map((scheduler) => scheduler.close()))
    await this.proxy.close()
  }
}

/** A new stage. Its observer knows the given types, so that Jobs can be enqueued before anybody executes them. */
export async function newStage(jobs: NonNullable<SchedulerOptions['jobs']>): Promise<Stage> {
  const schema = newSchema()
  const proxy = await startProxy({ url: postgresUrl() })
  const observer = await openScheduler({ store: postgres(postgresUrl(), { schema }), jobs, logger: SILENT })
  return new Stage(schema, proxy, observer)
}

/** As a caller does who must not give up, and who may ask again because of a key. */
export async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      expect(error).toMatchObject({ code: 'database_unavailable' })
    }
  }
}
