import type { CancelMode, JobPolicy } from '../domain/job.ts'
import type { RetryCounts } from '../domain/retry.ts'
import type { Artifact, FailureReason, LogLine, Outcome, Progress, Run, RunStatus } from '../domain/run.ts'
import type { EnqueuedItem, NewJob, Page } from './jobs.ts'
import type { ClaimedTicket } from './reservations.ts'

/** The right to end a Run. Whoever claimed the Job holds it, and recovery takes it over from a dead node. */
export interface Claim {
  readonly runId: string
  readonly jobId: string
  /** The node that executes the body. */
  readonly nodeId: string
  /** How the store that made this claim finds its rows again. Means nothing to anybody else. */
  readonly ref: string | number
}

/** A claimed Job with all that is needed to execute it and to end it. */
export interface ClaimedJob {
  readonly claim: Claim
  readonly chainId: string
  readonly type: string
  readonly attempt: number
  readonly priority: number
  readonly businessKey: string | null
  /** JSON text */
  readonly params: string
  readonly policy: JobPolicy
  readonly counts: RetryCounts
  /** When it was to start at the earliest. */
  readonly runAt: number
  readonly startedAt: number
  readonly groupId: string | null
  readonly scheduleId: string | null
  readonly webhookUrl: string | null
  readonly hasParents: boolean
}

/** What a node may start now. */
export interface Claimed {
  /** Direct executions, which are served before the queue. */
  readonly tickets: readonly ClaimedTicket[]
  readonly jobs: readonly ClaimedJob[]
}

export interface ClaimRequest {
  readonly nodeId: string
  readonly now: number
  /** How many bodies can start now. Never more: nothing is prefetched. */
  readonly limit: number
  /** The types this node handles, each with how many Jobs of it may be claimed. Tickets of all of them are served. */
  readonly types: ReadonlyMap<string, number>
  readonly newRunId: () => string
}

/** What a body reported. Written with its outcome, or while it executes. */
export interface RunReport {
  readonly progress: Progress | null
  readonly logs: readonly LogLine[]
  readonly artifacts: readonly Artifact[]
  /** Lines that were over the cap. */
  readonly logsDropped: number
}

/** The retry Job to write together with an outcome. Everything else is copied from its predecessor. */
export interface RetryOrder {
  readonly jobId: string
  readonly runAt: number
  readonly counts: RetryCounts
}

export interface FinishedRun {
  readonly job: ClaimedJob
  /** The node that says so: the one that executed it, or one that recovers it. */
  readonly by: string
  readonly outcome: Outcome
  readonly finishedAt: number
  readonly retry: RetryOrder | null
  /** Written with a COMPLETED outcome, or not at all. */
  readonly followUps: readonly NewJob[]
  readonly report: RunReport
  /** `executing`: the outcome is known (a timeout), but the code has not ended yet, so its occupancy stays. */
  readonly body: 'ended' | 'executing'
}

export type FollowUpResult =
  | { readonly kind: 'created'; readonly jobId: string }
  | Extract<EnqueuedItem, { readonly kind: 'existing' }>
  | { readonly kind: 'dropped'; readonly jobId: string }

export type FinishResult =
  | {
      readonly kind: 'finished'
      /** Null also when a retry was ordered but the Job's cancellation had been asked for meanwhile. */
      readonly retryJobId: string | null
      readonly followUps: readonly FollowUpResult[]
    }
  /**
   * Someone else ended this Run, or I did with another outcome. That word stands; nothing was changed. The status is null
   * when the Run has been pruned since.
   */
  | { readonly kind: 'already-finished'; readonly status: RunStatus | null; readonly reason: FailureReason | null }

/** What identifies a child process beyond its pid, so that a recycled pid is never killed. */
export interface ChildIdentity {
  readonly pid: number
  /** Its start time as the kernel tells it; two processes with one pid differ in it. */
  readonly startTime: string
  /** The machine's name: recovery on another one neither judges nor kills it. */
  readonly host: string
  readonly bootId: string
  readonly pidNamespace: string
}

/** An occupancy as recovery sees it. */
export interface Occupancy {
  readonly job: ClaimedJob
  /** The Run has its outcome already; only the body may still be executing. */
  readonly ended: boolean
  readonly child: ChildIdentity | null
}

export interface CancelWish {
  readonly claim: Claim
  readonly mode: CancelMode
}

export interface RunFilter {
  readonly jobId?: string
  /** Lists Runs in the order of their Jobs, newest first. */
  readonly type?: string
  readonly status?: RunStatus
  readonly limit: number
  readonly cursor?: string | null
}

/** When a Run that has ended waited and executed, and what came of it. */
export interface RunTimes {
  readonly status: RunStatus
  /** When its Job was to start at the earliest. */
  readonly runAt: number
  readonly startedAt: number
  readonly finishedAt: number
}

/** A Run that FAILED, without what it was given and what it logged. */
export interface FailedRun {
  readonly jobId: string
  readonly runId: string
  readonly type: string
  readonly reason: FailureReason | null
  /** At most its first 2,000 characters. */
  readonly error: string
  readonly startedAt: number
  readonly finishedAt: number
}

/** Executing Jobs: claim, report, finish, and the occupancies that say where bodies are. */
export interface RunStore {
  /**
   * How many claims of one node may be under way at the same time. Where the database works in a process of its own, bodies
   * of one claim execute while it works on the next; where it works in this process, that would only make more commits.
   */
  readonly claimsAtOnce: number

  /**
   * Takes up to `limit` of what can start: waiting tickets first, oldest first, then ready Jobs in the order of the queue,
   * as far as the limits leave permits. Each becomes RUNNING with its occupancy (a Job with its Run), in one transaction, or nothing
   * happens to it. A ticket that cannot start yet holds back its resources and its type's permits.
   */
  claimJobs(request: ClaimRequest): Promise<Claimed>

  /**
   * Ends Runs: outcome, Job, occupancy, retry, follow-ups, report, deliveries, and what a settled chain means to its group,
   * its schedule and its dependents are one transaction; only what concerns many is stored as a cascade. A Run that has ended already is
   * left as it is and answered with `already-finished`; repeating the very same finish is answered with `finished`.
   */
  finishRuns(runs: readonly FinishedRun[], newId: () => string): Promise<readonly FinishResult[]>

  /** The bodies of these Runs, whose outcome was written before, have really ended. Their permits are free again. */
  releaseOccupancies(claims: readonly Claim[], now: number): Promise<void>

  /** Writes what bodies reported so far. `late`: that Run has ended; the lines are counted and dropped. */
  recordReports(
    reports: readonly { readonly claim: Claim; readonly report: RunReport }[],
    now: number,
  ): Promise<readonly ('recorded' | 'late')[]>

  /** Before a child may begin: who it is, and where its output goes. `late`: the Run has ended; the child must not begin. */
  recordChild(claim: Claim, child: ChildIdentity, logPath: string | null): Promise<'recorded' | 'late'>

  /** The occupancies of a node, oldest first. */
  listOccupancies(nodeId: string, limit: number): Promise<readonly Occupancy[]>

  /** The Runs of this node whose cancellation someone asked for. */
  findCancelWishes(nodeId: string): Promise<readonly CancelWish[]>

  /** When the next delayed Job becomes due, or null when none waits. */
  nextDueAt(): Promise<number | null>

  findRun(runId: string): Promise<Run | null>

  findRunOfJob(jobId: string): Promise<Run | null>

  /** The latest start first; with a type, the newest Job first. */
  listRuns(filter: RunFilter): Promise<Page<Run>>

  /** Runs that FAILED and started at `from` or later, the latest start first. */
  listFailedRuns(from: number, limit: number): Promise<readonly FailedRun[]>

  /** Of the Runs that started at `from` or later those that have ended, the latest start first. */
  listRunTimes(from: number, limit: number): Promise<readonly RunTimes[]>

  /** Log lines of a Run in order, after the `after`-th (0: from the first). */
  readLogs(runId: string, after: number, limit: number): Promise<readonly LogLine[]>
}
