import type { Chain, ChainOutcome } from '../domain/chain.ts'
import type { OnParentFailure } from '../domain/dependency.ts'
import type { CancelMode, Job, JobPolicy, JobStatus } from '../domain/job.ts'
import type { FailureReason, RunStatus } from '../domain/run.ts'

/** A validated request for a Job, ready to be written. The store adds its place in the queue. */
export interface NewJob {
  readonly jobId: string
  readonly type: string
  readonly name: string | null
  /** JSON text */
  readonly params: string
  readonly priority: number
  /** Null: as soon as it is accepted. */
  readonly runAt: number | null
  readonly policy: JobPolicy
  readonly tags: readonly string[]
  readonly createdBy: string | null
  readonly businessKey: string | null
  readonly idempotency: Idempotency | null
  readonly templateId: string | null
  readonly scheduleId: string | null
  readonly slotAt: number | null
  /** Jobs whose chains must settle before it can start: Jobs of the store, or others of the same list. */
  readonly dependsOn: readonly string[]
  readonly onParentFailure: OnParentFailure
  readonly webhookUrl: string | null
}

export interface Idempotency {
  readonly key: string
  /** SHA-256 over type and params in canonical JSON: the same key with another fingerprint is refused. */
  readonly fingerprint: string
}

export type EnqueuedItem =
  /** It stands at this position of its priority. */
  | { readonly kind: 'created'; readonly jobId: string; readonly position: number }
  /** The idempotency key was used before: here is the first Job, which may have been pruned since. */
  | { readonly kind: 'existing'; readonly jobId: string; readonly pruned: boolean }

export type EnqueueConflict =
  | { readonly kind: 'idempotency-key-reused'; readonly index: number; readonly jobId: string }
  | { readonly kind: 'business-key-taken'; readonly index: number; readonly jobId: string }
  /** It names a parent that is neither in the store nor in the list. */
  | { readonly kind: 'parent-not-found'; readonly index: number; readonly jobId: string }
  /** By way of idempotency keys that mean the same Job, it would wait for itself. */
  | { readonly kind: 'dependency-cycle'; readonly index: number; readonly jobId: string }
  /** Its template was archived, or there never was one. */
  | { readonly kind: 'template-not-usable'; readonly index: number; readonly templateId: string }

/** All Jobs of the list were accepted, or none. */
export type EnqueueResult =
  | { readonly kind: 'enqueued'; readonly items: readonly EnqueuedItem[] }
  | { readonly kind: 'refused'; readonly conflict: EnqueueConflict }

export type CancelResult =
  /** QUEUED before, CANCELLED now. It never had a Run. */
  | { readonly kind: 'cancelled'; readonly jobId: string }
  /** RUNNING: the wish is stored; the node that executes it carries it out. */
  | { readonly kind: 'requested'; readonly jobId: string; readonly mode: CancelMode }
  /** RUNNING, and only a QUEUED one was to be cancelled: nothing was changed. */
  | { readonly kind: 'running'; readonly jobId: string }
  | { readonly kind: 'already-cancelled'; readonly jobId: string }
  | { readonly kind: 'ended'; readonly jobId: string; readonly outcome: ChainOutcome }
  /** It is not as the caller believes any more. */
  | { readonly kind: 'stale' }
  | { readonly kind: 'not-found' }

export type MoveTarget = { readonly to: 'front' | 'back' } | { readonly before: string } | { readonly after: string }

export type MoveResult =
  | { readonly kind: 'moved'; readonly priority: number; readonly position: number }
  | { readonly kind: 'not-queued'; readonly status: JobStatus }
  /** It is not as the caller believes any more. */
  | { readonly kind: 'stale' }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'target-not-queued'; readonly jobId: string }
  /** Too many neighbours stand without a gap: normalise this priority, then move again. */
  | { readonly kind: 'no-room'; readonly priority: number }

/** What of a QUEUED Job may still change. What is absent stays. */
export interface JobEdit {
  /** Puts it last at the new priority, as `reprioritiseJob` does. */
  readonly priority?: number
  /** JSON text, validated. */
  readonly params?: string
  /** Null: as soon as it can. */
  readonly runAt?: number | null
}

export type EditResult =
  | { readonly kind: 'edited' }
  | { readonly kind: 'not-queued'; readonly status: JobStatus }
  /** It is not as the caller believes any more. */
  | { readonly kind: 'stale' }
  | { readonly kind: 'not-found' }

export type ManualRetryResult =
  | { readonly kind: 'created'; readonly jobId: string }
  /** A retry was still waiting and is due now. */
  | { readonly kind: 'made-due'; readonly jobId: string }
  /**
   * A later attempt followed: here is the one to retry instead. That is the last of the chain, but the one before it while
   * the last waits as its retry. `lastRunId` is null where it never ran.
   */
  | { readonly kind: 'not-last'; readonly lastJobId: string; readonly lastRunId: string | null }
  | { readonly kind: 'not-retryable'; readonly status: JobStatus; readonly outcome: RunStatus | null }
  | { readonly kind: 'business-key-taken'; readonly jobId: string }
  | { readonly kind: 'not-found' }

/** How a settled chain ended: the state of its last Job and Run. */
export interface ChainEnd {
  readonly chainId: string
  readonly jobId: string
  readonly runId: string | null
  readonly outcome: ChainOutcome
  readonly attempts: number
  /** JSON text of the last Run's result, or null. */
  readonly result: string | null
  readonly reason: FailureReason | null
  readonly error: string | null
}

export interface JobFilter {
  readonly status?: JobStatus
  readonly type?: string
  readonly tag?: string
  readonly templateId?: string
  readonly scheduleId?: string
  readonly groupId?: string
  /** What came of its Run. Without a type and a mark such as a tag, the latest start comes first. */
  readonly outcome?: RunStatus
  /** Jobs whose params have something there: names of fields, and of items of lists their numbers. */
  readonly paramsPath?: readonly string[]
  /** And this, as a person writes it: a text without quotes. */
  readonly paramsValue?: string
  /** Jobs whose Run's error has this text in it, whichever way it is capitalised. */
  readonly error?: string
  readonly createdFrom?: number
  readonly createdBefore?: number
  readonly limit: number
  /** Null or absent: from the first on. */
  readonly cursor?: string | null
}

export interface ChildrenPage {
  readonly limit: number
  readonly cursor: string | null
}

export interface Page<Item> {
  /** May be fewer than asked for, even none, though more follow: a page looks at a bounded number of rows. */
  readonly items: readonly Item[]
  /** Null: nothing follows. */
  readonly nextCursor: string | null
}

/** Accepting, ordering, cancelling and reading Jobs. */
export interface JobStore {
  /**
   * Accepts all Jobs of the list or none; returned means committed, power-safe unless the user chose otherwise. Each
   * goes last at its priority, in the given order. A Job whose parent has failed already is cancelled as it is accepted.
   * Concurrent calls may share one commit, and a conflict in one of them
   * never touches the others.
   */
  enqueueJobs(jobs: readonly NewJob[], now: number): Promise<EnqueueResult>

  /** How transactions are on this kind of database, and so whether `enqueueJobsWithin` answers at once or later. */
  readonly callerTransactions: 'synchronous' | 'asynchronous'

  /**
   * The same inside the caller's own transaction: the Jobs exist if and only if the caller commits. A store whose
   * transactions are synchronous returns the result itself, others a promise of it.
   */
  enqueueJobsWithin(transaction: unknown, jobs: readonly NewJob[], now: number): EnqueueResult | Promise<EnqueueResult>

  /**
   * Acts on the live Job of the chain, whichever of its ids is given. With `expected`, only if `jobVersion` of the Job that
   * was named is still that.
   */
  cancelJob(request: {
    readonly jobId: string
    /** What becomes of one that executes. `only-queued`: nothing, it is left as it is. */
    readonly mode: CancelMode | 'only-queued'
    readonly reason: string | null
    readonly expected?: string | null
    readonly now: number
  }): Promise<CancelResult>

  /**
   * Changes the place of a QUEUED Job. Next to a Job of another priority, it takes that priority. With `expected`, only if
   * its `jobVersion` is still that.
   */
  moveJob(request: {
    readonly jobId: string
    readonly target: MoveTarget
    readonly expected?: string | null
    readonly now: number
  }): Promise<MoveResult>

  /** Puts a QUEUED Job last at another priority. */
  reprioritiseJob(request: {
    readonly jobId: string
    readonly priority: number
    readonly now: number
  }): Promise<MoveResult>

  /**
   * Changes a QUEUED Job, all of it or nothing. With `expected`, only if `jobVersion` of the Job is still that. Its
   * idempotency key goes on meaning the request it was first given with.
   */
  editJob(request: {
    readonly jobId: string
    readonly edit: JobEdit
    readonly expected: string | null
    readonly now: number
  }): Promise<EditResult>

  /** Renumbers the QUEUED Jobs of a priority 100, 200, 300 … without changing their order. Returns how many there are. */
  normalisePositions(priority: number): Promise<number>

  /**
   * A person's wish to try again, by the id of the chain's last Run, of its Job, or of the retry that waits behind it. Makes
   * a new Job at the end of the chain with fresh budgets, last at its priority; or makes the waiting retry due, which keeps
   * its place unless it gets another priority.
   */
  retryByHand(request: {
    readonly by: { readonly jobId: string } | { readonly runId: string }
    readonly newJobId: string
    readonly priority: number | null
    /** Set: children that were cancelled because this chain had failed get a new Job too, with these ids. */
    readonly dependents?: { readonly newId: () => string } | null
    readonly now: number
  }): Promise<ManualRetryResult>

  findJob(jobId: string, now: number): Promise<Job | null>

  /** The result of each parent's chain, as JSON text, by the id under which the Job named it. Null: it has none. */
  findParentResults(jobId: string): Promise<ReadonlyMap<string, string | null>>

  /** The whole chain to which this Job belongs, oldest first. */
  findChain(jobId: string, now: number): Promise<Chain | null>

  /** Of the given chains, those that are settled. */
  findChainEnds(chainIds: readonly string[]): Promise<readonly ChainEnd[]>

  /** Newest first; with the status QUEUED, in the order of the queue. */
  listJobs(filter: JobFilter, now: number): Promise<Page<Job>>

  /**
   * Of each chain that somebody made depend on the chain of this Job, its latest Job, in the order in which the chains were
   * accepted. Null: there is no such Job.
   */
  listChildren(jobId: string, page: ChildrenPage, now: number): Promise<Page<Job> | null>

  /** QUEUED Jobs in the order of the queue, from its head. */
  listQueue(limit: number, now: number): Promise<readonly Job[]>
}
