/// <reference lib="esnext.disposable" />
import type { Chain } from '../domain/chain.ts'
import type { Job } from '../domain/job.ts'
import { readText } from '../domain/options.ts'
import type { Run } from '../domain/run.ts'
import type { Why } from '../domain/why.ts'
import type { RecoveryStats } from '../engine/recovery.ts'
import type { Cancellation, CancelOptions } from '../operations/cancel-job.ts'
import { cancelJob } from '../operations/cancel-job.ts'
import type { OperationContext } from '../operations/context.ts'
import { type DirectOptions, type DirectResult, runDirect } from '../operations/direct.ts'
import { type EditOptions, editJob } from '../operations/edit-job.ts'
import { enqueueFromTemplate } from '../operations/enqueue-from-template.ts'
import { enqueueJob, enqueueJobSync, enqueueJobs, enqueueJobWithin } from '../operations/enqueue-jobs.ts'
import { type EnqueueOptions, readEnqueueOptions } from '../operations/enqueue-options.ts'
import { type FailureOptions, type Failures, listFailures } from '../operations/failures.ts'
import { listLimits, setLimit } from '../operations/limits.ts'
import { type MoveOptions, moveJob, type NewPlace, reprioritiseJob } from '../operations/move-job.ts'
import { type Pruned, type PruneOptions, pruneHistory } from '../operations/prune-history.ts'
import * as history from '../operations/read-history.ts'
import { type RecentStatistics, readRecentStatistics } from '../operations/recent-statistics.ts'
import { listReservations } from '../operations/reservations.ts'
import { type ManualRetry, type ManualRetryOptions, retryJob } from '../operations/retry-job.ts'
import { readStatistics, type Statistics } from '../operations/statistics.ts'
import { explainJob } from '../operations/why.ts'
import type { EnqueuedItem, MoveTarget } from '../store/jobs.ts'
import type { LimitRecord } from '../store/maintenance.ts'
import type { NodeRecord } from '../store/nodes.ts'
import { BulkOperations } from './bulk-operations.ts'
import { DOOR, type Door, NodeOf } from './door.ts'
import type { SchedulerEvents } from './event-listeners.ts'
import { Groups } from './groups.ts'
import { AcceptedJob, type JobHandle, type Settled, toSettled } from './job-handle.ts'
import { type AnyJobType, type InputOf, type ResultOf, typeName } from './job-type.ts'
import { type EnqueueItem, type GraphItem, graphToItems, type HandleOf, nameInGraph, readItems } from './listed-jobs.ts'
import { SchedulerLife } from './scheduler-life.ts'
import type { CheckedOptions } from './scheduler-options.ts'
import { Schedules } from './schedules.ts'
import { Templates } from './templates.ts'
import { Webhooks } from './webhooks.ts'
import { readTransaction, splitTransaction, type WithinTransaction } from './within-transaction.ts'

/** Accepts, executes and remembers Jobs. Made by `openScheduler`. */
export class Scheduler {
  readonly templates: Templates
  readonly schedules: Schedules
  readonly groups: Groups
  readonly webhooks: Webhooks
  readonly operations: BulkOperations
  readonly #context: OperationContext
  readonly #options: CheckedOptions
  readonly #life: SchedulerLife

  /** @internal */
  constructor(context: OperationContext, options: CheckedOptions) {
    this.#context = context
    this.#options = options
    this.#life = new SchedulerLife(context, options)
    const call = <T>(work: () => Promise<T>) => this.#life.call(work)
    this.templates = new Templates(context, call)
    this.schedules = new Schedules(context, call)
    this.groups = new Groups({
      context,
      call,
      handle: (item) => this.#handle(item),
      wait: (groupId) => this.#life.groupSettlements.wait(groupId),
    })
    this.webhooks = new Webhooks(context, context.webhookGuard, call)
    this.operations = new BulkOperations({ context, call, carryOut: () => this.#life.bulk.start() })
  }

  /** This scheduler's id as a node. */
  get nodeId(): string {
    return this.#life.node.nodeId
  }

  // Accepting

  /**
   * Accepts one Job. Once this resolves, the Job survives a crash and a power cut. With `tx`, it exists if and only if you
   * commit that transaction.
   */
  async enqueue<Type extends AnyJobType | string>(
    type: Type,
    params: Type extends AnyJobType ? InputOf<Type> : unknown,
    options?: EnqueueOptions & WithinTransaction,
  ): Promise<HandleOf<Type>> {
    this.#life.refuseClosed()
    const { tx, rest } = splitTransaction(options)
    const request = readEnqueueOptions(typeName(type), params, rest, this.#context.clock.now())
    const item = tx === undefined ? enqueueJob(this.#context, request) : enqueueJobWithin(this.#context, tx, request)
    return this.#handle(await item) as HandleOf<Type>
  }

  /** Accepts all of them or none, in the given order. With `tx`, they exist if and only if you commit that transaction. */
  async enqueueMany<const Types extends readonly (AnyJobType | string)[]>(
    items: { readonly [Index in keyof Types]: EnqueueItem<Types[Index]> },
    options?: WithinTransaction,
  ): Promise<{ -readonly [Index in keyof Types]: HandleOf<Types[Index]> }> {
    this.#life.refuseClosed()
    const requests = readItems(items as readonly EnqueueItem<AnyJobType>[], this.#context.clock.now())
    const accepted = await enqueueJobs(this.#context, requests, readTransaction(options))
    return accepted.map((item) => this.#handle(item)) as never
  }

  /**
   * Accepts a whole graph or nothing: each Job has a name, and `dependsOn` may say the names of others. Cycles are refused
   * before anything is stored. With `tx`, it exists if and only if you commit that transaction.
   */
  async enqueueGraph<const Types extends Readonly<Record<string, AnyJobType | string>>>(
    graph: { readonly [Name in keyof Types]: GraphItem<Types[Name]> },
    options?: WithinTransaction,
  ): Promise<{ -readonly [Name in keyof Types]: HandleOf<Types[Name]> }> {
    this.#life.refuseClosed()
    const items = graphToItems(graph as Readonly<Record<string, GraphItem<AnyJobType | string>>>)
    const tx = readTransaction(options)
    try {
      const accepted = await enqueueJobs(this.#context, readItems(items, this.#context.clock.now()), tx)
      return Object.fromEntries(accepted.map((item, index) => [items[index]?.ref, this.#handle(item)])) as never
    } catch (error) {
      throw nameInGraph(error, items)
    }
  }

  /** Accepts one Job of a template: `overrides` over its default params, key by key at the top. */
  async enqueueTemplate(
    templateId: string,
    overrides?: unknown,
    options?: EnqueueOptions & WithinTransaction,
  ): Promise<JobHandle> {
    this.#life.refuseClosed()
    const { tx, rest } = splitTransaction(options)
    return this.#handle(await enqueueFromTemplate(this.#context, templateId, overrides, rest, tx))
  }

  /** Accepts one Job inside your own transaction on your own handle: it exists if and only if you commit. SQLite only. */
  enqueueSync<Type extends AnyJobType | string>(
    database: unknown,
    type: Type,
    params: Type extends AnyJobType ? InputOf<Type> : unknown,
    options?: EnqueueOptions,
  ): HandleOf<Type> {
    this.#life.refuseClosed()
    const request = readEnqueueOptions(typeName(type), params, options, this.#context.clock.now())
    return this.#handle(enqueueJobSync(this.#context, database, request)) as HandleOf<Type>
  }

  // Executing

  /** Recovers what dead processes left, then executes Jobs. Returns what was recovered. */
  start(): Promise<RecoveryStats> {
    return this.#life.start()
  }

  /**
   * Claims nothing more and waits for what executes, up to the timeout. Nothing is aborted: what has not ended then is
   * named in `stillRunning` and goes on, and `start` goes on with it.
   */
  stop(timeoutMs = 30_000): Promise<{ readonly stillRunning: readonly string[] }> {
    return this.#life.stop(timeoutMs)
  }

  /**
   * Ends this scheduler. Running bodies get `shutdownTimeoutMs` to end; then they are aborted with reason `shutdown`,
   * which is charged to no retry budget. Calling it again waits for the same end.
   */
  close(): Promise<void> {
    return this.#life.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Whether this process claims Jobs right now. */
  get isStarted(): boolean {
    return this.#life.node.isStarted
  }

  /** Neither a body nor a claim is under way in this process. */
  get isQuiet(): boolean {
    return this.#life.node.isQuiet && this.#life.directs.isQuiet
  }

  /** What the last claim of Jobs failed with, such as a database that cannot be reached. It is tried again. Null: it did not fail. */
  get claimFailure(): Error | null {
    return this.#life.node.claimFailure
  }

  /** The Jobs whose bodies execute in this process. */
  get executing(): readonly string[] {
    return this.#life.node.executing
  }

  /** The reservations whose bodies execute in this process. */
  get executingDirect(): readonly string[] {
    return this.#life.node.executingDirect
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
    this.#life.refuseClosed()
    return (await runDirect(this.#context, this.#life.directs, typeName(type), params, options)) as never
  }

  // Steering

  cancel(jobId: string, options?: CancelOptions): Promise<Cancellation> {
    return this.#life.call(() => cancelJob(this.#context, jobId, options))
  }

  /** Tries a failed or cancelled chain again, however many retries it had. */
  retry(by: string | { readonly runId: string }, options?: ManualRetryOptions): Promise<ManualRetry> {
    return this.#life.call(() => retryJob(this.#context, typeof by === 'string' ? { jobId: by } : by, options))
  }

  /** Changes the place of a QUEUED Job. */
  move(jobId: string, target: MoveTarget, options?: MoveOptions): Promise<NewPlace> {
    return this.#life.call(() => moveJob(this.#context, jobId, target, options))
  }

  /** Puts a QUEUED Job last at another priority. */
  reprioritise(jobId: string, priority: number): Promise<NewPlace> {
    return this.#life.call(() => reprioritiseJob(this.#context, jobId, priority))
  }

  /** Changes the priority, the params or the instant of a QUEUED Job, all of it or nothing. Returns it as it is then. */
  edit(jobId: string, options: EditOptions): Promise<Job> {
    return this.#life.call(() => editJob(this.#context, jobId, options))
  }

  /** Changes a limit for all nodes: `running`, `type:<name>` or `resource:<name>`. Null removes it. */
  setLimit(name: string, max: number | null): Promise<void> {
    return this.#life.call(async () => {
      await setLimit(this.#context, name, max)
      this.#life.node.wake()
    })
  }

  listLimits(): Promise<readonly LimitRecord[]> {
    return this.#life.call(() => listLimits(this.#context))
  }

  // Reading

  getJob(jobId: string): Promise<Job> {
    return this.#life.call(() => history.getJob(this.#context, jobId))
  }

  /** The Job's chain: all attempts, oldest first. */
  getChain(jobId: string): Promise<Chain> {
    return this.#life.call(() => history.getChain(this.#context, jobId))
  }

  /** Why the Job is not running, or where it runs, or how and why it ended: in words and codes. */
  why(jobId: string): Promise<Why> {
    return this.#life.call(() => explainJob(this.#context, jobId))
  }

  getRun(runId: string): Promise<Run> {
    return this.#life.call(() => history.getRun(this.#context, runId))
  }

  /** The Run of a Job, or null while it has none. */
  findRunOfJob(jobId: string): Promise<Run | null> {
    return this.#life.call(() => history.findRunOfJob(this.#context, jobId))
  }

  /** Newest first; with the status QUEUED, in the order of the queue. */
  listJobs(options?: Parameters<typeof history.listJobs>[1]): ReturnType<typeof history.listJobs> {
    return this.#life.call(() => history.listJobs(this.#context, options))
  }

  /** For each chain that depends on the chain of this Job its latest Job. */
  listChildren(
    jobId: string,
    options?: Parameters<typeof history.listChildren>[2],
  ): ReturnType<typeof history.listChildren> {
    return this.#life.call(() => history.listChildren(this.#context, jobId, options))
  }

  /** Newest first. */
  listRuns(options?: Parameters<typeof history.listRuns>[1]): ReturnType<typeof history.listRuns> {
    return this.#life.call(() => history.listRuns(this.#context, options))
  }

  /** Recent failures, those with the same cause together, the latest first. Looks at the latest 2,000 failed Runs. */
  listFailures(options?: FailureOptions): Promise<Failures> {
    return this.#life.call(() => listFailures(this.#context, options))
  }

  /** The queue from its head on, also what is delayed. */
  listQueue(options?: { readonly limit?: number }): Promise<readonly Job[]> {
    return this.#life.call(() => history.listQueue(this.#context, options))
  }

  readLogs(
    runId: string,
    options?: { readonly after?: number; readonly limit?: number },
  ): Promise<readonly history.LogEntry[]> {
    return this.#life.call(() => history.readLogs(this.#context, runId, options))
  }

  /** Direct executions, waiting, running and ended, newest first. */
  listReservations(options?: Parameters<typeof listReservations>[1]): ReturnType<typeof listReservations> {
    return this.#life.call(() => listReservations(this.#context, options))
  }

  /** What came of jobs: in all, and by the hour of the last day; and what stands in the queue. */
  statistics(): Promise<Statistics> {
    return this.#life.call(() => readStatistics(this.#context))
  }

  /** The last hour by the minute, as counted, and how long the latest Jobs, at most 1,000, waited and ran. */
  recentStatistics(): Promise<RecentStatistics> {
    return this.#life.call(() => readRecentStatistics(this.#context))
  }

  listNodes(): Promise<readonly NodeRecord[]> {
    return this.#life.call(() => this.#context.store.listNodes())
  }

  /** Waits until the chain of this Job has ended, retries included, in whatever process it runs. */
  async settled(jobId: string): Promise<Settled> {
    this.#life.refuseClosed()
    const { chainId } = await history.getJob(this.#context, jobId)
    return toSettled(await this.#life.settlements.wait(chainId))
  }

  // Keeping

  /** Removes chains that settled at least this long ago, with their Runs and logs. Idempotency keys stay. */
  prune(options: PruneOptions): Promise<Pruned> {
    return this.#life.call(() => pruneHistory(this.#context, options))
  }

  /** Writes a consistent copy of the store to a new file, while work goes on. */
  backup(path: string): Promise<void> {
    return this.#life.call(() => this.#context.store.backup(readText(path, 'path')))
  }

  /** Calls the listener for each event. Returns the way to stop it. */
  on<Kind extends keyof SchedulerEvents>(kind: Kind, listener: (event: SchedulerEvents[Kind]) => void): () => void {
    this.#life.refuseClosed()
    return this.#life.events.on(kind, listener)
  }

  /** @internal */
  get [DOOR](): Door {
    return {
      context: this.#context,
      directs: this.#life.directs,
      bulk: this.#life.bulk,
      logger: this.#options.logger,
      node: new NodeOf(this.#life, this.#options),
      atClose: (callback) => this.atClose(callback),
    }
  }

  /** @internal */
  atClose(callback: () => void): void {
    this.#life.atClose(callback)
  }

  #handle(item: EnqueuedItem): JobHandle {
    return new AcceptedJob(this, item)
  }
}
