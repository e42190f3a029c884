import type { ChainOutcome } from '../../src/domain/chain.ts'
import type { OnParentFailure } from '../../src/domain/dependency.ts'
import type { GroupMode, GroupStatus, OnMemberFailure } from '../../src/domain/group.ts'
import type {
  CancelResult,
  EditResult,
  EnqueueConflict,
  EnqueueResult,
  JobEdit,
  ManualRetryResult,
} from '../../src/store/jobs.ts'

import { position } from '../stores/source-stores.ts'
import {
  type Cascade,
  type Edge,
  inOrder,
  isCauseOfStop,
  isFailure,
  isWaiting,
  lastOf,
  leaveGroup,
  type ModelChain,
  type ModelGroup,
  type ModelJob,
  outcomeOf,
  PARAMS,
  type Request,
} from './model-state.ts'

/**
 * What a store does with Jobs that depend on each other and belong together, told a second time in plain objects: no SQL,
 * no indexes, everything is looked up by searching. It shares only names of types with the code that it is compared to.
 */

/** As many dependents and members are dealt with in the transaction that concerns them; the rest is stored. */
const AT_ONCE_MAX = 128

/** Who carries out cascades in this transaction. */
interface Actor {
  readonly isNode: boolean
  readonly makesIds: boolean
}

const NOBODY: Actor = { isNode: false, makesIds: false }

export class Model {
  now: number
  readonly jobs: ModelJob[] = []
  readonly chains: ModelChain[] = []
  groups: ModelGroup[] = []
  stored: Cascade[] = []
  readonly #idempotency = new Map<string, ModelJob>()
  // Of the transaction under way:
  #settled: { readonly chain: ModelChain; readonly isOrderOver: boolean }[] = []
  #cascades: Cascade[] = []
  #cascaded = 0
  #lastPositions = new Map<number, number>()

  constructor(now: number) {
    this.now = now
  }

  // What can be asked of it

  enqueue(requests: readonly Request[], group: ModelGroup | null = null): EnqueueResult {
    this.#begin()
    const conflict = this.#findConflict(requests)
    if (conflict !== null) return { kind: 'refused', conflict }
    const byId = new Map<string, ModelJob>()
    const known = this.jobs.length
    const items = requests.map((request) => {
      const used = request.idempotencyKey === null ? undefined : this.#idempotency.get(request.idempotencyKey)
      const job = used ?? this.#accept(request, group)
      byId.set(request.id, job)
      return used === undefined
        ? { kind: 'created' as const, jobId: request.id, position: position(job.position) }
        : { kind: 'existing' as const, jobId: used.id as string, pruned: used.chain.isPruned }
    })
    if (group !== null) this.groups.push(group)
    requests.forEach((request, index) => {
      if (items[index]?.kind === 'existing') return
      this.#connect(byId.get(request.id) as ModelJob, request, requests[index - 1] ?? null, byId)
    })
    const fresh = this.jobs.slice(known)
    const freshChains = new Set(fresh.map(({ chain }) => chain))
    for (const job of fresh) {
      // A parent of the same list dooms nobody now; what becomes of it is told below.
      const doom = job.chain.edges.find((edge) => !freshChains.has(edge.parent) && this.#weigh(edge) === 'cancel')
      if (doom !== undefined) this.#cancelQueued(job, true)
    }
    this.#carryOut(NOBODY)
    return { kind: 'enqueued', items }
  }

  createGroup(id: string, mode: GroupMode, onFailure: OnMemberFailure, requests: readonly Request[]): EnqueueResult {
    const settled = { COMPLETED: 0, FAILED: 0, SKIPPED: 0, CANCELLED: 0 }
    const flags = { isStopped: false, isCancelRequested: false, startedAt: null, finishedAt: null }
    return this.enqueue(requests, { id, mode, onFailure, total: requests.length, settled, ...flags })
  }

  claim(limit: number): ModelJob[] {
    const claimed = this.queue()
      .filter((job) => this.holdOf(job) === null)
      .slice(0, limit)
    for (const job of claimed) {
      job.status = 'RUNNING'
      job.isOccupied = true
      if (job.group !== null) job.group.startedAt ??= this.now
    }
    return claimed
  }

  finish(
    job: ModelJob,
    end: {
      readonly outcome: ChainOutcome
      readonly retry: { readonly id: string; readonly runAt: number } | null
      readonly bodyEnds: boolean
    },
  ): { retryJobId: string | null } {
    this.#begin()
    job.status = end.outcome === 'CANCELLED' ? 'CANCELLED' : 'FINISHED'
    job.outcome = end.outcome === 'CANCELLED' ? 'FAILED' : end.outcome
    job.isOccupied = !end.bodyEnds
    const retry = job.isCancelRequested || job.group?.isCancelRequested === true ? null : end.retry
    if (retry !== null) this.#append(job.chain, retry.id, job.priority, job.position, retry.runAt, job.group)
    else {
      this.#settle(job, end.outcome)
      this.#carryOut({ isNode: this.#cascades.length > 0, makesIds: true })
    }
    return { retryJobId: retry?.id ?? null }
  }

  release(job: ModelJob): void {
    job.isOccupied = false
  }

  cancel(job: ModelJob): CancelResult['kind'] {
    this.#begin()
    const last = lastOf(job.chain)
    switch (last.status) {
      case 'QUEUED':
        this.#cancelQueued(last, false)
        this.#carryOut(NOBODY)
        return 'cancelled'
      case 'RUNNING':
        last.isCancelRequested = true
        return 'requested'
      case 'CANCELLED':
        return 'already-cancelled'
      case 'FINISHED':
        return 'ended'
    }
  }

  retry(job: ModelJob, newJobId: string, dependents: boolean): ManualRetryResult['kind'] {
    this.#begin()
    const last = lastOf(job.chain)
    const revive = () => {
      if (!dependents) return
      this.#cascades.push({ kind: 'revived', subject: job.chain, cursor: 0 })
      this.#carryOut({ isNode: false, makesIds: true })
    }
    if (last.status === 'QUEUED' && last.retryOf !== null && (last === job || last.retryOf === job)) {
      last.runAt = Math.min(last.runAt, this.now)
      revive()
      return 'made-due'
    }
    if (last !== job) return 'not-last'
    if (last.status !== 'CANCELLED' && last.outcome !== 'FAILED') return 'not-retryable'
    const result = this.#appendByHand(last, newJobId, true)
    if (result === 'created') revive()
    return result === 'doomed' ? 'not-found' : result
  }

  cancelGroup(group: ModelGroup): 'requested' | 'ended' {
    this.#begin()
    if (group.finishedAt !== null) return 'ended'
    group.isCancelRequested = true
    group.isStopped = true
    this.#cascades.push({ kind: 'cancel', subject: group, cursor: 0 })
    this.#carryOut(NOBODY)
    return 'requested'
  }

  applyCascade(limit: number): 'applied' | 'idle' {
    this.#begin()
    for (let cascades = 0; ; cascades++) {
      const room = limit - Math.max(cascades, this.#cascaded)
      const cascade = this.stored[0]
      if (cascade === undefined || room <= 0) return cascades === 0 ? 'idle' : 'applied'
      const { subject } = cascade
      const isLast = this.#applyPage(cascade, room)
      const isFollowed = this.stored.some((other) => other !== cascade && other.subject === subject)
      if (isLast) this.stored = this.stored.filter((other) => other !== cascade)
      // A long one steps behind the others, but not behind a later one of the same chain or group.
      else if (this.stored.includes(cascade) && !isFollowed) this.stored.push(this.stored.shift() as Cascade)
      this.#carryOut({ isNode: true, makesIds: true })
    }
  }

  reprioritise(job: ModelJob, priority: number): 'moved' | 'not-queued' {
    this.#begin()
    if (job.status !== 'QUEUED') return 'not-queued'
    if (job.priority === priority) return 'moved'
    job.position = this.#lastPosition(priority)
    job.priority = priority
    return 'moved'
  }

  edit(
    job: ModelJob,
    { priority = job.priority, params = job.params, runAt = job.runAt }: JobEdit,
  ): EditResult['kind'] {
    this.#begin()
    if (job.status !== 'QUEUED') return 'not-queued'
    if (priority !== job.priority) job.position = this.#lastPosition(priority)
    job.priority = priority
    job.params = params
    // One that is to start as soon as it can keeps the instant since which it waits.
    job.runAt = runAt ?? Math.min(job.runAt, this.now)
    return 'edited'
  }

  /** Removes all chains that may go. */
  prune(): void {
    for (const chain of this.chains) {
      if (chain.isPruned || outcomeOf(chain) === null || chain.jobs.some(({ isOccupied }) => isOccupied)) continue
      const group = chain.jobs[0]?.group ?? null
      if (group !== null && group.finishedAt === null) continue
      if (this.stored.some(({ subject }) => subject === chain)) continue
      const hasLiveChild = this.chains.some(
        (child) => !child.isPruned && outcomeOf(child) === null && child.edges.some(({ parent }) => parent === chain),
      )
      if (!hasLiveChild) chain.isPruned = true
    }
    this.groups = this.groups.filter(
      (group) => group.finishedAt === null || this.living().some((job) => job.group === group),
    )
  }

  // What can be seen of it

  living(): ModelJob[] {
    return this.jobs.filter(({ chain }) => !chain.isPruned)
  }

  queue(): ModelJob[] {
    return this.jobs.filter(({ status }) => status === 'QUEUED').sort(inOrder)
  }

  holdOf(job: ModelJob): string | null {
    if (job.chain.jobs.some((other) => other !== job && other.isOccupied)) return 'predecessor'
    const unmet = job.chain.edges.filter(isWaiting)
    if (unmet.length > 0) return unmet.some(({ ofGroup }) => !ofGroup) ? 'dependencies' : 'group'
    return job.runAt > this.now ? 'delayed' : null
  }

  statusOf(group: ModelGroup): { readonly status: GroupStatus; readonly counts: Record<string, number> } {
    const { COMPLETED: completed, FAILED: failed, SKIPPED: skipped, CANCELLED: cancelled } = group.settled
    const running = this.jobs.filter((job) => job.group === group && job.status === 'RUNNING').length
    const queued = group.total - completed - failed - skipped - cancelled - running
    const counts = { total: group.total, queued, running, completed, failed, skipped, cancelled }
    return { status: this.#groupStatus(group, queued), counts }
  }

  #groupStatus(group: ModelGroup, queued: number): GroupStatus {
    const { COMPLETED, SKIPPED } = group.settled
    if (group.finishedAt !== null) {
      if (COMPLETED + SKIPPED === group.total) return 'COMPLETED'
      return group.isCancelRequested ? 'CANCELLED' : 'PARTIAL'
    }
    const hasCascade = this.stored.some(({ subject }) => subject === group)
    return group.startedAt === null && !hasCascade && queued === group.total ? 'QUEUED' : 'RUNNING'
  }

  // Accepting

  #begin(): void {
    this.#settled = []
    this.#cascades = []
    this.#cascaded = 0
    this.#lastPositions = new Map()
  }

  #findConflict(requests: readonly Request[]): EnqueueConflict | null {
    const keys = new Map<string, string>()
    const own = new Set<string>()
    const isUsed = (key: string | null) => key !== null && (own.has(key) || this.#idempotency.has(key))
    for (const [index, { id, businessKey, idempotencyKey }] of requests.entries()) {
      if (isUsed(idempotencyKey)) continue
      if (idempotencyKey !== null) own.add(idempotencyKey)
      if (businessKey === null) continue
      const holder = keys.get(businessKey) ?? this.#holderOf(businessKey)?.jobs[0]?.id
      if (holder != null) return { kind: 'business-key-taken', index, jobId: holder }
      keys.set(businessKey, id)
    }
    return this.#findMissing(requests) ?? this.#findCycle(requests)
  }

  #findMissing(requests: readonly Request[]): EnqueueConflict | null {
    const own = new Set<string>()
    const isUsed = (key: string | null) => key !== null && (own.has(key) || this.#idempotency.has(key))
    for (const [index, { dependsOn, idempotencyKey }] of requests.entries()) {
      const isRepeated = isUsed(idempotencyKey)
      if (idempotencyKey !== null) own.add(idempotencyKey)
      if (isRepeated) continue
      const jobId = dependsOn.map((parent) => this.#meantBy(parent, requests)).find((id) => !this.#exists(id, requests))
      if (jobId !== undefined) return { kind: 'parent-not-found', index, jobId }
    }
    return null
  }

  /** A Job of the list whose key was used before stands for the first Job with that key. */
  #meantBy(jobId: string, requests: readonly Request[]): string {
    const key = requests.find(({ id }) => id === jobId)?.idempotencyKey ?? null
    return (key === null ? null : this.#idempotency.get(key)?.id) ?? jobId
  }

  #exists(jobId: string, requests: readonly Request[]): boolean {
    return requests.some(({ id }) => id === jobId) || this.living().some(({ id }) => id === jobId)
  }

  /** By way of keys that mean the same Job, one of the list may wait for itself. */
  #findCycle(requests: readonly Request[]): EnqueueConflict | null {
    const firstOf = (request: Request) =>
      request.idempotencyKey === null
        ? request
        : (requests.find(({ idempotencyKey }) => idempotencyKey === request.idempotencyKey) as Request)
    const parentsOf = (request: Request): Request[] => {
      const { idempotencyKey } = request
      if (idempotencyKey !== null && this.#idempotency.has(idempotencyKey)) return []
      return request.dependsOn.flatMap((named) => requests.filter(({ id }) => id === named)).map(firstOf)
    }
    const reaches = (from: Request, to: Request, seen: ReadonlySet<Request>): boolean =>
      parentsOf(from).some(
        (parent) => parent === to || (!seen.has(parent) && reaches(parent, to, new Set([...seen, parent]))),
      )
    const index = requests.findIndex((request) => firstOf(request) === request && reaches(request, request, new Set()))
    return index === -1 ? null : { kind: 'dependency-cycle', index, jobId: requests[index]?.id as string }
  }

  /** A business key belongs to a chain until it has settled and no body of it executes. */
  #holderOf(key: string): ModelChain | undefined {
    return this.chains.find(
      (chain) =>
        chain.businessKey === key &&
        !chain.isPruned &&
        (outcomeOf(chain) === null || chain.jobs.some(({ isOccupied }) => isOccupied)),
    )
  }

  #accept(request: Request, group: ModelGroup | null): ModelJob {
    const { businessKey, idempotencyKey, id, priority } = request
    const chain: ModelChain = { number: this.chains.length, businessKey, jobs: [], edges: [], isPruned: false }
    this.chains.push(chain)
    const job = this.#append(chain, id, priority, this.#lastPosition(priority), request.runAt ?? this.now, group)
    if (idempotencyKey !== null) this.#idempotency.set(idempotencyKey, job)
    return job
  }

  #connect(job: ModelJob, request: Request, before: Request | null, byId: ReadonlyMap<string, ModelJob>): void {
    const { edges } = job.chain
    const add = (named: string, ofGroup: boolean, onFailure: OnParentFailure) => {
      const parent = byId.get(named) ?? (this.living().find(({ id }) => id === named) as ModelJob)
      const parentId = byId.has(named) ? (parent.id as string) : named
      if (edges.some((edge) => edge.parentId === parentId)) return
      const edge: Edge = { parentId, parent: parent.chain, isNamed: !ofGroup, ofGroup, onFailure, state: 'waiting' }
      if (this.#weigh(edge) === 'met') edge.state = 'met'
      edges.push(edge)
    }
    for (const named of request.dependsOn) add(named, false, request.onParentFailure)
    if (job.group?.mode !== 'sequential' || before === null) return
    add(before.id, true, job.group.onFailure === 'continue' ? 'run' : 'wait')
  }

  /** What the parent’s chain, as it is now, means to the child. */
  #weigh(edge: Edge): 'met' | 'cancel' | 'wait' {
    if (edge.parent.isPruned) return 'met'
    const outcome = outcomeOf(edge.parent)
    if (outcome === null) return 'wait'
    if (!isFailure(outcome) || edge.onFailure === 'run') return 'met'
    return edge.onFailure
  }

  /** The same for a chain that goes on. If the member before it does not, there is no order left to keep. */
  #weighAgain(edge: Edge): 'met' | 'cancel' | 'wait' {
    return edge.ofGroup && outcomeOf(edge.parent) !== null ? 'met' : this.#weigh(edge)
  }

  // Going on with a chain

  #append(
    chain: ModelChain,
    id: string | null,
    priority: number,
    position: number,
    runAt: number,
    group: ModelGroup | null,
  ): ModelJob {
    const before = chain.jobs.at(-1) ?? null
    const job: ModelJob = {
      id,
      chain,
      attempt: chain.jobs.length + 1,
      createdAt: this.now,
      retryOf: before,
      status: 'QUEUED',
      outcome: null,
      priority,
      position,
      runAt,
      params: before?.params ?? PARAMS,
      group,
      isOccupied: false,
      isCancelRequested: false,
      isCancelledForAnother: false,
    }
    chain.jobs.push(job)
    this.jobs.push(job)
    return job
  }

  #appendByHand(last: ModelJob, id: string | null, byHand: boolean): 'created' | 'doomed' | 'business-key-taken' {
    const { chain } = last
    const holder = chain.businessKey === null ? undefined : this.#holderOf(chain.businessKey)
    if (holder !== undefined && holder !== chain) return 'business-key-taken'
    const unmet = chain.edges.filter(({ state }) => state !== 'met')
    const isWaived = (edge: Edge) => byHand && outcomeOf(edge.parent) !== null
    const means = (edge: Edge) => (isWaived(edge) ? 'met' : this.#weighAgain(edge))
    if (unmet.some((edge) => means(edge) === 'cancel')) return 'doomed'
    for (const edge of unmet) edge.state = means(edge) === 'met' ? 'met' : 'waiting'
    const stays = last.group === null || this.#takeBack(last.group, outcomeOf(chain) as ChainOutcome)
    if (!stays) for (const edge of chain.edges.filter(({ ofGroup }) => ofGroup)) leaveGroup(edge)
    const group = stays ? last.group : null
    this.#append(chain, id, last.priority, this.#lastPosition(last.priority), this.now, group)
    return 'created'
  }

  #takeBack(group: ModelGroup, outcome: ChainOutcome): boolean {
    if (group.finishedAt !== null) return false
    group.settled[outcome]--
    group.isStopped = false
    return true
  }

  /** Behind everything that is queued or executes at this priority, and behind what this transaction put there. */
  #lastPosition(priority: number): number {
    const places = this.jobs.filter((job) => (job.status === 'QUEUED' || job.isOccupied) && job.priority === priority)
    const highest = this.#lastPositions.get(priority) ?? Math.max(0, ...places.map(({ position }) => position))
    this.#lastPositions.set(priority, highest + 100)
    return highest + 100
  }

  // Ending a chain, and what follows

  #cancelQueued(job: ModelJob, isForAnother: boolean): void {
    job.status = 'CANCELLED'
    job.isCancelledForAnother = isForAnother
    for (const edge of job.chain.edges.filter(isWaiting)) edge.state = 'given-up'
    this.#settle(job, 'CANCELLED')
  }

  #skipQueued(job: ModelJob): void {
    job.status = 'FINISHED'
    job.outcome = 'SKIPPED'
    for (const edge of job.chain.edges.filter(isWaiting)) edge.state = 'given-up'
    this.#settle(job, 'SKIPPED')
  }

  #settle(job: ModelJob, outcome: ChainOutcome): void {
    const isLive = job.group !== null && job.group.finishedAt === null
    if (job.group !== null && isLive) this.#count(job.group, outcome)
    const isOrderOver = isLive && (job.group?.isStopped === true || job.group?.finishedAt !== null)
    this.#settled.push({ chain: job.chain, isOrderOver })
  }

  #count(group: ModelGroup, outcome: ChainOutcome): void {
    group.settled[outcome]++
    const ended = Object.values(group.settled).reduce((sum, count) => sum + count, 0)
    if (ended === group.total) {
      group.finishedAt = this.now
      this.stored = this.stored.filter(({ subject }) => subject !== group)
      return
    }
    if (!isFailure(outcome) || group.onFailure === 'continue' || group.isStopped) return
    group.isStopped = true
    this.#cascades.push({ kind: group.onFailure, subject: group, cursor: 0 })
  }

  #carryOut(actor: Actor): void {
    for (;;) {
      for (const { chain, isOrderOver } of this.#settled.splice(0)) {
        if (this.#isAwaited(chain, isOrderOver)) this.#cascades.push({ kind: 'settled', subject: chain, cursor: 0 })
      }
      const cascade = this.#cascades.shift()
      if (cascade === undefined) return
      const room = AT_ONCE_MAX - this.#cascaded
      const canAct = (cascade.kind !== 'skip' || actor.isNode) && (cascade.kind !== 'revived' || actor.makesIds)
      const mustWait = this.stored.some(({ subject }) => subject === cascade.subject)
      if (room <= 0 || !canAct || mustWait || !this.#applyPage(cascade, room)) this.stored.push(cascade)
    }
  }

  /** Where no further member is to start, the order of a sequential group releases nobody. */
  #isAwaited(chain: ModelChain, isOrderOver: boolean): boolean {
    const listens = (edge: Edge) => edge.parent === chain && isWaiting(edge) && !(isOrderOver && edge.ofGroup)
    return this.chains.some((child) => !child.isPruned && child.edges.some(listens))
  }

  /** True: that was its last page. */
  #applyPage(cascade: Cascade, limit: number): boolean {
    const { subject } = cascade
    if ('total' in subject) return this.#orderMembers(cascade, subject, limit)
    const outcome = outcomeOf(subject)
    if (cascade.kind === 'settled' && outcome === null) return true
    // One for each edge: a child that named several Jobs of the chain is there more than once.
    const state = cascade.kind === 'revived' ? 'given-up' : 'waiting'
    const isConcerned = (edge: Edge) => edge.parent === subject && edge.state === state
    const children = this.chains
      .filter((child) => !child.isPruned && child.number >= cascade.cursor)
      .flatMap((child) => child.edges.filter(isConcerned).map(() => child))
      .slice(0, limit)
    for (const child of children) {
      if (cascade.kind === 'revived') this.#revive(child)
      else this.#tell(child, subject, outcome as ChainOutcome)
    }
    this.#cascaded += children.length
    cascade.cursor = (children.at(-1)?.number ?? cascade.cursor - 1) + 1
    return children.length < limit
  }

  #tell(child: ModelChain, parent: ModelChain, outcome: ChainOutcome): void {
    const job = lastOf(child)
    const edges = child.edges.filter((edge) => edge.parent === parent && isWaiting(edge))
    const [first] = edges
    if (job.status !== 'QUEUED' || first === undefined) return
    // The order of a group that was stopped lets nobody start.
    if (first.ofGroup && job.group?.isStopped === true) return
    if (!isFailure(outcome) || first.onFailure === 'run') for (const edge of edges) edge.state = 'met'
    else if (first.onFailure === 'cancel') this.#cancelQueued(job, true)
  }

  #revive(child: ModelChain): void {
    const last = lastOf(child)
    if (last.status !== 'CANCELLED' || !last.isCancelledForAnother) return
    if (this.#appendByHand(last, null, false) !== 'created') return
    this.#cascades.push({ kind: 'revived', subject: child, cursor: 0 })
  }

  #orderMembers(cascade: Cascade, group: ModelGroup, limit: number): boolean {
    const members = this.jobs
      .map((job, index) => ({ job, index }))
      .filter(({ job, index }) => job.group === group && !job.chain.isPruned && index >= cascade.cursor)
      .slice(0, limit)
    for (const { job } of members) {
      if (cascade.kind === 'cancel') {
        if (job.status === 'QUEUED') this.#cancelQueued(job, false)
        else if (job.status === 'RUNNING') job.isCancelRequested = true
      } else if (job.status === 'QUEUED' && (job.attempt === 1 || job.chain.edges.some(isWaiting))) {
        // A waiting retry has started, unless it waits for a parent again.
        if (cascade.kind === 'stop') this.#cancelQueued(job, job.chain.edges.filter(isWaiting).some(isCauseOfStop))
        else this.#skipQueued(job)
      }
    }
    this.#cascaded += members.length
    cascade.cursor = (members.at(-1)?.index ?? cascade.cursor - 1) + 1
    return members.length < limit
  }
}
