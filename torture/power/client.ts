import { type Job, type JobHandle, PawlError, type Scheduler } from 'pawl'
import type { Act, Request } from './acts.ts'
import type { QuickClock } from './quick-clock.ts'
import type { Say } from './said.ts'

/** The small part of a SQLite library that is needed to move the log into the file at a chosen moment. */
interface Database {
  exec(sql: string): unknown
  close(): void
}

const BUILT_IN_SINCE_NODE = 24

/** Whatever of this process was to be written before has been written after so many commits. */
const COMMITS_BETWEEN = 3

/** On a sound disk nobody is told of these, nor of errors that are none of Pawl's. */
const TROUBLE = /^(database_|storage_|store_|internal_)/

export interface ClientParts {
  readonly scheduler: Scheduler
  readonly clock: QuickClock
  readonly say: Say
  readonly path: string
  readonly webhookUrl: string
  /**
   * Only what ended before this instant may be pruned. An end is stamped before it is committed, so where other processes
   * write too, or a commit may have to wait, nobody can tell what has ended later. Null: this process is alone and sound.
   */
  readonly prunesBefore: number | null
  /** The disk failed, or Pawl did. */
  readonly troubled: (act: Act, error: unknown) => void
}

/** Does what it is told, and says outside what it asks for and what it is answered. */
export class Client {
  readonly #parts: ClientParts
  readonly #openDatabase: () => Database
  #database: Database | null = null
  readonly #jobs = new Map<number, string>()
  /** Of chains that did not complete. */
  readonly #failed: string[] = []
  readonly #schedules: string[] = []
  #cancels = 0

  private constructor(parts: ClientParts, openDatabase: () => Database) {
    this.#parts = parts
    this.#openDatabase = openDatabase
  }

  static async open(parts: ClientParts): Promise<Client> {
    // The library that Pawl uses itself: two of them in one process would lose each other's locks.
    const isBuiltIn = Number(process.versions.node.split('.')[0]) >= BUILT_IN_SINCE_NODE
    const { DatabaseSync } = (await import(isBuiltIn ? 'node:sqlite' : '@photostructure/sqlite')) as {
      DatabaseSync: new (path: string) => Database
    }
    return new Client(parts, () => new DatabaseSync(parts.path))
  }

  close(): void {
    this.#database?.close()
  }

  /** Refusals are right: what an act is about may have ended, or never been accepted. Trouble is for others to judge. */
  async perform(act: Act): Promise<void> {
    try {
      await this.#perform(act)
    } catch (error) {
      const isRefusal = error instanceof PawlError && !TROUBLE.test(error.code)
      if (!isRefusal) this.#parts.troubled(act, error)
    }
  }

  async #perform(act: Act): Promise<void> {
    const { scheduler, say, webhookUrl } = this.#parts
    switch (act.kind) {
      case 'one': {
        const { request, key, businessKey } = act
        say({ is: 'asked', orders: [request.order] })
        const options = { ...this.#options(request), ...(key === undefined ? {} : { idempotencyKey: key }) }
        const keys = businessKey === undefined ? {} : { businessKey }
        const handle = await scheduler.enqueue(request.type, request.order, { ...options, ...keys })
        return this.#accepted(request, handle, key ?? null)
      }
      case 'many':
        return this.#many(act.requests)
      case 'group':
        return this.#group(act)
      case 'cancel': {
        const jobId = this.#job(act.n)
        const id = `${process.pid}-${++this.#cancels}`
        say({ is: 'cancelling', jobId, id })
        const { kind } = await scheduler.cancel(jobId, { mode: act.mode })
        return say({ is: 'cancelled', jobId, id, kind })
      }
      case 'retry':
        return this.#retry(this.#failed.shift() ?? this.#job(act.n))
      case 'edit': {
        const jobId = this.#job(act.n)
        say({ is: 'asked', orders: [act.order] })
        say({ is: 'editing', jobId, order: act.order })
        await scheduler.edit(jobId, { params: act.order })
        return say({ is: 'edited', jobId, order: act.order })
      }
      case 'direct': {
        say({ is: 'asked', orders: [act.order] })
        const { reservationId, result } = await scheduler.runDirect('plain', act.order)
        return say({ is: 'direct', reservationId, result })
      }
      case 'schedule': {
        const order = { n: act.n, does: 'completes' } as const
        say({ is: 'asked', orders: [order] })
        const name = `schedule-${act.n}`
        const schedule = await scheduler.schedules.create({
          name,
          type: 'plain',
          everyMs: 1_000,
          paramOverrides: order,
        })
        this.#schedules.push(schedule.scheduleId)
        return say({ is: 'schedule', scheduleId: schedule.scheduleId })
      }
      case 'trigger': {
        const scheduleId = this.#schedules.at(-1)
        if (scheduleId !== undefined) await scheduler.schedules.trigger(scheduleId)
        return
      }
      case 'end-schedule': {
        const scheduleId = this.#schedules.shift()
        if (scheduleId === undefined) return
        say({ is: 'ending-schedule', scheduleId })
        return scheduler.schedules.remove(scheduleId)
      }
      case 'webhook': {
        const { webhookId } = await scheduler.webhooks.create({ url: webhookUrl, jobTypes: ['told'] })
        return say({ is: 'webhook', webhookId })
      }
      case 'prune':
        return this.#prune()
      case 'checkpoint':
        return this.#checkpoint(act.mode)
    }
  }

  async #retry(jobId: string): Promise<void> {
    const { scheduler, say } = this.#parts
    const { items } = await scheduler.getChain(jobId)
    say({ is: 'retrying', jobId })
    try {
      const { jobId: newJobId } = await scheduler.retry(items.at(-1)?.jobId ?? jobId)
      say({ is: 'retried', jobId, newJobId })
    } catch (error) {
      say({ is: 'retried', jobId, newJobId: null })
      throw error
    }
    this.#follow(jobId)
  }

  async #many(requests: readonly Request[]): Promise<void> {
    const { scheduler, say } = this.#parts
    const inList = new Set(requests.map(({ order }) => order.n))
    say({ is: 'asked', orders: requests.map(({ order }) => order) })
    const handles = await scheduler.enqueueMany(
      requests.map((request) => {
        const isLocal = request.parent !== undefined && inList.has(request.parent)
        const dependsOn = isLocal ? { dependsOn: [`#${request.parent}`] } : {}
        return {
          type: request.type,
          params: request.order,
          ref: `${request.order.n}`,
          ...this.#options(request),
          ...dependsOn,
        }
      }),
    )
    requests.forEach((request, index) => this.#accepted(request, handles[index] as JobHandle, null))
  }

  async #group(act: Act & { readonly kind: 'group' }): Promise<void> {
    const { scheduler, say } = this.#parts
    const { mode, onFailure, requests } = act
    say({ is: 'asked', orders: requests.map(({ order }) => order) })
    const jobs = requests.map(({ type, order }) => ({ type, params: order }))
    const group = await scheduler.groups.create({ name: 'group', mode, onFailure, jobs })
    const { groupId } = group
    say({ is: 'group', groupId, jobIds: group.jobs.map(({ jobId }) => jobId) })
    requests.forEach((request, index) => this.#accepted(request, group.jobs[index] as JobHandle, null))
    group.settled().then(
      ({ status }) => say({ is: 'group-settled', groupId, status }),
      () => {},
    )
  }

  /** Parents whose ids are not known here, because another process was answered, are left out. */
  #options({ delayMs, priority, parent }: Request) {
    const parentId = parent === undefined ? undefined : this.#jobs.get(parent)
    return {
      ...(delayMs === undefined ? {} : { delayMs }),
      ...(priority === undefined ? {} : { priority }),
      ...(parentId === undefined ? {} : { dependsOn: [parentId] }),
    }
  }

  #accepted({ type, order }: Request, { jobId, pruned }: JobHandle, key: string | null): void {
    if (pruned) return
    this.#parts.say({ is: 'accepted', n: order.n, type, jobId, key })
    this.#jobs.set(order.n, jobId)
    this.#follow(jobId)
  }

  /** Says when its chain has ended. */
  #follow(jobId: string): void {
    const { scheduler, say } = this.#parts
    scheduler.settled(jobId).then(
      ({ outcome, attempts, result }) => {
        say({ is: 'settled', jobId, outcome, attempts, result })
        if (outcome === 'FAILED' || outcome === 'CANCELLED') this.#failed.push(jobId)
      },
      // The scheduler was closed before, or the chain was pruned.
      () => {},
    )
  }

  /** What has ended is read before, so that whoever reads the trace knows what may be gone from now on. */
  async #prune(): Promise<void> {
    const { scheduler, clock, say, prunesBefore } = this.#parts
    const before = prunesBefore ?? clock.now()
    for (let left = COMMITS_BETWEEN; left > 0; left--) await scheduler.setLimit('resource:none', left)
    const isEnded = ({ status }: Job) => status === 'FINISHED' || status === 'CANCELLED'
    const ended = (await this.#allJobs()).filter(isEnded).map(({ jobId }) => jobId)
    say({ is: 'pruning', ended })
    await clock.hold(before, () => scheduler.prune({ olderThanMs: 0 }))
    const left = new Set((await this.#allJobs()).map(({ jobId }) => jobId))
    say({ is: 'pruned', gone: ended.filter((jobId) => !left.has(jobId)) })
  }

  async #allJobs(): Promise<Job[]> {
    const jobs: Job[] = []
    let cursor: string | null = null
    do {
      const page: Awaited<ReturnType<Scheduler['listJobs']>> = await this.#parts.scheduler.listJobs({
        limit: 200,
        cursor,
      })
      jobs.push(...page.items)
      cursor = page.nextCursor
    } while (cursor !== null)
    return jobs
  }

  #checkpoint(mode: string): void {
    try {
      this.#database ??= this.#openDatabase()
      // As Pawl itself does: a checkpoint of this connection syncs as one of Pawl's.
      this.#database.exec('pragma busy_timeout = 0; pragma synchronous = full; pragma wal_autocheckpoint = 4000')
      this.#database.exec(`pragma wal_checkpoint(${mode})`)
    } catch {
      // Somebody else is at it, or the disk fails. Nobody was promised anything.
    }
  }

  #job(n: number): string {
    const jobId = this.#jobs.get(n)
    if (jobId === undefined) throw new PawlError('job_not_found', `Request ${n} was not accepted here.`)
    return jobId
  }
}
