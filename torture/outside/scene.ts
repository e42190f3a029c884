import { setMaxListeners } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openScheduler, type Scheduler } from 'pawl'
import type { FaultPoint } from 'pawl/testing'
import type { Chance } from '../chance.ts'
import { tortureFile } from '../package-root.ts'
import { type Examined, examine } from './check.ts'
import { openReader, type Place, type Reader, sourceOf } from './place.ts'
import { Receiver } from './receiver.ts'
import { Recorder, readRecord, type ScheduleLife, sharedNow } from './record.ts'
import { Script, until } from './script.ts'
import { seeEnded } from './sightings.ts'
import { type Act, LIMITS, RESOURCES, RETRY, type Request, TIMED_ORDER, TYPES } from './workload.ts'

export interface DieAt {
  readonly point: FaultPoint
  /** At which passing of it. */
  readonly passing: number
}

export interface SceneOptions {
  readonly place: Place
  readonly chance: Chance
  /** That of the round. It decides whether somebody is told of anything: where nobody is, stores may end Runs in a shorter way. */
  readonly seed: number
  /** What each client is to do. */
  readonly lists: Readonly<Record<string, readonly Act[]>>
  readonly concurrency: number
  /** Whether errors of connections are to be expected. */
  readonly networkFails: boolean
  /** Everything is over when it is aborted. */
  readonly signal: AbortSignal
}

const TOLD_TYPES = ['told']
export const hasWebhook = (seed: number) => seed % 4 < 2
const SET_UP_WITHIN_MS = 60_000
const LOOK_EVERY_MS = 700
/** A retry after a crash that is further away than this is made due, so that a round ends in time. */
const PATIENCE_WITH_CRASHES_MS = 1_500
/** Whoever drives a round has a list too, of what it did. */
const DIRECTOR = 'director'

/** One store, the processes that share it, and a folder in which is recorded what happened. */
export class Scene {
  readonly folder: string
  readonly place: Place
  readonly recorder: Recorder
  readonly #options: SceneOptions
  readonly #receiver: Receiver
  readonly #reader: Reader
  readonly #scheduler: Scheduler
  readonly #scripts: Script[] = []
  readonly #own: Act[] = []
  readonly #seen = new Set<string>()
  #schedules: Pick<
    ScheduleLife,
    'scheduleId' | 'everyMs' | 'anchorAt' | 'overlap' | 'createdAfter' | 'createdBefore'
  >[] = []
  #looking: Promise<void> | null = null
  #isOver = false

  private constructor(options: SceneOptions, folder: string, recorder: Recorder, parts: SceneParts) {
    this.folder = folder
    this.place = options.place
    this.recorder = recorder
    this.#options = options
    this.#receiver = parts.receiver
    this.#reader = parts.reader
    this.#scheduler = parts.scheduler
    for (const [by, acts] of Object.entries(options.lists))
      writeFileSync(join(folder, `${by}.acts`), JSON.stringify(acts))
  }

  static async open(options: SceneOptions): Promise<Scene> {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-scene-'))
    // Each process of the round listens to it.
    setMaxListeners(0, options.signal)
    const recorder = new Recorder(folder, DIRECTOR)
    const scheduler = await openScheduler({
      store: sourceOf(options.place),
      name: DIRECTOR,
      webhooks: { allowPrivate: ['127.0.0.1'] },
      logger: { info: () => {}, warn: () => {}, error: () => {} },
    })
    const receiver = await Receiver.start(recorder, options.chance.fork())
    const reader = await openReader(options.place)
    return new Scene(options, folder, recorder, { scheduler, receiver, reader })
  }

  /** Where to look when something was wrong. */
  get whereabouts(): string {
    const store = this.place.kind === 'sqlite' ? `, and the store is ${this.place.path}` : ''
    return `What was recorded is in ${this.folder}${store}.`
  }

  /** Starts a node. Its store may be reached by another way than that of the others. */
  startNode(name: string, { dieAt = null, place = this.place }: { dieAt?: DieAt | null; place?: Place } = {}): Script {
    const { concurrency, signal } = this.#options
    const about = { types: TYPES, retry: RETRY, resources: RESOURCES, concurrency }
    const plan = { place, folder: this.folder, name, ...about, dieAt }
    return this.#keep(new Script(tortureFile('outside/node.mjs'), plan, signal))
  }

  /** Starts somebody who does what stands in the list `by`, or goes on with it. */
  startClient(by: string, life: number, options: ClientOptions): Script {
    const { networkFails, signal } = this.#options
    const { place = this.place, ...rest } = options
    const list = { by, acts: join(this.folder, `${by}.acts`), parallel: 12, networkFails }
    const plan = { place, folder: this.folder, name: `${by}.${life}`, ...list, ...rest }
    return this.#keep(new Script(tortureFile('outside/client.mjs'), plan, signal))
  }

  #keep(script: Script): Script {
    this.#scripts.push(script)
    return script
  }

  async kill(script: Script): Promise<void> {
    const at = sharedNow()
    script.kill('SIGKILL')
    await script.exited
    await this.recorder.write({ is: 'killed', node: script.name, at })
  }

  /** Makes the schedules and the webhook, if it has one, as soon as a node has made its types known; then looks now and then. */
  async setUp(): Promise<void> {
    const { schedules, webhooks } = this.#scheduler
    const make = async (everyMs: number, anchorAt: number | null, timing: { everyMs: number } | { cron: string }) => {
      const overlap = anchorAt === null ? 'allow' : 'skip'
      const createdAfter = Date.now()
      const about = { name: `every ${everyMs}`, type: 'timed', paramOverrides: TIMED_ORDER, overlap } as const
      const { scheduleId } = await schedules.create({ ...about, ...timing })
      const createdBefore = Date.now()
      this.#schedules.push({ scheduleId, everyMs, anchorAt, overlap, createdAfter, createdBefore })
    }
    const isKnown = async () => {
      const { count } = (
        await this.#reader.select<{ count: number }>("select count(*) as count from pawl.types where type = 'timed'")
      )[0] ?? { count: 0 }
      return Number(count) > 0 || this.#options.signal.aborted ? true : null
    }
    await until(isKnown, SET_UP_WITHIN_MS, 'a node that makes its types known')
    this.#options.signal.throwIfAborted()
    await make(1_000, null, { everyMs: 1_000 })
    await make(1_000, 0, { cron: '* * * * * *' })
    if (hasWebhook(this.#options.seed)) await webhooks.create({ url: this.#receiver.url, jobTypes: TOLD_TYPES })
    this.#looking = this.#look()
  }

  /** What has ended must never change: each that is seen for the first time is written down. */
  async #look(): Promise<void> {
    while (!this.#isOver && !this.#options.signal.aborted) {
      try {
        const fresh = [...(await seeEnded(this.#reader))].filter(([what]) => !this.#seen.has(what))
        for (const [what] of fresh) this.#seen.add(what)
        const at = sharedNow()
        await this.recorder.write(...fresh.map(([what, digest]) => ({ is: 'seen', at, what, digest }) as const))
      } catch (error) {
        // A server that restarts answers no one. Files always do.
        if (!this.#options.networkFails) throw error
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
  }

  /** Whether a node has begun a Job that it has not ended. */
  isBusy(node: string): boolean {
    const { notes } = readRecord(this.folder, node)
    const ended = new Set(notes.filter(({ what }) => what === 'ended').map(({ runId }) => runId))
    // Of a direct execution both ids are the same.
    return notes.some(({ what, runId, jobId }) => what === 'began' && jobId !== runId && !ended.has(runId))
  }

  /** Whether others know a node as one that has left, or died. Null: the store cannot be asked now. */
  async isGone(node: string): Promise<boolean | null> {
    try {
      const rows = await this.#reader.select<{ name: string }>('select name from pawl.nodes where ended_at is null')
      return rows.every(({ name }) => name !== node)
    } catch {
      return null
    }
  }

  /** No more slots, and receivers that take everything. */
  async calm(): Promise<void> {
    this.#receiver.isKind = true
    for (const schedule of this.#schedules) {
      const enabledUntil = Date.now()
      await this.#scheduler.schedules.change(schedule.scheduleId, { enabled: false })
      await this.recorder.write({ is: 'schedule', ...schedule, enabledUntil, disabledBefore: Date.now() })
    }
    this.#schedules = []
  }

  /** Waits until nothing is left to be done; answers with what was left when the time was over. */
  async drain(withinMs: number): Promise<string[]> {
    const deadline = performance.now() + withinMs
    for (;;) {
      const [left] = await this.#reader.select<Readonly<Record<string, number>>>(SELECT_LEFT)
      const what = Object.entries(left ?? {}).filter(([, count]) => Number(count) > 0)
      if (what.length === 0) return []
      if (performance.now() > deadline || this.#options.signal.aborted) {
        return [
          `I15: after ${withinMs} ms without faults there are still ${what.map(([name, count]) => `${count} ${name}`).join(', ')}.`,
        ]
      }
      await this.#makeDue()
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  async #makeDue(): Promise<void> {
    const rows = await this.#reader.select<{ job_id: string; params: string }>(
      `select job_id, params
from pawl.jobs
where seq in (select seq from pawl.queue where run_at > ${Date.now() + PATIENCE_WITH_CRASHES_MS})
  and retry_of is not null
limit 100`,
    )
    for (const { job_id, params } of rows) {
      const { n } = JSON.parse(params) as { n: number }
      const askedAt = sharedNow()
      await this.recorder.write({
        is: 'asked',
        at: askedAt,
        by: DIRECTOR,
        act: this.#own.push({ kind: 'retry', n }) - 1,
      })
      const { kind, jobId } = await this.#scheduler.retry(job_id)
      await this.recorder.write({ is: 'retried', n, kind, jobId, askedAt, answeredAt: sharedNow() })
    }
  }

  /** Somebody who drives the round asks for a Job. */
  async ask(request: Request): Promise<void> {
    const act = this.#own.push({ kind: 'one', requests: [request] }) - 1
    const askedAt = sharedNow()
    await this.recorder.write({ is: 'asked', at: askedAt, by: DIRECTOR, act })
    const { type, order, options } = request
    const { jobId } = await this.#scheduler.enqueue(type, order, options)
    await this.recorder.write({ is: 'ack', n: order.n, jobId, askedAt, answeredAt: sharedNow() })
  }

  /** Ends the looks, and compares everything that was seen with what the database says. */
  async examine(): Promise<Examined> {
    this.#isOver = true
    await this.#looking
    const { lists, concurrency, seed } = this.#options
    const acts = { ...lists, [DIRECTOR]: this.#own }
    const toldTypes = hasWebhook(seed) ? TOLD_TYPES : []
    return await examine(this.place, this.folder, { acts, limits: LIMITS, concurrency, toldTypes })
  }

  /** What any of them told with this key. */
  told(key: string): unknown[] {
    return this.#scripts.flatMap(({ told }) => told.flatMap((what) => (what[key] === undefined ? [] : [what[key]])))
  }

  /** Ends whatever still runs, and removes the folder, unless somebody is to look at it. */
  async close({ keepsFolder = false }: { keepsFolder?: boolean } = {}): Promise<void> {
    this.#isOver = true
    for (const script of this.#scripts) if (!script.hasExited) script.kill('SIGKILL')
    await Promise.all(this.#scripts.map(({ exited }) => exited))
    await this.#looking?.catch(() => {})
    await this.#scheduler.close()
    await this.#reader.close()
    await this.#receiver.close()
    this.recorder.close()
    if (!keepsFolder) rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

interface SceneParts {
  readonly receiver: Receiver
  readonly reader: Reader
  readonly scheduler: Scheduler
}

export interface ClientOptions {
  readonly everyMs: number
  readonly dieAt?: DieAt | null
  readonly place?: Place
}

const SELECT_LEFT = `
select (select count(*) from pawl.queue) as queued,
  (select count(*) from pawl.occupancies) as executing,
  (select count(*) from pawl.direct_occupancies) as executing_direct,
  (select count(*) from pawl.reservations where status in ('WAITING', 'RUNNING')) as waiting_tickets,
  (select count(*) from pawl.cascades) as cascades,
  (select count(*) from pawl.deliveries where status = 'PENDING') as pending_deliveries`
