import type { Job } from './job.ts'
import type { GroupOrder, RunningStanding, RunStanding } from './standing.ts'
import type { WhyContext, WhyReason } from './why-reason.ts'
import { durationInWords, instantInWords, quote } from './words.ts'

export function explainRunning({ job, run, groupOrder }: RunningStanding, context: WhyContext): WhyReason[] {
  const reasons: WhyReason[] = [run === null ? withoutRun() : running(job, run, context)]
  if (run !== null && context.dead.has(run.nodeId)) {
    const { nodeId, nodeName } = run
    const then = context.isAnyNodeAlive
      ? 'a living node is about to end the run with reason `crash`'
      : 'no node is alive, so the run ends with reason `crash` as soon as one starts, or by `pawl doctor --fix`'
    const message = `Node ${nodeName} is dead: ${then}.`
    reasons.push({ code: 'node_dead', message, nodeId, nodeName })
  }
  const wish = cancelRequested(job, groupOrder)
  if (wish !== null) reasons.push(wish)
  return reasons
}

function running(job: Job, run: RunStanding, { now }: WhyContext): WhyReason {
  const { timeoutMs } = job.policy
  const timeoutAt = timeoutMs === null ? null : run.startedAt + timeoutMs
  const words = [`Running on node ${run.nodeName} for ${durationInWords(now - run.startedAt)}`]
  if (run.progress !== null) {
    const text = run.progress.message === null ? '' : ` (${quote(run.progress.message)})`
    words.push(`${Math.round(run.progress.fraction * 100)} % done${text}`)
  }
  if (timeoutAt !== null) words.push(`its timeout is at ${instantInWords(timeoutAt)}`)
  return {
    code: 'running',
    message: `${words.join(', ')}.`,
    runId: run.runId,
    nodeId: run.nodeId,
    nodeName: run.nodeName,
    startedAt: run.startedAt,
    timeoutAt,
    progress: run.progress?.fraction ?? null,
    progressMessage: run.progress?.message ?? null,
  }
}

/** Only a hand from outside can have made this. */
function withoutRun(): WhyReason {
  return {
    code: 'running',
    message: 'It counts as running, but its run is missing: the database was damaged, and the next start repairs it.',
    runId: null,
    nodeId: null,
    nodeName: null,
    startedAt: null,
    timeoutAt: null,
    progress: null,
    progressMessage: null,
  }
}

/** Somebody wants it to end: this Job, or the whole group. */
export function cancelRequested(job: Job, order: GroupOrder | null): WhyReason | null {
  const { cancelRequestedAt, cancelReason: reason } = job
  if (cancelRequestedAt !== null) {
    const mode = job.cancelMode ?? 'graceful'
    const follows = mode === 'abort' ? 'its body is being aborted' : 'its body may end, and no retry follows'
    const message = `Somebody asked at ${instantInWords(cancelRequestedAt)} to cancel it${because(reason)}: ${follows}.`
    return { code: 'cancel_requested', message, cancelRequestedAt, mode, reason, groupId: null }
  }
  if (order?.kind !== 'cancel') return null
  const { groupId, orderedAt } = order
  const message = `Its group ${groupId} is being cancelled since ${instantInWords(orderedAt)}${because(order.reason)}: its turn comes in a moment.`
  return {
    code: 'cancel_requested',
    message,
    cancelRequestedAt: orderedAt,
    mode: order.mode,
    reason: order.reason,
    groupId,
  }
}

export function because(reason: string | null): string {
  return reason === null ? '' : ` (${quote(reason)})`
}
