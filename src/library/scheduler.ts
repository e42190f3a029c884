/// <reference lib="esnext.disposable" />
import type { Chain } from '../domain/chain.ts'
import { PawlError } from '../domain/errors.ts'
import type { Job } from '../domain/job.ts'
import { readText, readWhole } from '../domain/options.ts'
import type { Run } from '../domain/run.ts'
import type { Why } from '../domain/why.ts'
import { DirectExecutions } from '../engine/direct-execution.ts'
import { GroupSettlements } from '../engine/group-settlements.ts'
import { SchedulerNode } from '../engine/node.ts'
import type { RecoveryStats } from '../engine/recovery.ts'
import { Settlements } from '../engine/settlements.ts'
import type { Cancellation, CancelOptions } from '../operations/cancel-job.ts'
import { cancelJob } from '../operations/cancel-job.ts'
import type { OperationContext } from '../operations/context.ts'
import { type DirectOptions, type DirectResult, runDirect } from '../operations/direct.ts'
import { type EditOptions, editJob } from '../operations/edit-job.ts'
import { enqueueFromTemplate } from '../operations/enqueue-from-template.ts'
import { enqueueJob, enqueueJobSync, enqueueJobs, prepare } from '../operations/enqueue-jobs.ts'
import { type EnqueueOptions, readEnqueueOptions } from '../operations/enqueue-options.ts'
import { listLimits, setLimit } from '../operations/limits.ts'
import { type MoveOptions, moveJob, type NewPlace, reprioritiseJob } from '../operations/move-job.ts'
import { type Pruned, type PruneOptions, pruneHistory } from '../operations/prune-history.ts'
import * as history from '../operations/read-history.ts'
import { listReservations } from '../operations/reservations.ts'
import { type ManualRetry, type ManualRetryOptions, retryJob } from '../operations/retry-job.ts'
import { readStatistics, type Statistics } from '../operations/statistics.ts'
import { explainJob } from '../operations/why.ts'
import type { StoreSignal } from '../store/events.ts'
import type { EnqueuedItem, MoveTarget, NewJob } from '../store/jobs.ts'
import type { LimitRecord } from '../store/maintenance.ts'
import type { NodeRecord } from '../store/nodes.ts'
import type { Store } from '../store/store.ts'
import { composeBackground } from './background.ts'
import { DOOR, type Door, NodeOf } from './door.ts'
import { EventListeners, type SchedulerEvents } from './event-listeners.ts'
import { Groups } from './groups.ts'
import { AcceptedJob, type JobHandle, type Settled, toSettled } from './job-handle.ts'
import { type AnyJobType, type InputOf, type ResultOf, typeName } from './job-type.ts'
import { type EnqueueItem, type GraphItem, graphToItems, type HandleOf, nameInGraph, readItems } from './listed-jobs.ts'
import type { CheckedOptions } from './scheduler-options.ts'
import { Schedules } from './schedules.ts'
import { Templates } from './templates.ts'
import { Webhooks } from './webhooks.ts'

/** Accepts, executes and remembers Jobs. Made by `openScheduler`. */
export class Scheduler {
  readonly templates: Templates
  readonly schedules: Schedules
  readonly groups: Groups
  readonly webhooks: Webhooks
  readonly #store: Store
  readonly #options: CheckedOptions
  readonly #context: OperationContext
  readonly #node: SchedulerNode
  readonly #directs: DirectExecutions
  readonly #settlements: Settlements
  readonly #groupSettlements: GroupSettlements
  readonly #events: EventListeners
  readonly #unsubscribe: () => void
  readonly #atClose: (() => void)[] = []
  #starting: Promise<RecoveryStats> | null = null
  #lastRecovery: RecoveryStats | null = null
  #closed: Promise<void> | null = null
  #isClosed = false

  /** @internal */
  constructor(context: OperationContext, options: CheckedOptions) {
    const { store, clock, newId } = context
    this.#store = store
    this.#options = options
    this.#context = context
    this.#settlements = new Settlements(store, clock)
    this.#groupSettlements = new GroupSettlements(store, clock)
    this.#events = new EventListeners(store, options.logger)
    const call = <T>(work: () => Promise<T>) => this.#call(work)
    this.templates = new Templates(context, call)
    this.schedules = new Schedules(context, call)
    this.groups = new Groups({
      context,
      call,
      handle: (item) => this.#handle(item),
      wait: (groupId) => this.#groupSettlements.wait(groupId),
    })
    this.webhooks = new Webhooks(context, context.webhookGuard, call)
    const nodeId = newId()
    this.#node = new SchedulerNode({
      store,
      clock,
      random: options.random,
      newId,
      logger: options.logger,
      nodeId,
      name: options.name,
      concurrency: options.concurrency,
      policy: options.policy,
      types: options.types,
      background: composeBackground(context, options, nodeId),
      prepareFollowUp: (type, params, followUp) => this.#prepareFollowUp(type, params, followUp as EnqueueOptions),
      lateFinish: (late) => this.#events.emit('run.late', late),
      nodeRecovered: (node, stats) => this.#events.emit('node.recovered', { node, stats }),
    })
    this.#directs = new DirectExecutions({ store, clock, newId, logger: options.logger, node: this.#node })
    this.#unsubscribe = store.subscribe((signal) => this.#hear(signal))
  }

  /** This scheduler's id as a node. */
  get nodeId(): string {
    return this.#node.nodeId
  }

  // Accepting

  /** Accepts one Job. Once this resolves, the Job survives a crash and a power cut. */
  async enqueue<Type extends AnyJobType | string>(
    type: Type,
    params: Type extends AnyJobType ? InputOf<Type> : unknown,
    options?: EnqueueOptions,
  ): Promise<HandleOf<Type>> {
    this.#refuseClosed()
    const request = readEnqueueOptions(typeName(type), params, options, this.#context.clock.now())
    return this.#handle(await enqueueJob(this.#context, request)) as HandleOf<Type>
  }

  /** Accepts all of them or none, in the given order. */
  async enqueueMany<const Types extends readonly (AnyJobType | string)[]>(
    items: { readonly [Index in keyof Types]: EnqueueItem<Types[Index]> },
  ): Promise<{ -readonly [Index in keyof Types]: HandleOf<Types[Index]> }> {
    this.#refuseClosed()
    const requests = readItems(items as readonly EnqueueItem<AnyJobType>[], this.#context.clock.now())
    const accepted = await enqueueJobs(this.#context, requests)
    return accepted.map((item) => this.#handle(item)) as never
  }

  /**
   * Accepts a whole graph or nothing: each Job has a name, and `dependsOn` may say the names of others. Cycles are refused
   * before anything is stored.
   */
  async enqueueGraph<const Types extends Readonly<Record<string, AnyJobType | string>>>(
    graph: { readonly [Name in keyof Types]: GraphItem<Types[Name]> },
  ): Promise<{ -readonly [Name in keyof Types]: HandleOf<Types[Name]> }> {
    this.#refuseClosed()
    const items = graphToItems(graph as Readonly<Record<string, GraphItem<AnyJobType | string>>>)
    try {
      const accepted = await enqueueJobs(this.#context, readItems(items, this.#context.clock.now()))
      return Object.fromEntries(accepted.map((item, index) => [items[index]?.ref, this.#handle(item)])) as never
    } catch (error) {
      throw nameInGraph(error, items)
    }
  }

  /** Accepts one Job of a template: `overrides` over its default params, key by key at the top. */
  async enqueueTemplate(templateId: string, overrides?: unknown, options?: EnqueueOptions): Promise<JobHandle> {
    this.#refuseClosed()
    return this.#handle(await enqueueFromTemplate(this.#context, templateId, overrides, options))
  }

  /** Accepts one Job inside your own transaction on your own handle: it exists if and only if you commit. SQLite only. */
  enqueueSync<Type extends AnyJobType | string>(
    database: unknown,
    type: Type,
    params: Type extends AnyJobType ? InputOf<Type> : unknown,
    options?: EnqueueOptions,
  ): HandleOf<Type> {
    this.#refuseClosed()
    const request = readEnqueueOptions(typeName(type), params, options, this.#context.clock.now())
    return this.#handle(enqueueJobSync(this.#context, database, request)) as HandleOf<Type>
  }

  // Executing

  /** Recovers what dead processes left, then executes Jobs. Returns what was recovered. */
  async start(): Promise<RecoveryStats> {
    if (this.#closed !== null) throw closedError()
    if (this.#node.isStarted || this.#starting !== null) {
      throw new PawlError(
        'already_started',
        'This scheduler is started already. Call stop() before you start it again.',
      )
    }
    this.#starting = this.#node.start()
    try {
      this.#lastRecovery = await this.#starting
      return this.#lastRecovery
    } finally {
      this.#starting = null
    }
  }

  /**
   * Claims nothing more and waits for what executes, up to the timeout. Nothing is aborted: what has not ended then is
   * named in `stillRunning` and goes on, and `start` goes on with it.
   */
  async stop(timeoutMs = 30_000): Promise<{ readonly stillRunning: readonly string[] }> {
    this.#refuseClosed()
    readWhole(timeoutMs, 0, 2_147_483_647, 'timeoutMs')
    await this.#starting?.catch(() => {})
    return { stillRunning: await this.#node.stop(timeoutMs) }
  }

  /**
   * Ends this scheduler. Running bodies get `shutdownTimeoutMs` to end; then they are aborted with reason `shutdown`,
   * which is charged to no retry budget. Calling it again waits for the same end.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Whether this process claims Jobs right now. */
  get isStarted(): boolean {
    return this.#node.isStarted
  }

  /** Neither a body nor a claim is under way in this process. */
  get isQuiet(): boolean {
    return this.#node.isQuiet && this.#directs.isQuiet
  }

  /** The Jobs whose bodies execute in this process. */
  get executing(): readonly string[] {
    return this.#node.executing
  }

  /** The reservations whose bodies execute in this process. */
  get executingDirect(): readonly string[] {
    return this.#node.executingDirect
  }

  /**
   * Executes a type now, in the next free place and before the queue, and answers with its result. It makes no Job: the
   * handler's failure is this call's error (`direct_failed`) and nothing else, and nothing is retried.
   */
  async runDirect<Type extends AnyJobType | string>(
    type: Type,
    params: Type extends AnyJobType ? InputOf<Type> : unknown,
    options?: DirectOptions,
  ): Promise<DirectResult<Type extends AnyJobType ? ResultOf<Type> : unknown>> {
    this.#refuseClosed()
    return (await runDirect(this.#context, this.#directs, typeName(type), params, options)) as never
  }

  // Steering

  cancel(jobId: string, options?: CancelOptions): Promise<Cancellation> {
    return this.#call(() => cancelJob(this.#context, jobId, options))
  }

  /** Tries a failed or cancelled chain again, however many retries it had. */
  retry(by: string | { readonly runId: string }, options?: ManualRetryOptions): Promise<ManualRetry> {
    return this.#call(() => retryJob(this.#context, typeof by === 'string' ? { jobId: by } : by, options))
  }

  /** Changes the place of a QUEUED Job. */
  move(jobId: string, target: MoveTarget, options?: MoveOptions): Promise<NewPlace> {
    return this.#call(() => moveJob(this.#context, jobId, target, options))
  }

  /** Puts a QUEUED Job last at another priority. */
  reprioritise(jobId: string, priority: number): Promise<NewPlace> {
    return this.#call(() => reprioritiseJob(this.#context, jobId, priority))
  }

  /** Changes the priority, the params or the instant of a QUEUED Job, all of it or nothing. Returns it as it is then. */
  edit(jobId: string, options: EditOptions): Promise<Job> {
    return this.#call(() => editJob(this.#context, jobId, options))
  }

  /** Changes a limit for all nodes: `running`, `type:<name>` or `resource:<name>`. Null removes it. */
  setLimit(name: string, max: number | null): Promise<void> {
    return this.#call(async () => {
      await setLimit(this.#context, name, max)
      this.#node.wake()
    })
  }

  listLimits(): Promise<readonly LimitRecord[]> {
    return this.#call(() => listLimits(this.#context))
  }

  // Reading

  getJob(jobId: string): Promise<Job> {
    return this.#call(() => history.getJob(this.#context, jobId))
  }

  /** The Job's chain: all attempts, oldest first. */
  getChain(jobId: string): Promise<Chain> {
    return this.#call(() => history.getChain(this.#context, jobId))
  }

  /** Why the Job is not running, or where it runs, or how and why it ended: in words and codes. */
  why(jobId: string): Promise<Why> {
    return this.#call(() => explainJob(this.#context, jobId))
  }

  getRun(runId: string): Promise<Run> {
    return this.#call(() => history.getRun(this.#context, runId))
  }

  /** The Run of a Job, or null while it has none. */
  findRunOfJob(jobId: string): Promise<Run | null> {
    return this.#call(() => history.findRunOfJob(this.#context, jobId))
  }

  /** Newest first; with the status QUEUED, in the order of the queue. */
  listJobs(options?: Parameters<typeof history.listJobs>[1]): ReturnType<typeof history.listJobs> {
    return this.#call(() => history.listJobs(this.#context, options))
  }

  /** Newest first. */
  listRuns(options?: Parameters<typeof history.listRuns>[1]): ReturnType<typeof history.listRuns> {
    return this.#call(() => history.listRuns(this.#context, options))
  }

  /** The queue from its head on, also what is delayed. */
  listQueue(options?: { readonly limit?: number }): Promise<readonly Job[]> {
    return this.#call(() => history.listQueue(this.#context, options))
  }

  readLogs(
    runId: string,
    options?: { readonly after?: number; readonly limit?: number },
  ): Promise<readonly history.LogEntry[]> {
    return this.#call(() => history.readLogs(this.#context, runId, options))
  }

  /** Direct executions, waiting, running and ended, newest first. */
  listReservations(options?: Parameters<typeof listReservations>[1]): ReturnType<typeof listReservations> {
    return this.#call(() => listReservations(this.#context, options))
  }

  /** What came of jobs: in all, and by the hour of the last day; and what stands in the queue. */
  statistics(): Promise<Statistics> {
    return this.#call(() => readStatistics(this.#context))
  }

  listNodes(): Promise<readonly NodeRecord[]> {
    return this.#call(() => this.#store.listNodes())
  }

  /** Waits until the chain of this Job has ended, retries included, in whatever process it runs. */
  async settled(jobId: string): Promise<Settled> {
    this.#refuseClosed()
    const { chainId } = await history.getJob(this.#context, jobId)
    return toSettled(await this.#settlements.wait(chainId))
  }

  // Keeping

  /** Removes chains that settled at least this long ago, with their Runs and logs. Idempotency keys stay. */
  prune(options: PruneOptions): Promise<Pruned> {
    return this.#call(() => pruneHistory(this.#context, options))
  }

  /** Writes a consistent copy of the store to a new file, while work goes on. */
  backup(path: string): Promise<void> {
    return this.#call(() => this.#store.backup(readText(path, 'path')))
  }

  /** Calls the listener for each event. Returns the way to stop it. */
  on<Kind extends keyof SchedulerEvents>(kind: Kind, listener: (event: SchedulerEvents[Kind]) => void): () => void {
    this.#refuseClosed()
    return this.#events.on(kind, listener)
  }

  /** @internal */
  get [DOOR](): Door {
    return {
      context: this.#context,
      directs: this.#directs,
      logger: this.#options.logger,
      node: new NodeOf(this, this.#options, {
        isClosing: () => this.#closed !== null,
        lastRecovery: () => this.#lastRecovery,
        join: () => this.#call(() => this.#node.join()),
        wake: () => this.#node.wake(),
      }),
      atClose: (callback) => this.atClose(callback),
    }
  }

  /** @internal */
  atClose(callback: () => void): void {
    this.#atClose.push(callback)
  }

  #handle(item: EnqueuedItem): JobHandle {
    return new AcceptedJob(this, item)
  }

  #prepareFollowUp(type: unknown, params: unknown, options: EnqueueOptions): NewJob | Promise<NewJob> {
    const request = readEnqueueOptions(typeName(type as string), params, options, this.#context.clock.now())
    return prepare(this.#context, request)
  }

  #hear(signal: StoreSignal): void {
    this.#node.hear(signal)
    this.#settlements.hear(signal)
    this.#groupSettlements.hear(signal)
    this.#directs.hear(signal)
    this.#events.hear(signal)
  }

  async #close(): Promise<void> {
    for (const callback of this.#atClose) callback()
    await this.#starting?.catch(() => {})
    await this.#directs.beginClosing(closedError())
    // Bodies that still execute may use this scheduler to their end; only then it refuses.
    const { left } = await this.#node.leave(this.#options.shutdownTimeoutMs).finally(() => {
      this.#isClosed = true
      this.#settlements.close(closedError())
      this.#groupSettlements.close(closedError())
      this.#directs.close(closedError())
    })
    if (left === null) return this.#letGo()
    // The bodies that ignored the abort keep the store open until they end, or the process does.
    left
      .then(() => this.#letGo())
      .catch((error) => this.#options.logger.error({ error }, 'The store could not be closed'))
  }

  async #letGo(): Promise<void> {
    this.#unsubscribe()
    await this.#store.close()
  }

  async #call<T>(work: () => Promise<T>): Promise<T> {
    this.#refuseClosed()
    return work()
  }

  #refuseClosed(): void {
    if (this.#isClosed) throw closedError()
  }
}

function closedError(): PawlError {
  return new PawlError('closed', 'This scheduler is closed. Open a new one with openScheduler().')
}
