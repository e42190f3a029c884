import type { Job, JobStatus } from './job.ts'
import type { RunStatus } from './run.ts'
import { isEnded } from './transitions.ts'

/** How a chain ended. CANCELLED when its last Job was cancelled, else the status of its last Run. */
export type ChainOutcome = RunStatus | 'CANCELLED'

/** A Job and its retries, oldest first. */
export interface Chain {
  readonly chainId: string
  readonly settled: boolean
  readonly outcome: ChainOutcome | null
  readonly items: readonly Job[]
}

/**
 * A chain is settled when its last Job has ended: a retry that is to follow is written in the transaction that ends its
 * predecessor, so an ended last Job means that none will.
 */
export function chainOutcome(last: { status: JobStatus; outcome: RunStatus | null }): ChainOutcome | null {
  if (!isEnded(last.status)) return null
  return last.status === 'CANCELLED' ? 'CANCELLED' : last.outcome
}
