import type { OtherJob } from './standing.ts'
import type { WhyContext, WhyHolder } from './why-reason.ts'
import { durationInWords, instantInWords } from './words.ts'

export function jobInWords({ jobId, type }: { readonly jobId: string; readonly type: string }): string {
  return `job ${jobId} (${type})`
}

/** How another Job stands, to follow its name: `is RUNNING`, `ended FAILED`. */
export function stateInWords(job: OtherJob): string {
  switch (job.status) {
    case 'QUEUED':
      return queuedInWords(job)
    case 'RUNNING':
      return 'is RUNNING'
    case 'CANCELLED':
      return 'was CANCELLED'
    case 'FINISHED':
      return `ended ${job.outcome}`
  }
}

function queuedInWords(job: OtherJob): string {
  switch (job.hold) {
    case 'delayed':
      return `is QUEUED and delayed until ${instantInWords(job.runAt)}`
    case 'dependencies':
      return 'is QUEUED and waits for jobs of its own'
    case 'group':
      return 'is QUEUED and waits for its turn in the group'
    case 'predecessor':
      return 'is QUEUED and waits for the body of its earlier attempt'
    case 'paused':
    case 'signal':
    case null:
      return 'is QUEUED'
  }
}

/** Who holds something: `run … of job … (story) has held it for 42 s on node host-12`. */
export function holderInWords(holder: WhyHolder, does: string, { now, isAnyNodeAlive }: WhyContext): string {
  const who =
    holder.runId === null
      ? `direct execution ${holder.reservationId} (${holder.type})`
      : `run ${holder.runId} of job ${holder.jobId} (${holder.type})`
  const note = !holder.nodeAlive
    ? `, which is dead: ${isAnyNodeAlive ? 'recovery is about to end it' : 'the next node that starts ends it'}`
    : holder.hasEnded
      ? ', where its code has not ended although its outcome is known'
      : ''
  return `${who} ${does} for ${durationInWords(now - holder.startedAt)} on node ${holder.nodeName}${note}`
}
