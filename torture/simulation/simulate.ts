import { openScheduler, PawlError } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import type { Store } from 'pawl/store'
import { onFaultPoint } from 'pawl/testing'
import { Chance } from '../chance.ts'
import { findContradictions } from './checks.ts'
import { compareClaim } from './claim-order.ts'
import { Client } from './client.ts'
import { type Conditions, chooseWish, conditionsOf, NO_FAULTS } from './conditions.ts'
import { FarStore, type Surroundings } from './far-store.ts'
import { jobTypesOf, RESOURCES } from './job-types.ts'
import { findLeftOver } from './left-over.ts'
import { Heartbeats, Locks } from './liveness.ts'
import { HOOK_URL, Receiver } from './receiver.ts'
import { SimulatedProcess } from './simulated-process.ts'
import { findFaults, readStored, type Stored } from './stored.ts'
import { SimulatedTime } from './time.ts'
import { Trace } from './trace.ts'
import { Witness } from './witness.ts'

export interface Simulated {
  /** Of everything that happened. The same seed gives the same again. */
  readonly hash: string
  readonly steps: number
  readonly counts: ReadonlyMap<string, number>
  readonly contradictions: readonly string[]
  /** What happened, line by line, if it was asked for. */
  readonly lines: readonly string[]
}

export interface SimulationOptions {
  /** Whether `lines` are kept. @default false */
  readonly keepsLines?: boolean
  /** Whether what came of it is examined, or only the hash is wanted. @default true */
  readonly isExamined?: boolean
}

/** When faults have ended, all that was asked for must have come to an end within this time. */
const DRAINED_WITHIN_MS = 15 * 60_000
const DRAIN_STEP_MS = 5_000
/** While all that is left is waited for, nobody has to look so often. */
const POLLS_SLOWED_BY = 4

/** One whole life of some processes on one store, as the seed has it: first with faults, then without, until all is done. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<Simulated> {
  const store = await sqlite(':memory:').open()
  const run = new Run(seed, store, new Trace(options.keepsLines === true))
  try {
    return await run.whole(options.isExamined !== false)
  } finally {
    run.end()
    await store.close()
  }
}

class Run {
  readonly #chance: Chance
  readonly #conditions: Conditions
  readonly #time = new SimulatedTime()
  readonly #trace: Trace
  readonly #witness: Witness
  readonly #store: Store
  readonly #around: Surroundings
  readonly #receiver: Receiver
  readonly #client: Client
  readonly #counts = new Map<string, number>()
  readonly #processes: SimulatedProcess[] = []
  #hasFaults = true
  /** While somebody from outside looks: whatever he has to prepare for that must not use up what is left to chance. */
  #isLookedAt = false
  /** Ended Runs and Jobs as they were when somebody looked, by their ids and by those of their Jobs. */
  readonly #seenRuns = new Map<string, string>()
  readonly #seenJobs = new Map<string, string>()

  constructor(seed: number, store: Store, trace: Trace) {
    const chance = new Chance(seed)
    this.#conditions = conditionsOf(seed, chance.fork())
    this.#chance = chance.fork()
    this.#store = store
    this.#trace = trace
    const time = this.#time
    this.#witness = new Witness(time, trace)
    const { liveness, claimsAtOnce } = this.#conditions
    const claimChance = chance.fork()
    this.#around = {
      time,
      chance: chance.fork(),
      trace,
      store,
      liveness: liveness === 'lock' ? new Locks() : new Heartbeats(time),
      claimsAtOnce,
      faults: () => (this.#hasFaults ? this.#conditions.faults : NO_FAULTS),
      onTheWay: new Set(),
      count: (what) => this.#count(what),
      watchClaim: async (request, claim) => {
        // What a claim that was long on its way takes is decided by clocks that have gone on meanwhile, and what became ready
        // by a clock that was ahead stays ready.
        const isComparable = request.now === time.now() && this.#conditions.faults.clockSteps === 0
        if (!isComparable || !claimChance.is(0.05)) return this.#watchClaimer(request.nodeId, await claim())
        const { claimed, contradiction, isCompared } = await compareClaim(store, request, claim)
        if (isCompared) this.#count('claims compared with the queue')
        if (contradiction !== null) this.#witness.contradictions.push(contradiction)
        return this.#watchClaimer(request.nodeId, claimed)
      },
    }
    this.#receiver = new Receiver(time, chance.fork(), this.#witness, () => this.#hasFaults)
    this.#client = new Client({
      time,
      chance: chance.fork(),
      witness: this.#witness,
      conditions: this.#conditions,
      processes: () => this.#processes,
      restart: (process) => this.#restart(process),
      count: (what) => this.#count(what),
    })
  }

  async whole(isExamined: boolean): Promise<Simulated> {
    this.#time.begin()
    this.#trace.add(JSON.stringify(this.#conditions))
    const { processes, lengthMs } = this.#conditions
    const chance = this.#chance
    for (let index = 0; index < processes; index++) this.#start()
    if (this.#conditions.hasWebhook) await this.#hookUp()
    this.#breakStatements()
    this.#plan()
    await this.#time.runUntil(lengthMs)
    this.#hasFaults = false
    onFaultPoint(null)
    const isDrained = await this.#drain(chance)
    const contradictions = isExamined ? await this.#examine(isDrained) : []
    return {
      hash: this.#trace.digest(),
      steps: this.#trace.length,
      counts: this.#counts,
      contradictions,
      lines: this.#trace.lines,
    }
  }

  async #examine(isDrained: boolean): Promise<string[]> {
    const stored = await this.#pumped(readStored(this.#store, this.#time.now()))
    this.#count('jobs', stored.jobs.length)
    this.#count('runs', stored.runs.size)
    return [
      ...this.#witness.contradictions,
      ...(isDrained ? [] : await this.#pumped(findLeftOver(this.#store, this.#time.now()))),
      ...this.#compareWithSeen(stored),
      ...findContradictions({
        stored,
        witness: this.#witness,
        conditions: this.#conditions,
        schedules: this.#client.schedulesAsked,
        isDrained,
      }),
    ]
  }

  end(): void {
    onFaultPoint(null)
    this.#time.end()
  }

  /** Somebody is told of all ends from the beginning on. */
  async #hookUp(): Promise<void> {
    await this.#pumped(
      this.#store.createWebhook(
        {
          webhookId: 'hook',
          name: null,
          url: HOOK_URL,
          events: null,
          jobTypes: null,
          enabled: true,
          disabledReason: null,
          revision: 1,
          createdAt: this.#time.now(),
          updatedAt: this.#time.now(),
        },
        'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      ),
    )
  }

  /** Starts a process that opens a scheduler and starts it, if it lives so long. */
  #start(): void {
    const process = new SimulatedProcess(`p${this.#processes.length + 1}`, this.#time)
    this.#processes.push(process)
    const random = this.#chance.fork()
    const opening = async () => {
      const scheduler = await openScheduler({
        store: new FarStore(process, this.#around),
        jobs: jobTypesOf(process, this.#witness),
        resources: RESOURCES,
        concurrency: this.#conditions.concurrency,
        clock: process.clock,
        random,
        name: process.name,
        shutdownTimeoutMs: 3_000,
        webhooks: { post: this.#receiver.of(process) },
        logger: SILENT,
      })
      process.scheduler = scheduler
      await scheduler.start()
    }
    opening().catch((error: unknown) => {
      if (!(error instanceof PawlError)) {
        this.#witness.contradictions.push(`A process could not start: ${String(error)}`)
        return
      }
      // As whoever keeps processes running does: one that could not begin is begun anew. One that died meanwhile has been.
      if (!process.isGone) this.#replace(process)
    })
  }

  #replace(process: SimulatedProcess): void {
    process.crash()
    this.#around.time.after(this.#chance.below(3_000), ALWAYS, () => this.#start())
  }

  #restart(process: SimulatedProcess): void {
    process.isClosing = true
    process.flaws.add('closed')
    this.#start()
    process.scheduler?.close().then(
      () => process.crash(),
      () => process.crash(),
    )
  }

  #breakStatements(): void {
    const { brokenStatement } = this.#conditions.faults
    if (brokenStatement === 0) return
    const chance = this.#chance.fork()
    onFaultPoint((point) => {
      const isWrite = point === 'store:statement' || point === 'store:before-commit'
      if (!isWrite || this.#isLookedAt || !chance.is(brokenStatement)) return
      this.#count('statements broken')
      throw new PawlError('storage_full', 'There is no room left on the disk.')
    })
  }

  /** All that comes from outside, at moments that are chosen beforehand. */
  #plan(): void {
    const { requests, lengthMs, faults, wishes, liveness } = this.#conditions
    const chance = this.#chance
    const at = (moment: number, work: () => void) => void this.#time.after(moment, ALWAYS, work)
    const some = () => chance.of(this.#processes)
    for (let index = 0; index < requests; index++) {
      at(chance.below(lengthMs), () => this.#client.wish(chooseWish(chance, wishes)))
    }
    for (let index = 0; index < faults.crashes; index++) at(chance.below(lengthMs), () => this.#crash(some()))
    for (let index = 0; index < faults.pauses; index++) {
      const begin = chance.below(lengthMs)
      const forMs = chance.is(0.5) ? chance.below(3_000) : chance.between(10_000, 25_000)
      at(begin, () => this.#pause(some(), forMs))
    }
    for (let index = 0; index < faults.partitions; index++) {
      at(chance.below(lengthMs), () => this.#cutOff(some(), chance.between(1_000, 25_000)))
    }
    for (let index = 0; index < faults.clockSteps; index++) {
      at(chance.below(lengthMs), () => {
        this.#count('clock steps')
        this.#time.setWall(chance.between(-90_000, 90_000))
      })
    }
    for (let index = 0; index < 3; index++) at(chance.below(lengthMs), () => void this.#lookAtEnded())
    at(chance.below(lengthMs + 10_000), () => void this.#lookForFaults())
    this.#trace.add(`planned with ${liveness}`)
  }

  #crash(process: SimulatedProcess): void {
    if (process.isGone) return
    this.#count('crashes')
    this.#trace.add(`${this.#time.elapsed} ${process.name} dies`)
    process.crash()
    this.#time.after(this.#chance.below(5_000), ALWAYS, () => this.#start())
  }

  #pause(process: SimulatedProcess, forMs: number): void {
    if (process.state !== 'going') return
    this.#count('pauses')
    this.#trace.add(`${this.#time.elapsed} ${process.name} stops for ${forMs}`)
    process.stop()
    this.#time.after(forMs, ALWAYS, () => {
      process.goOn()
      // Some do not live long enough to find out what became of them.
      if (this.#hasFaults && this.#chance.is(0.3))
        this.#time.after(this.#chance.below(1_500), ALWAYS, () => this.#crash(process))
    })
  }

  #cutOff(process: SimulatedProcess, forMs: number): void {
    if (process.isGone || process.isCutOff) return
    this.#count('partitions')
    this.#trace.add(`${this.#time.elapsed} ${process.name} is cut off for ${forMs}`)
    process.cutOff(true)
    this.#time.after(forMs, ALWAYS, () => process.cutOff(false))
  }

  /** Whoever was taken for dead claims nothing any more: nobody would ever look after what it has claimed. */
  async #watchClaimer<Claimed extends { readonly jobs: readonly object[] }>(
    nodeId: string,
    claimed: Claimed,
  ): Promise<Claimed> {
    const isDead = async () => (await this.#store.listNodes()).every((node) => node.nodeId !== nodeId)
    if (claimed.jobs.length > 0 && (await isDead()))
      this.#witness.contradictions.push(`I6: ${nodeId}, which was taken for dead, has claimed.`)
    return claimed
  }

  /** What is committed must be whole at any moment, not only in the end. */
  async #lookForFaults(): Promise<void> {
    this.#isLookedAt = true
    const faults = await findFaults(this.#store, this.#time.now())
    this.#isLookedAt = false
    this.#witness.contradictions.push(...faults.map((fault) => `${fault} (at ${this.#time.elapsed})`))
  }

  /** Remembers what has ended by now: nothing of it may change any more. */
  async #lookAtEnded(): Promise<void> {
    const [runs, jobs] = await Promise.all([
      this.#store.listRuns({ limit: 200 }),
      this.#store.listJobs({ limit: 200 }, this.#time.now()),
    ])
    for (const run of runs.items) {
      if (run.status !== null && !this.#seenRuns.has(run.jobId)) this.#seenRuns.set(run.jobId, textOf(run))
    }
    for (const job of jobs.items) {
      const hasEnded = job.status === 'FINISHED' || job.status === 'CANCELLED'
      if (hasEnded && !this.#seenJobs.has(job.jobId)) this.#seenJobs.set(job.jobId, textOf(job))
    }
  }

  *#compareWithSeen({ runs, jobOf }: Stored): Iterable<string> {
    for (const [what, seen, found] of [
      ['Run', this.#seenRuns, runs],
      ['Job', this.#seenJobs, jobOf],
    ] as const) {
      for (const [jobId, before] of seen) {
        const after = found.get(jobId)
        if (after !== undefined && textOf(after) !== before)
          yield `I3, I7: the ended ${what} of ${jobId} was ${before}, and is ${textOf(after)}.`
      }
    }
  }

  /** Nothing more goes wrong: with at least one process, all goes on until nothing is left to be done. */
  async #drain(chance: Chance): Promise<boolean> {
    this.#time.slowDownPolls(POLLS_SLOWED_BY)
    // Those that are stopped or cut off come back when their time is over, and some find that others took them for dead.
    await this.#time.settle()
    if (!this.#processes.some((process) => !process.isGone && !process.isClosing)) this.#start()
    const endAt = this.#time.elapsed + DRAINED_WITHIN_MS
    while (this.#time.elapsed < endAt) {
      await this.#disableSchedules()
      await this.#time.runUntil(this.#time.elapsed + DRAIN_STEP_MS)
      const isAllHeard = this.#around.onTheWay.size === 0
      if (isAllHeard && (await this.#pumped(findLeftOver(this.#store, this.#time.now()))).length === 0) return true
      if (!this.#processes.some((process) => !process.isGone && !process.isClosing)) this.#start()
    }
    this.#trace.add(`not drained ${chance.next()}`)
    return false
  }

  /** So that no more slots come. Requests that were on their way may still make and enable some. */
  async #disableSchedules(): Promise<void> {
    const { items } = await this.#pumped(this.#store.listSchedules({ limit: 100 }))
    for (const { scheduleId, revision } of items.filter(({ enabled }) => enabled)) {
      await this.#pumped(
        this.#store.disableSchedule({ scheduleId, revision, reason: 'the end', now: this.#time.now() }),
      )
    }
  }

  /** Waits for a call to the store from outside of the simulation. */
  async #pumped<T>(promise: Promise<T>): Promise<T> {
    let isDone = false
    const end = () => {
      isDone = true
    }
    promise.then(end, end)
    while (!isDone) await this.#time.settle()
    return promise
  }

  #count(what: string, by = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + by)
  }
}

const ALWAYS = { state: 'going' } as const

const SILENT = { info: () => {}, warn: () => {}, error: () => {} }

function textOf(run: object): string {
  // Lines that came too late are still counted.
  return JSON.stringify({ ...run, logsDropped: 0 })
}
