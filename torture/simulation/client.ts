import { PawlError, type Scheduler } from 'pawl'
import type { Chance } from '../chance.ts'
import type { Conditions, Wish } from './conditions.ts'
import { followUpOf, TYPES, type TypeName } from './job-types.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import type { SimulatedTime } from './time.ts'
import type { Asked, Order, Witness } from './witness.ts'

export interface ClientParts {
  readonly time: SimulatedTime
  readonly chance: Chance
  readonly witness: Witness
  readonly conditions: Conditions
  readonly processes: () => readonly SimulatedProcess[]
  /** Ends a process in good order and starts another one. */
  readonly restart: (process: SimulatedProcess) => void
  readonly count: (what: string) => void
}

/** A schedule that somebody made, and when it was told to stop. */
export interface MadeSchedule {
  readonly scheduleId: string
  readonly number: number
  readonly everyMs: number
}

/** Jobs of schedules have these numbers: one for each schedule. */
const scheduleOrder = (number: number): number => 2_000_000 + number

/** Wishes, made at any moment, through any process that goes on. Whether there is an answer is another matter. */
export class Client {
  readonly schedules: MadeSchedule[] = []
  readonly #parts: ClientParts
  #last = 0
  #schedules = 0

  constructor(parts: ClientParts) {
    this.#parts = parts
  }

  /** How many schedules were asked for. */
  get schedulesAsked(): number {
    return this.#schedules
  }

  /** Makes a wish and does not wait for what comes of it. */
  wish(wish: Wish): void {
    const { processes, chance, count } = this.#parts
    const going = processes().filter(
      (process) => process.state === 'going' && process.scheduler !== null && !process.isClosing,
    )
    if (going.length === 0) return
    const process = chance.of(going)
    count(`wishes to ${wish}`)
    this.#perform(wish, process.scheduler as Scheduler, process).catch((error: unknown) => {
      if (error instanceof PawlError) return
      this.#parts.witness.contradictions.push(`A call failed with something else than a PawlError: ${String(error)}`)
    })
  }

  async #perform(wish: Wish, scheduler: Scheduler, process: SimulatedProcess): Promise<void> {
    const { chance } = this.#parts
    switch (wish) {
      case 'enqueue':
        return this.#enqueue(scheduler)
      case 'enqueue-many':
        return this.#enqueueMany(scheduler)
      case 'crowd':
        return this.#crowd(scheduler)
      case 'group':
        return this.#group(scheduler)
      case 'cancel':
        return this.#cancel(scheduler)
      case 'retry':
        await this.#onSomeJob((jobId) => scheduler.retry(jobId, { dependents: chance.is(0.5) }))
        return
      case 'move':
        return this.#move(scheduler)
      case 'edit':
        return this.#edit(scheduler)
      case 'schedule':
        return this.#schedule(scheduler)
      case 'schedule-change':
        return this.#changeSchedule(scheduler)
      case 'direct':
        return this.#direct(scheduler)
      case 'limit': {
        const [name, max] = chance.of([
          ['resource:oven', 2],
          ['resource:oven', 1],
          ['running', 3],
          ['running', null],
        ] as const)
        return scheduler.setLimit(name, max)
      }
      case 'prune':
        this.#parts.witness.isPruned = true
        await scheduler.prune({ olderThanMs: chance.between(0, 20_000) })
        return
      case 'restart':
        return this.#parts.restart(process)
    }
  }

  async #enqueue(scheduler: Scheduler): Promise<void> {
    const { chance, witness } = this.#parts
    const again = chance.is(0.15)
      ? [...witness.asked.values()].filter(({ idempotencyKey }) => idempotencyKey !== null)
      : []
    const asked = again.length > 0 ? chance.of(again) : this.#newRequest({ mayHaveKey: true })
    if (again.length === 0) witness.ask(asked)
    await this.#answered([asked], async () => [
      (await scheduler.enqueue(asked.type, asked.order, optionsOf(asked))).jobId,
    ])
  }

  async #enqueueMany(scheduler: Scheduler): Promise<void> {
    const { chance, witness } = this.#parts
    const requests = Array.from({ length: chance.between(2, 6) }, () => this.#newRequest({ mayHaveKey: false }))
    for (const asked of requests) witness.ask(asked)
    // Each may also wait for one of the same list.
    const items = requests.map((asked, index) => ({
      type: asked.type,
      params: asked.order,
      ref: `${asked.n}`,
      ...optionsOf(asked),
      ...(index > 0 && chance.is(0.3)
        ? { dependsOn: [...asked.parents, `#${chance.of(requests.slice(0, index)).n}`] }
        : {}),
    }))
    await this.#answered(requests, async () => (await scheduler.enqueueMany(items)).map(({ jobId }) => jobId))
  }

  /** Many Jobs that take as long as each other, and end alike. */
  async #crowd(scheduler: Scheduler): Promise<void> {
    const { chance, witness } = this.#parts
    const ms = chance.is(0.5) ? 0 : chance.below(1_500)
    const requests = Array.from({ length: chance.between(8, 20) }, () => {
      const asked = this.#newRequest({ mayHaveKey: false })
      const order: Order = { n: asked.n, does: 'agrees', ms, isDeaf: false }
      return { ...asked, type: 'free', order, runAt: 0, parents: [] }
    })
    for (const asked of requests) witness.ask(asked)
    const items = requests.map((asked) => ({ type: asked.type, params: asked.order }))
    await this.#answered(requests, async () => (await scheduler.enqueueMany(items)).map(({ jobId }) => jobId))
  }

  async #group(scheduler: Scheduler): Promise<void> {
    const { chance, witness } = this.#parts
    const requests = Array.from({ length: chance.between(1, 5) }, () => this.#newRequest({ mayHaveKey: false }))
    for (const asked of requests) witness.ask(asked)
    const jobs = requests.map((asked) => ({ type: asked.type, params: asked.order, ...optionsOf(asked) }))
    const [mode, onFailure] = [
      chance.of(['parallel', 'sequential'] as const),
      chance.of(['stop', 'continue', 'skip'] as const),
    ]
    await this.#answered(requests, async () => {
      const group = await scheduler.groups.create({ mode, onFailure, jobs })
      return group.jobs.map(({ jobId }) => jobId)
    })
  }

  async #cancel(scheduler: Scheduler): Promise<void> {
    const { chance, witness, time } = this.#parts
    await this.#onSomeJob(async (jobId) => {
      const mode = chance.of(['graceful', 'abort'] as const)
      if (mode === 'abort') witness.abortsWanted.add(jobId)
      const cancellation = await scheduler.cancel(jobId, { mode })
      if (mode === 'abort') witness.abortsWanted.add(cancellation.jobId)
      if (cancellation.kind === 'requested') witness.lastOnes.add(cancellation.jobId)
      if (cancellation.kind === 'cancelled') witness.cancelled.push({ jobId: cancellation.jobId, at: time.elapsed })
    })
  }

  async #move(scheduler: Scheduler): Promise<void> {
    const { chance } = this.#parts
    await this.#onSomeJob(async (jobId) => {
      if (chance.is(0.3)) return scheduler.reprioritise(jobId, chance.between(-2, 2))
      const other = this.#someJob()
      const targets = [
        { to: 'front' },
        { to: 'back' },
        ...(other === null ? [] : [{ after: other }, { before: other }]),
      ] as const
      return scheduler.move(jobId, chance.of(targets))
    })
  }

  async #edit(scheduler: Scheduler): Promise<void> {
    const { chance, witness } = this.#parts
    const accepted = [...witness.asked.values()].filter(
      ({ answer, kind }) => answer?.kind === 'accepted' && kind === 'job',
    )
    if (accepted.length === 0) return
    const { order, answer } = chance.of(accepted)
    if (answer?.kind !== 'accepted') return
    const changes = [{ priority: chance.between(-2, 2) }, { params: { ...order, ms: chance.below(500) } }]
    await scheduler.edit(answer.jobId, chance.of(changes))
  }

  async #schedule(scheduler: Scheduler): Promise<void> {
    const { chance } = this.#parts
    const number = ++this.#schedules
    const everyMs = 1_000 * chance.between(1, 5)
    const order: Order = {
      n: scheduleOrder(number),
      does: chance.of(['completes', 'fails'] as const),
      ms: chance.below(1_500),
      isDeaf: false,
    }
    const { scheduleId } = await scheduler.schedules.create({
      name: `schedule ${number}`,
      type: chance.of(['free', 'press'] as const),
      everyMs,
      paramOverrides: order,
      missed: chance.of(['all', 'all', 'one', 'none'] as const),
      overlap: chance.of(['allow', 'allow', 'skip', 'queue-one'] as const),
      ...(chance.is(0.2) ? { businessKey: 'key-1' } : {}),
    })
    this.schedules.push({ scheduleId, number, everyMs })
  }

  async #changeSchedule(scheduler: Scheduler): Promise<void> {
    const { chance, witness } = this.#parts
    if (this.schedules.length === 0) return
    const { scheduleId } = chance.of(this.schedules)
    witness.schedulesTouched.add(scheduleId)
    const change = chance.of(['disable', 'enable', 'trigger', 'change', 'remove'] as const)
    if (change === 'change') await scheduler.schedules.change(scheduleId, { everyMs: 1_000 * chance.between(1, 5) })
    else if (change === 'remove' && chance.is(0.7)) return
    else await scheduler.schedules[change](scheduleId)
  }

  async #direct(scheduler: Scheduler): Promise<void> {
    const { chance, witness } = this.#parts
    const asked: Asked = { ...this.#newRequest({ mayHaveKey: false }), kind: 'direct' }
    witness.ask(asked)
    const options = { waitTimeoutMs: chance.between(1, 20_000), onBusy: chance.is(0.8) ? 'wait' : 'reject' } as const
    try {
      const { reservationId } = await scheduler.runDirect(asked.type, asked.order, options)
      witness.answer(asked.n, { kind: 'accepted', jobId: reservationId })
    } catch (error) {
      if (error instanceof PawlError) witness.answer(asked.n, { kind: 'refused', code: error.code })
      throw error
    }
  }

  async #answered(requests: readonly Asked[], call: () => Promise<string[]>): Promise<void> {
    const { witness } = this.#parts
    for (const asked of requests) asked.times++
    try {
      const jobIds = await call()
      for (const [index, { n }] of requests.entries())
        witness.answer(n, { kind: 'accepted', jobId: jobIds[index] as string })
    } catch (error) {
      if (error instanceof PawlError)
        for (const { n } of requests) witness.answer(n, { kind: 'refused', code: error.code })
      throw error
    }
  }

  #newRequest({ mayHaveKey }: { readonly mayHaveKey: boolean }): Asked {
    const { chance, time } = this.#parts
    const n = ++this.#last
    const type: TypeName = chance.is(0.5) ? 'free' : chance.of(TYPES)
    const parent = chance.is(0.15) ? this.#someJob() : null
    return {
      n,
      type,
      kind: 'job',
      order: this.#newOrder(n, type),
      askedAt: time.now(),
      runAt: chance.is(0.2) ? time.now() + chance.below(10_000) : 0,
      idempotencyKey: mayHaveKey && chance.is(0.2) ? `idempotent-${n}` : null,
      businessKey: mayHaveKey && chance.is(0.15) ? `key-${chance.between(1, 3)}` : null,
      parents: parent === null ? [] : [parent],
      times: 0,
      refusals: 0,
      answer: null,
    }
  }

  #newOrder(n: number, type: string): Order {
    const { chance } = this.#parts
    const fate = chance.next()
    const ms = chance.is(0.4) ? 0 : chance.below(chance.is(0.2) ? 20_000 : 1_500)
    const isDeaf = chance.is(0.1)
    if (type === 'brief' && fate < 0.3) return { n, does: 'overruns', ms: 0, isDeaf }
    if (fate < 0.5) return { n, does: 'completes', ms, isDeaf }
    if (fate < 0.62) return { n, does: 'falters', ms, isDeaf }
    if (fate < 0.72) return { n, does: 'fails', ms, isDeaf }
    if (fate < 0.77) return { n, does: 'refuses', ms, isDeaf }
    if (fate < 0.85) return { n, does: 'skips', ms, isDeaf }
    if (fate < 0.95) return { n, does: 'spawns', ms, isDeaf }
    return { n, does: 'completes', ms, isDeaf }
  }

  #someJob(): string | null {
    const accepted = [...this.#parts.witness.asked.values()].filter(
      ({ answer, kind }) => answer?.kind === 'accepted' && kind === 'job',
    )
    if (accepted.length === 0) return null
    const { answer } = this.#parts.chance.of(accepted)
    return answer?.kind === 'accepted' ? answer.jobId : null
  }

  async #onSomeJob(work: (jobId: string) => Promise<unknown>): Promise<void> {
    const jobId = this.#someJob()
    if (jobId !== null) await work(jobId)
  }
}

function optionsOf({ runAt, idempotencyKey, businessKey, parents, n }: Asked) {
  return {
    priority: (n % 5) - 2,
    ...(runAt > 0 ? { runAt } : {}),
    ...(idempotencyKey === null ? {} : { idempotencyKey }),
    ...(businessKey === null ? {} : { businessKey }),
    ...(parents.length === 0
      ? {}
      : { dependsOn: [...parents], onParentFailure: n % 2 === 0 ? ('cancel' as const) : ('run' as const) }),
  }
}

/** Whether this number is one that somebody asked for, or that follows from one. */
export function isAskedFor(n: number, asked: ReadonlyMap<number, Asked>, schedules: number): boolean {
  if (asked.has(n)) return true
  if (n > 2_000_000) return n <= 2_000_000 + schedules
  return n > 1_000_000 && asked.has(n - followUpOf(0))
}
