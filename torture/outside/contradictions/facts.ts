import type { History, StoredJob, StoredReservation } from '../history.ts'
import type { CancelAck, Kill, Note, Recorded, RetryAck } from '../record.ts'
import { type Act, type Deed, type GroupRules, isCall, type Limit, type Order, type Request } from '../workload.ts'

export interface Evidence {
  /** All that was to be done, by whose list it stands in. */
  readonly acts: Readonly<Record<string, readonly Act[]>>
  readonly recorded: Recorded
  readonly history: History
  readonly limits: readonly Limit[]
  /** Bodies at once on each node. */
  readonly concurrency: number
  /** The types that receivers of webhooks are told of. */
  readonly toldTypes: readonly string[]
  /** What every look at what has ended saw last: what it was, and the digest of it. */
  readonly lastSeen: ReadonlyMap<string, string>
}

/** One rule: everything that contradicts it, a sentence each. */
export type Check = (facts: Facts) => Iterable<string>

/** By how much the measured time of the database may be off. */
export const TOLERANCE_MS = 100

/** A body, from its first moment to its last: as long as its node lived for certain, if it noted no end. */
export interface Body {
  readonly began: Note
  readonly ended: Note | null
  readonly until: number
}

/** A Job and its retries. */
export interface Chain {
  readonly first: StoredJob
  readonly jobs: readonly StoredJob[]
  readonly last: StoredJob
  readonly outcome: string
  readonly order: Order
}

/** A cancel that somebody asked for, and what was answered; null: nobody knows whether it was done. */
export interface Cancelling {
  readonly mode: 'graceful' | 'abort'
  readonly askedAt: number
  readonly ack: CancelAck | null
}

export interface Retrying {
  readonly askedAt: number
  readonly ack: RetryAck | null
}

/** The evidence, by what the checks look for. */
export class Facts {
  readonly evidence: Evidence
  readonly jobs: ReadonlyMap<string, StoredJob>
  /** All chains that somebody asked for. */
  readonly chains: readonly Chain[]
  /** Those that schedules made. */
  readonly timedChains: readonly Chain[]
  /** By the number of the request: the first that was made of it. */
  readonly chainOf = new Map<number, Chain>()
  /** What was asked for, with those parents of which the one who asked had heard. */
  readonly requests = new Map<number, Request>()
  /** When each of them was asked for the first time, also if nobody answered. */
  readonly firstAskedAt = new Map<number, number>()
  /** The requests that were refused, with the code. */
  readonly refused = new Map<number, string>()
  readonly groupOf = new Map<number, GroupRules & { readonly members: readonly number[] }>()
  readonly cancelsOf = new Map<number, Cancelling[]>()
  readonly retriesOf = new Map<number, Retrying[]>()
  readonly directs = new Map<number, Extract<Deed, { kind: 'direct' }>>()
  readonly reservations: ReadonlyMap<string, StoredReservation>
  readonly killedAt: ReadonlyMap<string, number>
  /** When a node was first cut off or stopped. */
  readonly faultyAt: ReadonlyMap<string, number>
  /** In the order of their beginnings. */
  readonly bodies: readonly Body[]
  readonly bodyOf: ReadonlyMap<string, Body>

  constructor(evidence: Evidence) {
    this.evidence = evidence
    const { recorded, history } = evidence
    for (const { by, act, at, parents = {} } of recorded.asked) {
      const done = evidence.acts[by]?.[act]
      if (done !== undefined) this.#addAct(done, at, parents)
    }
    for (const { by, act, code } of recorded.refusals) {
      const done = evidence.acts[by]?.[act]
      if (done !== undefined && isCall(done)) for (const { order } of done.requests) this.refused.set(order.n, code)
    }
    this.jobs = new Map(history.jobs.map((job) => [job.jobId, job]))
    const chains = toChains(history.jobs)
    this.chains = chains.filter(({ first }) => first.scheduleId === null)
    this.timedChains = chains.filter(({ first }) => first.scheduleId !== null)
    for (const chain of this.chains) if (!this.chainOf.has(chain.order.n)) this.chainOf.set(chain.order.n, chain)
    this.reservations = new Map(history.reservations.map((one) => [one.reservationId, one]))
    this.killedAt = firstMoments(recorded.kills)
    this.faultyAt = firstMoments(recorded.faults)
    const ends = new Map(recorded.notes.filter(({ what }) => what === 'ended').map((note) => [note.runId, note]))
    this.bodies = recorded.notes.filter(({ what }) => what === 'began').map((began) => this.#toBody(began, ends))
    this.bodyOf = new Map(this.bodies.map((body) => [body.began.runId, body]))
  }

  #addAct(act: Act, askedAt: number, parents: Readonly<Record<string, readonly number[]>>): void {
    switch (act.kind) {
      case 'cancel': {
        const ack = this.evidence.recorded.cancels.find((one) => one.n === act.n && one.askedAt === askedAt) ?? null
        push(this.cancelsOf, act.n, { mode: act.mode, askedAt, ack })
        return
      }
      case 'retry': {
        const ack = this.evidence.recorded.retries.find((one) => one.n === act.n && one.askedAt === askedAt) ?? null
        push(this.retriesOf, act.n, { askedAt, ack })
        return
      }
      case 'direct':
        this.directs.set(act.order.n, act)
        return
      case 'one':
      case 'many':
      case 'group':
        for (const request of act.requests) this.#addRequest(request, askedAt, parents)
        if (act.kind !== 'group') return
        this.#addGroup(act, act.requests)
    }
  }

  /** One that was asked for twice under a key is what it was the first time. */
  #addRequest(request: Request, askedAt: number, parents: Readonly<Record<string, readonly number[]>>): void {
    const { n } = request.order
    this.firstAskedAt.set(n, Math.min(askedAt, this.firstAskedAt.get(n) ?? askedAt))
    if (!this.requests.has(n)) this.requests.set(n, { ...request, parents: parents[n] ?? request.parents })
  }

  #addGroup({ mode, onFailure }: GroupRules, requests: readonly Request[]): void {
    const members = requests.map(({ order }) => order.n)
    for (const n of members) this.groupOf.set(n, { mode, onFailure, members })
  }

  #toBody(began: Note, ends: ReadonlyMap<string, Note>): Body {
    const ended = ends.get(began.runId) ?? null
    const killedAt = this.killedAt.get(began.node)
    const cutOff = killedAt === undefined ? Number.POSITIVE_INFINITY : Math.max(began.at, killedAt)
    return { began, ended, until: ended?.at ?? cutOff }
  }

  /** The body of a chain's last attempt; null if it was never executed. */
  lastBody({ last }: Chain): Body | null {
    return last.run === null ? null : (this.bodyOf.get(last.run.runId) ?? null)
  }

  /** The first moment of a chain's first body. */
  firstBegan({ jobs }: Chain): Note | null {
    for (const { run } of jobs) {
      const body = run === null ? undefined : this.bodyOf.get(run.runId)
      if (body !== undefined) return body.began
    }
    return null
  }

  /** For whom a request waited: its parents, and in a sequential group the member before it. */
  parentsOf({ order, parents }: Request): readonly number[] {
    const group = this.groupOf.get(order.n)
    if (group === undefined || group.mode === 'parallel') return parents
    const before = group.members[group.members.indexOf(order.n) - 1]
    return before === undefined ? parents : [...parents, before]
  }

  /** Whether a node may have lost what it executed: it was killed, stopped, or cut off. */
  isUnreliable(node: string): boolean {
    return this.killedAt.has(node) || this.faultyAt.has(node)
  }
}

export function describe({ jobId, order, attempt }: StoredJob): string {
  return `Job ${jobId} (attempt ${attempt} of ${order.n}, which ${order.does})`
}

function toChains(jobs: readonly StoredJob[]): Chain[] {
  return [...byKey(jobs, ({ chainId }) => chainId).values()].map((items) => {
    const first = items[0] as StoredJob
    const last = items.at(-1) as StoredJob
    const outcome = last.status === 'CANCELLED' ? 'CANCELLED' : (last.run?.status ?? last.status)
    return { first, jobs: items, last, outcome, order: first.order }
  })
}

function firstMoments(moments: readonly Pick<Kill, 'node' | 'at'>[]): Map<string, number> {
  const first = new Map<string, number>()
  for (const { node, at } of moments) first.set(node, Math.min(at, first.get(node) ?? at))
  return first
}

function push<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [item])
  else list.push(item)
}

export function byKey<Key, Item>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) push(groups, keyOf(item), item)
  return groups
}
