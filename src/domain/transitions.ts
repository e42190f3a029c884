import type { JobStatus } from './job.ts'

/** Everything that can happen to a Job's status. */
export type JobTransition = 'claim' | 'cancel' | 'finish' | 'finish-cancelled'

/**
 * The table of allowed transitions. A Job only moves forward: nothing leads back to QUEUED (a retry is a new Job), and
 * nothing leads out of an end. Every store fences each transition by the state in the left column; the conformance kit
 * tries all the others and expects that nothing changes.
 */
export const JOB_TRANSITIONS: Readonly<Record<JobStatus, Readonly<Partial<Record<JobTransition, JobStatus>>>>> = {
  QUEUED: { claim: 'RUNNING', cancel: 'CANCELLED' },
  RUNNING: { finish: 'FINISHED', 'finish-cancelled': 'CANCELLED' },
  CANCELLED: {},
  FINISHED: {},
}

/** The status after a transition, or null when it is not allowed from here. */
export function nextJobStatus(from: JobStatus, transition: JobTransition): JobStatus | null {
  return JOB_TRANSITIONS[from][transition] ?? null
}

export function isEnded(status: JobStatus): boolean {
  return status === 'FINISHED' || status === 'CANCELLED'
}
