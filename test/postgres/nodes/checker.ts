// Compares what was written down outside of the system with what the database says in the end.
import type { History, StoredJob } from './history.ts'
import type { Note, Recorded } from './record.ts'
import { type Call, followUpOf, type GroupRules, type Limit, type Order, RETRY, type Request } from './workload.ts'

export interface Evidence {
  /** All that was asked for. */
  readonly calls: readonly Call[]
  readonly recorded: Recorded
  readonly history: History
  readonly limits: readonly Limit[]
  /** Bodies at once on each node. */
  readonly concurrency: number
}

/** So many of each kind are told; a broken rule is often broken thousands of times. */
const TOLD_MAX = 5

/** By how much the measured time of the database may be off. */
const TOLERANCE_MS = 100

/** Everything that contradicts what Pawl promises, one sentence each. */
export function findContradictions(evidence: Evidence): string[] {
  const facts = new Facts(evidence)
  return CHECKS.flatMap((check) => {
    const found = [...check(facts)]
    const rest = found.length - TOLD_MAX
    return rest > 0 ? [...found.slice(0, TOLD_MAX), `… and ${rest} more of this kind`] : found
  })
}

type Check = (facts: Facts) => Iterable<string>

const CHECKS: readonly Check[] = [
  acknowledgedJobsExist,
  requestsMadeOneChainEach,
  followUpsCameWithOutcomes,
  everythingHasEnded,
  chainsAreWhole,
  bodiesBelongToRuns,
  runsHaveCauses,
  outcomesAreThoseOrdered,
  limitsHeld,
  childrenBeganAfterParents,
  nothingBeganEarly,
  groupsAreCounted,
]

/** A body, from its first moment to its last: until its node was killed, if it noted no end. */
interface Body {
  readonly began: Note
  readonly ended: Note | null
  readonly until: number
}

interface Chain {
  readonly first: StoredJob
  readonly jobs: readonly StoredJob[]
  readonly last: StoredJob
  readonly outcome: string
  readonly order: Order
}

/** The evidence, by what the checks look for. */
class Facts {
  readonly evidence: Evidence
  readonly jobs: ReadonlyMap<string, StoredJob>
  readonly chains: readonly Chain[]
  /** By the number of the request: the first that was made of it. */
  readonly chainOf = new Map<number, Chain>()
  readonly requests = new Map<number, Request>()
  readonly groupOf = new Map<number, GroupRules & { readonly members: readonly number[] }>()
  readonly killedAt: ReadonlyMap<string, number>
  readonly bodies: readonly Body[]
  readonly bodyOf: ReadonlyMap<string, Body>

  constructor(evidence: Evidence) {
    this.evidence = evidence
    const { calls, recorded, history } = evidence
    for (const call of calls) this.#addCall(call)
    this.jobs = new Map(history.jobs.map((job) => [job.jobId, job]))
    this.chains = toChains(history.jobs)
    for (const chain of this.chains) if (!this.chainOf.has(chain.order.n)) this.chainOf.set(chain.order.n, chain)
    this.killedAt = new Map(recorded.kills.map(({ node, at }) => [node, at]))
    const ends = new Map(recorded.notes.filter(({ what }) => what === 'ended').map((note) => [note.runId, note]))
    this.bodies = recorded.notes.filter(({ what }) => what === 'began').map((began) => this.#toBody(began, ends))
    this.bodyOf = new Map(this.bodies.map((body) => [body.began.runId, body]))
  }

  #addCall(call: Call): void {
    for (const request of call.requests) this.requests.set(request.order.n, request)
    if (call.kind !== 'group') return
    const { mode, onFailure, requests } = call
    const members = requests.map(({ order }) => order.n)
    for (const n of members) this.groupOf.set(n, { mode, onFailure, members })
  }

  #toBody(began: Note, ends: ReadonlyMap<string, Note>): Body {
    const ended = ends.get(began.runId) ?? null
    return { began, ended, until: ended?.at ?? this.killedAt.get(began.node) ?? Number.POSITIVE_INFINITY }
  }

  /** The body of a chain's last attempt; null if it was never executed. */
  lastBody({ last }: Chain): Body | null {
    return last.run === null ? null : (this.bodyOf.get(last.run.runId) ?? null)
  }

  /** For whom a request waited: its parents, and in a sequential group the member before it. */
  parentsOf({ order, parents }: Request): readonly number[] {
    const group = this.groupOf.get(order.n)
    if (group === undefined || group.mode === 'parallel') return parents
    const before = group.members[group.members.indexOf(order.n) - 1]
    return before === undefined ? parents : [...parents, before]
  }
}

function toChains(jobs: readonly StoredJob[]): Chain[] {
  return [...byKey(jobs, ({ chainId }) => chainId).values()].map((items) => {
    const first = items[0] as StoredJob
    const last = items.at(-1) as StoredJob
    const outcome = last.status === 'CANCELLED' ? 'CANCELLED' : (last.run?.status ?? last.status)
    return { first, jobs: items, last, outcome, order: first.order }
  })
}

function* acknowledgedJobsExist({ evidence, jobs }: Facts): Iterable<string> {
  for (const { n, jobId } of evidence.recorded.acks) {
    const job = jobs.get(jobId)
    if (job === undefined) yield `Request ${n} was acknowledged as Job ${jobId}, which does not exist.`
    else if (job.order.n !== n || job.attempt !== 1)
      yield `Request ${n} was acknowledged as Job ${jobId}, which is attempt ${job.attempt} of ${job.order.n}.`
  }
}

/** A request that nobody answered may have made one, or none. */
function* requestsMadeOneChainEach({ chains, requests }: Facts): Iterable<string> {
  for (const [n, made] of byKey(chains, ({ order }) => order.n)) {
    if (made.length > 1)
      yield `Request ${n} made ${made.length} chains: ${made.map(({ first }) => first.jobId).join(', ')}.`
    const [chain] = made
    if (!requests.has(n) && !requests.has(n - followUpOf(0)))
      yield `Job ${chain?.first.jobId} (${n}) was never asked for.`
  }
}

function* followUpsCameWithOutcomes({ requests, chainOf }: Facts): Iterable<string> {
  for (const [n, { order }] of requests) {
    const hasCome = chainOf.has(followUpOf(n))
    const shouldCome = order.does === 'spawns' && chainOf.get(n)?.outcome === 'COMPLETED'
    if (hasCome !== shouldCome) yield `The follow-up of ${n} ${hasCome ? 'exists without its outcome' : 'is missing'}.`
  }
}

function* everythingHasEnded({ evidence }: Facts): Iterable<string> {
  for (const { jobId, order, status, run } of evidence.history.jobs) {
    if (status === 'QUEUED' || status === 'RUNNING') yield `Job ${jobId} (${order.n}) is still ${status}.`
    if (run !== null && run.status === null) yield `Run ${run.runId} of Job ${jobId} (${order.n}) is still open.`
  }
}

/** Attempts are numbered without a gap, and each but the last has failed. */
function* chainsAreWhole({ chains }: Facts): Iterable<string> {
  for (const { first, jobs, last } of chains) {
    const isNumbered = jobs.every(({ attempt }, index) => attempt === index + 1)
    if (!isNumbered) yield `Chain ${first.jobId} has the attempts ${jobs.map(({ attempt }) => attempt).join(', ')}.`
    const odd = jobs.find((job) => job !== last && job.run?.status !== 'FAILED')
    if (odd !== undefined) yield `Job ${odd.jobId} was retried, but its Run is ${odd.run?.status ?? 'missing'}.`
  }
}

/** No body without its Run, and no two of the same Run or Job. */
function* bodiesBelongToRuns({ bodies, jobs, killedAt }: Facts): Iterable<string> {
  const begun = new Map<string, Body>()
  for (const body of bodies) {
    const { runId, jobId, node, n } = body.began
    const run = jobs.get(jobId)?.run
    if (run?.runId !== runId || run.node !== node) {
      yield `A body of ${n} began on ${node} for Run ${runId}, but Job ${jobId} has ${run?.runId ?? 'no Run'} on ${run?.node}.`
    }
    const other = begun.get(jobId)
    if (other !== undefined) yield `Two bodies of Job ${jobId} (${n}) began, on ${other.began.node} and ${node}.`
    begun.set(jobId, body)
    if (body.ended === null && !killedAt.has(node)) yield `A body of ${n} on ${node}, which lives, has not ended.`
  }
}

/** A Run ended as its body did; or its node was killed; or its group skipped it. */
function* runsHaveCauses({ evidence, bodyOf, killedAt, groupOf }: Facts): Iterable<string> {
  for (const { jobId, order, run } of evidence.history.jobs) {
    if (run === null) continue
    const said = `Run ${run.runId} of Job ${jobId} (${order.n}) on ${run.node} is ${run.status} ${run.reason ?? ''}`
    const body = bodyOf.get(run.runId)
    if (run.reason === 'crash') {
      if (!killedAt.has(run.node)) yield `${said}, but its node was never killed.`
    } else if (body === undefined) {
      if (run.status !== 'SKIPPED' || groupOf.get(order.n)?.onFailure !== 'skip') yield `${said}, but has no body.`
    } else {
      const expected = `${run.status} ${run.reason ?? ''}`.trim()
      const became = BECOMES[body.ended?.how ?? 'cut off']
      if (became !== expected) yield `${said}, but its body ${body.ended?.how ?? 'was cut off'}.`
    }
  }
}

const BECOMES: Readonly<Record<string, string>> = {
  returned: 'COMPLETED',
  threw: 'FAILED error',
  skipped: 'SKIPPED',
}

const OUTCOMES = {
  completes: 'COMPLETED',
  falters: 'COMPLETED',
  spawns: 'COMPLETED',
  stops: 'COMPLETED',
  waits: 'COMPLETED',
  heeds: 'COMPLETED',
  fails: 'FAILED',
  refuses: 'FAILED',
  skips: 'SKIPPED',
} as const satisfies Record<Order['does'], string>

/** Failures are those that were ordered, so often as the policy says; whoever was cancelled or skipped was so for a reason. */
function* outcomesAreThoseOrdered(facts: Facts): Iterable<string> {
  for (const chain of facts.chains) {
    const { first, jobs, outcome, order } = chain
    const allowed = allowedOutcomes(facts, chain)
    if (!allowed.includes(outcome)) {
      yield `${first.jobId} (${order.n}, ${order.does}) ended ${outcome}, but should have ended ${allowed.join(' or ')}.`
    }
    const errors = jobs.filter(({ run }) => run?.reason === 'error').length
    if (outcome === 'FAILED' && errors !== errorsUntilFailed(order)) {
      yield `${first.jobId} (${order.n}, ${order.does}) was given up after ${errors} errors.`
    }
    if (order.does === 'falters' && errors > order.times)
      yield `${order.n} failed ${errors} times instead of ${order.times}.`
  }
}

function errorsUntilFailed(order: Order): number {
  return order.does === 'refuses' ? 1 : RETRY.maxRetries + 1
}

function allowedOutcomes(facts: Facts, { order }: Chain): string[] {
  const own = OUTCOMES[order.does]
  const request = facts.requests.get(order.n)
  if (request === undefined) return [own]
  const hasFailed = (n: number) => ['FAILED', 'CANCELLED'].includes(facts.chainOf.get(n)?.outcome ?? '')
  if (request.parents.some(hasFailed) && request.options.onParentFailure !== 'run') return ['CANCELLED']
  const group = facts.groupOf.get(order.n)
  if (group === undefined || group.onFailure === 'continue' || !group.members.some(hasFailed)) return [own]
  const instead = group.onFailure === 'stop' ? 'CANCELLED' : 'SKIPPED'
  // Members at the same time may have started before the failure, or not. Of a sequence nobody has.
  if (group.mode === 'parallel') return [own, instead]
  const isAfterFailure = group.members.slice(0, group.members.indexOf(order.n)).some(hasFailed)
  return [isAfterFailure ? instead : own]
}

function* limitsHeld({ evidence, bodies }: Facts): Iterable<string> {
  for (const { name, max, types } of evidence.limits) {
    yield* overfull(
      bodies.filter(({ began }) => types.includes(began.type)),
      max,
      `the limit ${name}`,
    )
  }
  for (const [node, own] of byKey(bodies, ({ began }) => began.node)) {
    yield* overfull(own, evidence.concurrency, `the places of ${node}`)
  }
}

/** Bodies are in the order of their beginnings. */
function* overfull(bodies: readonly Body[], max: number, name: string): Iterable<string> {
  let open: Body[] = []
  for (const body of bodies) {
    open = open.filter(({ until }) => until > body.began.at)
    open.push(body)
    if (open.length <= max) continue
    const holders = open.map(({ began }) => `${began.n} on ${began.node} (Run ${began.runId}, since ${began.at})`)
    yield `${open.length} bodies at once held ${name} of ${max}: ${holders.join(', ')}.`
  }
}

function* childrenBeganAfterParents(facts: Facts): Iterable<string> {
  for (const [n, request] of facts.requests) {
    const began = firstBegan(facts, n)
    if (began === null) continue
    for (const parent of facts.parentsOf(request)) {
      const chain = facts.chainOf.get(parent)
      const body = chain === undefined ? null : facts.lastBody(chain)
      if (body !== null && began.at < body.until)
        yield `${n} began on ${began.node} at ${began.at}, before its parent ${parent} ended at ${body.until}.`
    }
  }
}

/** Neither before its delay was over, nor a retry before its backoff. */
function* nothingBeganEarly(facts: Facts): Iterable<string> {
  const askedAt = new Map<number, number>()
  for (const ack of facts.evidence.recorded.acks) {
    askedAt.set(ack.n, Math.min(ack.askedAt, askedAt.get(ack.n) ?? ack.askedAt))
  }
  for (const [n, { options }] of facts.requests) {
    const earliest = (askedAt.get(n) ?? 0) + (options.delayMs ?? 0) - TOLERANCE_MS
    const began = firstBegan(facts, n)
    if (began !== null && began.at < earliest) yield `${n} began ${earliest - began.at} ms too early.`
  }
  for (const { order, jobs } of facts.chains) {
    for (const [index, job] of jobs.entries()) {
      const before = jobs[index - 1]?.run
      if (before?.reason !== 'error') continue
      const [last, next] = [facts.bodyOf.get(before.runId), facts.bodyOf.get(job.run?.runId ?? '')]
      if (last === undefined || next === undefined) continue
      const earliest = last.until + RETRY.backoff.delayMs - TOLERANCE_MS
      if (next.began.at < earliest)
        yield `Attempt ${job.attempt} of ${order.n} began ${earliest - next.began.at} ms too early.`
    }
  }
}

function firstBegan({ chainOf, bodyOf }: Facts, n: number): Note | null {
  for (const { run } of chainOf.get(n)?.jobs ?? []) {
    const body = run === null ? undefined : bodyOf.get(run.runId)
    if (body !== undefined) return body.began
  }
  return null
}

function* groupsAreCounted({ evidence, chains }: Facts): Iterable<string> {
  const members = byKey(chains, ({ first }) => first.groupId)
  for (const { groupId, isSettled, counts } of evidence.history.groups) {
    const own = members.get(groupId) ?? []
    const count = (outcome: string) => own.filter((chain) => chain.outcome === outcome).length
    const recount = {
      total: own.length,
      completed: count('COMPLETED'),
      failed: count('FAILED'),
      skipped: count('SKIPPED'),
      cancelled: count('CANCELLED'),
    }
    const [told, found] = [JSON.stringify(counts), JSON.stringify(recount)]
    if (told !== found) yield `Group ${groupId} says ${told}, but its members say ${found}.`
    if (!isSettled) yield `Group ${groupId} has not settled.`
  }
}

function byKey<Key, Item>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}
