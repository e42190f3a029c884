import fc from 'fast-check'
import { expect } from 'vitest'
import type { ChainOutcome } from '../../src/domain/chain.ts'
import { ON_PARENT_FAILURE, type OnParentFailure } from '../../src/domain/dependency.ts'
import type { GroupMode, OnMemberFailure } from '../../src/domain/group.ts'
import type { CancelMode } from '../../src/domain/job.ts'
import { newGroup } from '../../src/store/conformance/composition-steps.ts'
import { completed, endOf, failed, newId, newJob, newRetry, skipped } from '../../src/store/conformance/fixtures.ts'
import type { Model } from './model.ts'
import { type ModelJob, PARAMS, type Request } from './model-state.ts'
import type { World } from './world.ts'

/** One thing that somebody does to a store. `crashAt`: right before that write of it, the process dies. */
abstract class Step implements fc.AsyncCommand<Model, World> {
  readonly crashAt: number | null

  constructor(crashAt: number | null) {
    this.crashAt = crashAt
  }

  check(_model: Readonly<Model>): boolean {
    return true
  }

  async run(model: Model, world: World): Promise<void> {
    await this.act(model, world)
    await world.agreesWith(model)
  }

  toString(): string {
    const { crashAt, ...rest } = this
    const text = JSON.stringify(rest)
    return `${this.constructor.name}(${text}${crashAt === null ? '' : `, crash at ${crashAt}`})`
  }

  protected abstract act(model: Model, world: World): Promise<void>

  /** Does it to the store and, unless that crashed, to the model. Both must say the same. */
  protected async both<T>(world: World, real: () => Promise<T>, expected: (answer: T) => unknown): Promise<T | null> {
    const attempt = await world.attempt(this.crashAt, real)
    if (attempt === 'crashed') return null
    expect(attempt.result).toEqual(expected(attempt.result))
    return attempt.result
  }
}

/** A Job to be accepted. Others are named by numbers, which mean whatever is there when the step is taken. */
interface Wish {
  readonly priority: number
  readonly delayMs: number
  readonly siblings: readonly number[]
  readonly parents: readonly number[]
  readonly hasUnknownParent: boolean
  readonly onParentFailure: OnParentFailure
  readonly businessKey: string | null
  readonly idempotencyKey: string | null
}

function toRequests(model: Model, wishes: readonly Wish[], isReversed: boolean): Request[] {
  const ids = wishes.map(newId)
  const known = model.living()
  const requests = wishes.map((wish, index) => {
    const siblings = index === 0 ? [] : wish.siblings.map((number) => ids[number % index] as string)
    const parents = known.length === 0 ? [] : wish.parents.map((number) => pick(known, number).id as string)
    return {
      id: ids[index] as string,
      priority: wish.priority,
      runAt: wish.delayMs === 0 ? null : model.now + wish.delayMs,
      dependsOn: [...siblings, ...parents, ...(wish.hasUnknownParent ? [newId()] : [])],
      onParentFailure: wish.onParentFailure,
      businessKey: wish.businessKey,
      idempotencyKey: wish.idempotencyKey,
    }
  })
  return isReversed ? requests.reverse() : requests
}

function toNewJob(request: Request) {
  const { id: jobId, idempotencyKey, ...rest } = request
  const idempotency = idempotencyKey === null ? null : { key: idempotencyKey, fingerprint: 'f' }
  return newJob({ jobId, idempotency, params: PARAMS, ...rest })
}

/** The element that this number means. Small numbers mean the latest ones, so that a shrunk sequence stays meaningful. */
function pick<T>(list: readonly T[], number: number): T {
  return list[list.length - 1 - (number % list.length)] as T
}

export class Enqueue extends Step {
  readonly wishes: readonly Wish[]
  readonly isReversed: boolean

  constructor(wishes: readonly Wish[], isReversed: boolean, crashAt: number | null) {
    super(crashAt)
    this.wishes = wishes
    this.isReversed = isReversed
  }

  protected async act(model: Model, world: World): Promise<void> {
    const requests = toRequests(model, this.wishes, this.isReversed)
    const real = () => world.store.enqueueJobs(requests.map(toNewJob), model.now)
    await this.both(world, real, () => model.enqueue(requests))
  }
}

export class EnqueueChildren extends Step {
  readonly parent: number
  readonly count: number
  readonly onParentFailure: OnParentFailure

  constructor(parent: number, count: number, onParentFailure: OnParentFailure, crashAt: number | null) {
    super(crashAt)
    this.parent = parent
    this.count = count
    this.onParentFailure = onParentFailure
  }

  override check(model: Readonly<Model>): boolean {
    return model.living().length > 0 && model.jobs.length < CHILDREN_MAX
  }

  protected async act(model: Model, world: World): Promise<void> {
    const rest = { priority: 0, runAt: null, businessKey: null, idempotencyKey: null }
    const dependsOn = [pick(model.living(), this.parent).id as string]
    const { onParentFailure } = this
    const requests = Array.from({ length: this.count }, () => ({ id: newId(), ...rest, dependsOn, onParentFailure }))
    const real = () => world.store.enqueueJobs(requests.map(toNewJob), model.now)
    await this.both(world, real, () => model.enqueue(requests))
  }
}

/** When there are so many Jobs, no more are added by the hundred. */
const CHILDREN_MAX = 150

export class CreateGroup extends Step {
  readonly wishes: readonly Wish[]
  readonly mode: GroupMode
  readonly onFailure: OnMemberFailure

  constructor(wishes: readonly Wish[], mode: GroupMode, onFailure: OnMemberFailure, crashAt: number | null) {
    super(crashAt)
    this.wishes = wishes.map((wish) => ({ ...wish, idempotencyKey: null }))
    this.mode = mode
    this.onFailure = onFailure
  }

  protected async act(model: Model, world: World): Promise<void> {
    const { mode, onFailure } = this
    const requests = toRequests(model, this.wishes, false)
    const group = newGroup({ mode, onFailure })
    const real = () => world.store.createGroup(group, requests.map(toNewJob), model.now)
    await this.both(world, real, () => model.createGroup(group.groupId, mode, onFailure, requests))
  }
}

export class Claim extends Step {
  readonly limit: number

  constructor(limit: number, crashAt: number | null) {
    super(crashAt)
    this.limit = limit
  }

  protected async act(model: Model, world: World): Promise<void> {
    const { nodeId } = world
    const request = { nodeId, now: model.now, limit: this.limit, types: new Map([['story', ALL]]), newRunId: newId }
    const attempt = await world.attempt(this.crashAt, () => world.store.claimJobs(request))
    if (attempt === 'crashed') return
    const { jobs } = attempt.result
    expect(jobs.map(({ claim }) => claim.jobId)).toEqual(model.claim(this.limit).map(({ id }) => id))
    for (const job of jobs) world.claims.set(job.claim.jobId, job)
  }
}

const ALL = 10_000

abstract class JobStep extends Step {
  readonly target: number

  constructor(target: number, crashAt: number | null) {
    super(crashAt)
    this.target = target
  }

  override check(model: Readonly<Model>): boolean {
    return this.candidates(model).length > 0
  }

  protected candidates(model: Readonly<Model>): ModelJob[] {
    return model.living()
  }

  protected job(model: Model): ModelJob {
    return pick(this.candidates(model), this.target)
  }
}

export type Ending = ChainOutcome | 'RETRIED'

export class Finish extends JobStep {
  readonly ending: Ending
  readonly bodyEnds: boolean
  readonly delayMs: number

  constructor(target: number, ending: Ending, bodyEnds: boolean, delayMs: number, crashAt: number | null) {
    super(target, crashAt)
    this.ending = ending
    this.bodyEnds = bodyEnds
    this.delayMs = delayMs
  }

  protected override candidates(model: Readonly<Model>): ModelJob[] {
    return model.living().filter(({ status }) => status === 'RUNNING')
  }

  protected async act(model: Model, world: World): Promise<void> {
    const { ending, bodyEnds } = this
    const job = this.job(model)
    const claimed = world.claims.get(job.id as string)
    expect.assert(claimed !== undefined)
    const outcomes = { COMPLETED: completed(), SKIPPED: skipped(), CANCELLED: failed('cancelled'), FAILED: failed() }
    const outcome = ending === 'RETRIED' ? 'FAILED' : ending
    const retry = ending === 'RETRIED' ? newRetry({ runAt: model.now + this.delayMs }) : null
    const end = endOf(claimed, {
      outcome: outcomes[outcome],
      finishedAt: model.now,
      retry,
      body: bodyEnds ? 'ended' : 'executing',
    })
    await this.both(
      world,
      () => world.store.finishRuns([end], newId),
      () => {
        const order = retry === null ? null : { id: retry.jobId, runAt: retry.runAt }
        return [{ kind: 'finished', ...model.finish(job, { outcome, retry: order, bodyEnds }), followUps: [] }]
      },
    )
  }
}

/** The body of a Run whose outcome was known before comes to its end. */
export class Release extends JobStep {
  protected override candidates(model: Readonly<Model>): ModelJob[] {
    return model.living().filter(({ status, isOccupied }) => status !== 'RUNNING' && isOccupied)
  }

  protected async act(model: Model, world: World): Promise<void> {
    const job = this.job(model)
    const claimed = world.claims.get(job.id as string)
    expect.assert(claimed !== undefined)
    const real = () => world.store.releaseOccupancies([claimed.claim], model.now)
    await this.both(world, real, () => model.release(job))
  }
}

export class Cancel extends JobStep {
  readonly mode: CancelMode

  constructor(target: number, mode: CancelMode, crashAt: number | null) {
    super(target, crashAt)
    this.mode = mode
  }

  protected async act(model: Model, world: World): Promise<void> {
    const job = this.job(model)
    const request = { jobId: job.id as string, mode: this.mode, reason: null, now: model.now }
    const real = async () => (await world.store.cancelJob(request)).kind
    await this.both(world, real, () => model.cancel(job))
  }
}

export class Retry extends JobStep {
  readonly dependents: boolean

  constructor(target: number, dependents: boolean, crashAt: number | null) {
    super(target, crashAt)
    this.dependents = dependents
  }

  /** Mostly what can be retried; but also what cannot. */
  protected override candidates(model: Readonly<Model>): ModelJob[] {
    const ended = model.living().filter(({ status, outcome }) => status === 'CANCELLED' || outcome === 'FAILED')
    return this.target % 8 === 7 ? model.living() : ended
  }

  protected async act(model: Model, world: World): Promise<void> {
    const job = this.job(model)
    const newJobId = newId()
    const dependents = this.dependents ? { newId } : null
    const request = { by: { jobId: job.id as string }, newJobId, priority: null, dependents, now: model.now }
    const real = async () => (await world.store.retryByHand(request)).kind
    await this.both(world, real, () => model.retry(job, newJobId, this.dependents))
  }
}

export class Reprioritise extends JobStep {
  readonly priority: number

  constructor(target: number, priority: number, crashAt: number | null) {
    super(target, crashAt)
    this.priority = priority
  }

  protected async act(model: Model, world: World): Promise<void> {
    const job = this.job(model)
    const request = { jobId: job.id as string, priority: this.priority, now: model.now }
    const real = async () => (await world.store.reprioritiseJob(request)).kind
    await this.both(world, real, () => model.reprioritise(job, this.priority))
  }
}

/** Changes a Job that has not started. What is absent stays. */
export class Edit extends JobStep {
  readonly changes: Changes

  constructor(target: number, changes: Changes, crashAt: number | null) {
    super(target, crashAt)
    this.changes = changes
  }

  /** Mostly what can be edited; but also what cannot. */
  protected override candidates(model: Readonly<Model>): ModelJob[] {
    return this.target % 8 === 7 ? model.living() : model.queue()
  }

  protected async act(model: Model, world: World): Promise<void> {
    const { delayMs, ...rest } = this.changes
    const edit = { ...rest, ...(delayMs === undefined ? {} : { runAt: delayMs === 0 ? null : model.now + delayMs }) }
    const job = this.job(model)
    const request = { jobId: job.id as string, edit, expected: null, now: model.now }
    const real = async () => (await world.store.editJob(request)).kind
    await this.both(world, real, () => model.edit(job, edit))
  }
}

export interface Changes {
  readonly priority?: number
  readonly params?: string
  /** 0: as soon as it can. */
  readonly delayMs?: number
}

export class CancelGroup extends Step {
  readonly target: number
  readonly mode: CancelMode

  constructor(target: number, mode: CancelMode, crashAt: number | null) {
    super(crashAt)
    this.target = target
    this.mode = mode
  }

  override check(model: Readonly<Model>): boolean {
    return model.groups.length > 0
  }

  protected async act(model: Model, world: World): Promise<void> {
    const group = pick(model.groups, this.target)
    const request = { groupId: group.id, mode: this.mode, reason: null, now: model.now }
    await this.both(
      world,
      () => world.store.cancelGroup(request),
      () => model.cancelGroup(group),
    )
  }
}

export class ApplyCascade extends Step {
  readonly limit: number

  constructor(limit: number, crashAt: number | null) {
    super(crashAt)
    this.limit = limit
  }

  override check(model: Readonly<Model>): boolean {
    return model.stored.length > 0
  }

  protected async act(model: Model, world: World): Promise<void> {
    const request = { nodeId: world.nodeId, newId, limit: this.limit, now: model.now }
    await this.both(
      world,
      () => world.store.applyCascade(request),
      () => model.applyCascade(this.limit),
    )
  }
}

export class Prune extends Step {
  protected async act(model: Model, world: World): Promise<void> {
    const jobs = model.living().length
    const groups = model.groups.length
    const counted = await world.countPrunable(model.now + 1)
    const real = () => world.store.pruneChains({ endedBefore: model.now + 1, limit: ALL, cursor: null })
    await this.both(world, real, () => {
      model.prune()
      const gone = { jobs: jobs - model.living().length, groups: groups - model.groups.length }
      expect(counted).toEqual(gone)
      return { jobsRemoved: gone.jobs, groupsRemoved: gone.groups, logPaths: [], nextCursor: null }
    })
  }
}

export class Wait extends Step {
  readonly ms: number

  constructor(ms: number) {
    super(null)
    this.ms = ms
  }

  protected async act(model: Model): Promise<void> {
    model.now += this.ms
  }
}

export class Reopen extends Step {
  constructor() {
    super(null)
  }

  protected act(_model: Model, world: World): Promise<void> {
    return world.reopen()
  }
}

/** Whatever may happen, the frequent more often. */
export function steps(): fc.Arbitrary<fc.AsyncCommand<Model, World>>[] {
  const sometimes = <T>(arbitrary: fc.Arbitrary<T>, oneIn: number) =>
    fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })
  const crashAt = sometimes(fc.nat(12), 8)
  const target = fc.nat(40)
  const onParentFailure = fc.constantFrom(...ON_PARENT_FAILURE)
  const mode = fc.constantFrom<CancelMode>('graceful', 'abort')
  const few = (number: fc.Arbitrary<number>) =>
    fc.oneof(fc.constant([]), fc.array(number, { minLength: 1, maxLength: 2 }))
  const wish = fc.record({
    priority: fc.constantFrom(0, 0, 5),
    delayMs: fc.constantFrom(0, 0, 0, 50),
    siblings: few(fc.nat(4)),
    parents: few(target),
    hasUnknownParent: sometimes(fc.constant(true), 40).map((given) => given === true),
    onParentFailure,
    businessKey: sometimes(fc.constantFrom('a', 'b'), 8),
    idempotencyKey: sometimes(fc.constantFrom('x', 'y'), 10),
  })
  const wishes = fc.array(wish, { minLength: 1, maxLength: 5 })
  const changes = fc.record(
    { priority: fc.constantFrom(0, 5), params: fc.constantFrom('{"n":1}', '{"n":2}'), delayMs: fc.constantFrom(0, 50) },
    { requiredKeys: [] },
  )
  const ending = fc.constantFrom<Ending>(
    'COMPLETED',
    'COMPLETED',
    'FAILED',
    'FAILED',
    'RETRIED',
    'SKIPPED',
    'CANCELLED',
  )
  const often = (arbitrary: fc.Arbitrary<Step>, times: number) => Array.from({ length: times }, () => arbitrary)
  return [
    ...often(
      fc.tuple(wishes, fc.boolean(), crashAt).map((given) => new Enqueue(...given)),
      3,
    ),
    ...often(
      fc
        .tuple(
          wishes,
          fc.constantFrom<GroupMode>('parallel', 'sequential'),
          fc.constantFrom<OnMemberFailure>('stop', 'continue', 'skip'),
          crashAt,
        )
        .map((given) => new CreateGroup(...given)),
      2,
    ),
    ...often(
      fc.tuple(fc.integer({ min: 1, max: 4 }), crashAt).map((given) => new Claim(...given)),
      4,
    ),
    ...often(
      fc
        .tuple(target, ending, fc.constantFrom(true, true, true, false), fc.constantFrom(0, 20), crashAt)
        .map((given) => new Finish(...given)),
      8,
    ),
    ...often(
      fc.tuple(target, mode, crashAt).map((given) => new Cancel(...given)),
      2,
    ),
    ...often(
      fc.tuple(target, fc.boolean(), crashAt).map((given) => new Retry(...given)),
      3,
    ),
    ...often(
      fc.tuple(fc.integer({ min: 1, max: 60 }), crashAt).map((given) => new ApplyCascade(...given)),
      2,
    ),
    fc.tuple(target, crashAt).map((given) => new Release(...given)),
    fc.tuple(target, fc.constantFrom(0, 5), crashAt).map((given) => new Reprioritise(...given)),
    ...often(
      fc.tuple(target, changes, crashAt).map((given) => new Edit(...given)),
      2,
    ),
    fc.tuple(target, mode, crashAt).map((given) => new CancelGroup(...given)),
    crashAt.map((given) => new Prune(given)),
    fc.constantFrom(10, 50).map((ms) => new Wait(ms)),
    fc.constant(0).map(() => new Reopen()),
  ]
}

/** Children by the hundred: more than a store deals with at once. */
export function manyChildren(): fc.Arbitrary<fc.AsyncCommand<Model, World>> {
  return fc
    .tuple(fc.nat(3), fc.constantFrom(140, 200), fc.constantFrom(...ON_PARENT_FAILURE), fc.constant(null))
    .map((given) => new EnqueueChildren(...given))
}
