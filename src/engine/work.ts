import type { JobPolicy } from '../domain/job.ts'
import type { Outcome } from '../domain/run.ts'
import type { NewJob } from '../store/jobs.ts'
import type { ChildIdentity, FollowUpResult } from '../store/runs.ts'
import type { BodyEnd, BodyIdentity, Parents } from './isolation/body.ts'
import type { Reporter } from './reporter.ts'

/** What came of a body, as the pipeline hands it over. */
export interface WorkEnd {
  readonly outcome: Outcome
  /** What the body threw, when the outcome is its own and not that of an interrupt. */
  readonly thrown: (BodyEnd & { readonly kind: 'threw' }) | null
  /** `executing`: the outcome is known, but the code has not ended yet. */
  readonly body: 'ended' | 'executing'
  readonly followUps: readonly NewJob[]
}

export type WorkResult =
  | { readonly kind: 'finished'; readonly followUps: readonly FollowUpResult[] }
  | { readonly kind: 'already-finished' }

/** What a body executes: a claimed Job, or a ticket. One pipeline serves both; what differs is who is told of what. */
export interface Work {
  readonly kind: 'job' | 'direct'
  readonly identity: BodyIdentity
  /** JSON text */
  readonly params: string
  readonly policy: JobPolicy
  /** Whether what a child of it prints is kept in a file. */
  readonly keepsOutput: boolean
  /** What the body reported is being written, and its outcome waits for that. */
  readonly isReporting: boolean
  findParents(): Parents | Promise<Parents>
  /** Called once, before the body begins. */
  openReporter(): Reporter
  /** Before a child may begin. `late`: the work has its outcome already. */
  recordChild(child: ChildIdentity, logPath: string | null): Promise<'recorded' | 'late'>
  finish(end: WorkEnd): Promise<WorkResult>
  /** The body, whose outcome was written before, has really ended. */
  release(): Promise<void>
  /** The body came to an end of its own after it had been given one. Nothing was changed by it. */
  tellLate(ended: BodyEnd['kind']): void
}

export const NO_PARENTS: Parents = {}

/** Told when a child has to wait for the store before it may begin. */
export const CHILD_COMPLAINT = 'It cannot be written who a child process is; it begins when it can'
