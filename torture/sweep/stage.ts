import assert from 'node:assert/strict'
import type { ChainOutcome, Schedule, Webhook } from 'pawl'
import type {
  ClaimedJob,
  ClaimedTicket,
  FinishedRun,
  FinishResult,
  LeasedDelivery,
  LeasePage,
  NewGroup,
  NewJob,
  NewTicket,
  Store,
} from 'pawl/store'
import type { SweptDatabase } from './database.ts'
import {
  COMPLETED,
  endOf,
  failed,
  HOUR,
  NOW,
  newFiring,
  newId,
  newJob,
  newNode,
  newPolicy,
  newSchedule,
  newSlot,
  newWebhook,
  SECOND,
  SECRET,
} from './fixtures.ts'

/** Something that a store does in one transaction. */
export interface Operation {
  readonly name: string
  /** Brings the store to where the operation is possible, and returns the operation. */
  readonly prepare: (stage: Stage) => Promise<() => Promise<unknown>>
  /**
   * What comes of doing it once more, because its answer was lost. `nothing`: every row stays as it is, whatever is answered.
   * `told`: so does all but the events, where it is told a second time. `refused`: it throws, and every row stays. `more`: it
   * goes on with what is left, as it would for anybody.
   * @default 'nothing'
   */
  readonly again?: 'nothing' | 'told' | 'refused' | 'more'
  /** `caller`: in a transaction of his own. @default 'store' */
  readonly commits?: 'store' | 'caller'
  /** Where it is one transaction. On a server each schedule is fired in one of its own. @default both */
  readonly only?: 'sqlite'
}

/** A store with one node on it, and the steps that most operations begin with. */
export class Stage {
  readonly node = newNode()
  /** Both as they are open now: not the same any more once an answer was lost. */
  database: SweptDatabase
  store: Store

  static async on(database: SweptDatabase, store: Store): Promise<Stage> {
    const stage = new Stage(database, store)
    await store.registerNode(stage.node)
    return stage
  }

  constructor(database: SweptDatabase, store: Store) {
    this.database = database
    this.store = store
  }

  async enqueue(...jobs: readonly NewJob[]): Promise<void> {
    assert.equal((await this.store.enqueueJobs(jobs, NOW)).kind, 'enqueued')
  }

  async claim(limit = 1, now = NOW): Promise<readonly ClaimedJob[]> {
    const types = new Map([['story', limit]])
    const request = { nodeId: this.node.nodeId, now, limit, types, newRunId: newId }
    return (await this.store.claimJobs(request)).jobs
  }

  /** Enqueues these, of which the first can start, and starts that one. */
  async start(...jobs: readonly NewJob[]): Promise<ClaimedJob> {
    await this.enqueue(...(jobs.length === 0 ? [newJob()] : jobs))
    return one(await this.claim())
  }

  finish(...endings: readonly FinishedRun[]): Promise<readonly FinishResult[]> {
    return this.store.finishRuns(endings, newId)
  }

  /** Ends a Job so that its chain settles. */
  settle(job: ClaimedJob, outcome: ChainOutcome): Promise<unknown> {
    const skipped = { status: 'SKIPPED', message: 'nothing to write' } as const
    const outcomes = { COMPLETED, SKIPPED: skipped, FAILED: failed(), CANCELLED: failed('cancelled') }
    return this.finish(endOf(job, { outcome: outcomes[outcome], finishedAt: NOW }))
  }

  /** Lets so many Jobs complete. */
  async complete(count = 1): Promise<void> {
    for (let n = 0; n < count; n++) await this.finish(endOf(await this.start()))
  }

  async createGroup(group: NewGroup, members: readonly NewJob[]): Promise<void> {
    assert.equal((await this.store.createGroup(group, members, NOW)).kind, 'enqueued')
  }

  applyPage(limit: number): Promise<'applied' | 'idle'> {
    return this.store.applyCascade({ nodeId: this.node.nodeId, newId, limit, now: NOW })
  }

  newTicket(overrides: Partial<NewTicket> = {}): NewTicket {
    const rest = { params: 'null', policy: newPolicy(), callerNodeId: this.node.nodeId, createdBy: null }
    return { reservationId: newId(), type: 'story', onBusy: 'wait', ...rest, ...overrides }
  }

  async openTicket(ticket = this.newTicket()): Promise<string> {
    assert.equal(await this.store.openTicket(ticket, NOW), 'waiting')
    return ticket.reservationId
  }

  async startDirect(): Promise<ClaimedTicket> {
    await this.openTicket()
    const types = new Map([['story', 1]])
    const request = { nodeId: this.node.nodeId, now: NOW, limit: 1, types, newRunId: newId }
    return one((await this.store.claimJobs(request)).tickets)
  }

  async createSchedule(overrides: Partial<Schedule> = {}): Promise<Schedule> {
    const schedule = newSchedule(overrides)
    await this.store.createSchedule(schedule)
    return schedule
  }

  /** Fires the slot that comes an hour after the last one. */
  async fireNext({ scheduleId }: Schedule): Promise<void> {
    const current = await this.schedule(scheduleId)
    const slotAt = current.lastSlotAt + HOUR
    await this.store.fireSlots([newFiring(current, [newSlot(scheduleId, slotAt)])], slotAt)
  }

  async schedule(scheduleId: string): Promise<Schedule> {
    const found = await this.store.findSchedule(scheduleId)
    assert.ok(found !== null)
    return found
  }

  /** A webhook that is told once of each Job. */
  async subscribe(overrides: Partial<Webhook> = {}): Promise<Webhook> {
    const webhook = newWebhook(overrides)
    await this.store.createWebhook(webhook, SECRET)
    return webhook
  }

  leasePage(): Promise<LeasePage> {
    const now = NOW + SECOND
    const many = { limit: 100, perEndpoint: 10, after: null, until: null }
    return this.store.leaseDeliveries({ nodeId: this.node.nodeId, now, leasedUntil: now + 40 * SECOND, ...many })
  }

  async lease(): Promise<readonly LeasedDelivery[]> {
    return (await this.leasePage()).leased
  }
}

/** The first of them, which must be there. */
export function one<Item>(items: readonly Item[]): Item {
  const [first] = items
  assert.ok(first !== undefined)
  return first
}
