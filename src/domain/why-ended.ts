import { chainOutcome } from './chain.ts'
import type { Job } from './job.ts'
import { decideRetry, SHUTDOWN_RETRIES_MAX } from './retry.ts'
import type { FailureReason } from './run.ts'
import { COUNTED_MAX, type EndedStanding, type OtherJob } from './standing.ts'
import { toWhyHolder, type WhyContext, type WhyJob, type WhyReason } from './why-reason.ts'
import { because } from './why-running.ts'
import { holderInWords, jobInWords, stateInWords } from './why-words.ts'
import { durationInWords, instantInWords, quote } from './words.ts'

/** How it ended, why it ended so, and what followed. */
export function explainEnded(standing: EndedStanding, context: WhyContext): WhyReason[] {
  return [
    standing.job.status === 'CANCELLED' ? cancelled(standing) : finished(standing),
    ...cause(standing),
    ...retry(standing, context),
    ...body(standing, context),
    ...dependents(standing),
    ...settled(standing),
  ]
}

function finished({ job, run }: EndedStanding): WhyReason {
  const facts = {
    runId: run?.runId ?? null,
    nodeId: run?.nodeId ?? null,
    nodeName: run?.nodeName ?? null,
    startedAt: run?.startedAt ?? job.startedAt,
    finishedAt: run?.finishedAt ?? job.finishedAt,
  }
  const { startedAt, finishedAt, nodeName } = facts
  const at = finishedAt === null ? '' : ` at ${instantInWords(finishedAt)}`
  const took = startedAt === null || finishedAt === null ? '' : ` after ${durationInWords(finishedAt - startedAt)}`
  const where = nodeName === null ? '' : ` on node ${nodeName}`
  switch (job.outcome) {
    case 'FAILED': {
      const { reason = null, error = null } = run ?? {}
      const what = error === null || error === '' ? '' : `: ${withoutStop(quote(error))}`
      return {
        code: 'failed',
        message: `Failed${at}${took}${where} with reason \`${reason}\`${what}.`,
        ...facts,
        reason,
        error,
      }
    }
    case 'SKIPPED': {
      const reason = run?.error ?? null
      const what = reason === null ? '' : `: ${withoutStop(quote(reason))}`
      return { code: 'skipped', message: `Skipped${at}${what}.`, ...facts, reason }
    }
    case 'COMPLETED':
    case null:
      return { code: 'completed', message: `Completed${at}${took}${where}.`, ...facts }
  }
}

function withoutStop(text: string): string {
  return text.replace(/\.$/, '')
}

function cancelled({ job, run, groupCancelRequestedAt }: EndedStanding): WhyReason {
  const { finishedAt, cancelMode: mode, cancelReason: reason, cancelRequestedAt } = job
  const at = finishedAt === null ? '' : ` at ${instantInWords(finishedAt)}`
  const when = run === null ? 'before it started' : `while it ran on node ${run.nodeName}: its body was aborted`
  const isOfGroup =
    groupCancelRequestedAt !== null && cancelRequestedAt !== null && cancelRequestedAt >= groupCancelRequestedAt
  const groupId = isOfGroup ? job.groupId : null
  const whole = groupId === null ? '' : `, with its whole group ${groupId}`
  return {
    code: 'cancelled',
    message: `Cancelled${at} ${when}${whole}${because(reason)}.`,
    finishedAt,
    mode,
    reason,
    runId: run?.runId ?? null,
    groupId,
  }
}

/** As `predecessorFailedReason` of group.ts writes it. */
const PREDECESSOR_FAILED = /^predecessor failed: job (\S+) ended \w+$/

/** Why it was cancelled or skipped, when that was the doing of another Job. */
function cause({ job, run, cancelledFor }: EndedStanding): WhyReason[] {
  const text = job.status === 'CANCELLED' ? job.cancelReason : job.outcome === 'SKIPPED' ? (run?.error ?? null) : null
  const failed = PREDECESSOR_FAILED.exec(text ?? '')?.[1]
  if (failed !== undefined) {
    const { groupId } = job
    const which = groupId === null ? 'its group' : `its group ${groupId}`
    const message = `Job ${failed} of ${which} did not succeed, so the members that had not started were stopped.`
    return [{ code: 'group_stopped', message, groupId, jobId: failed }]
  }
  if (cancelledFor === null) return []
  const { parentId, last } = cancelledFor
  const now = last === null ? `parent ${parentId}, which was pruned since` : parentInWords(parentId, last)
  return [
    {
      code: 'cancelled_for_parent',
      message: `It was not to run without its parent: ${now}.`,
      parentId,
      jobId: last?.jobId ?? null,
      type: last?.type ?? null,
      status: last?.status ?? null,
      outcome: last?.outcome ?? null,
    },
  ]
}

function parentInWords(parentId: string, last: OtherJob): string {
  const attempt = last.jobId === parentId ? '' : `, attempt ${last.attempt} of ${parentId}`
  return `${jobInWords(last)}${attempt}, which ${stateInWords(last)}`
}

/** Whether it was tried again, and if not, why not. */
function retry(standing: EndedStanding, { now }: WhyContext): WhyReason[] {
  const { job, run, next } = standing
  if (next !== null) return [retryFollows(next)]
  if (job.status === 'CANCELLED' || run?.status !== 'FAILED' || run.reason === null) return []
  if (run.willRetry) return [lostRetry(job.attempt + 1)]
  const { counts, policy } = job
  const decision = decideRetry({ counts, reason: run.reason, policy: policy.retry, vetoed: false, now, random: 0 })
  if (decision.kind === 'stop' && decision.why === 'budget-spent') return [retriesExhausted(standing, run.reason)]
  if (decision.kind === 'retry' && job.cancelRequestedAt !== null) return [unwanted(job, job.cancelRequestedAt)]
  return [decision.kind === 'stop' ? notRetryable(run.reason) : vetoed(run.reason)]
}

function retryFollows(next: OtherJob): WhyReason {
  const { jobId, attempt, status, hold, outcome, runAt, isByHand: byHand } = next
  const how = byHand ? 'Somebody had it tried again' : 'It was tried again'
  const message = `${how}: attempt ${attempt} is ${jobInWords(next)}, which ${stateInWords(next)}.`
  return { code: 'retry_follows', message, jobId, attempt, status, hold, outcome, runAt, byHand }
}

/** Only a hand from outside can have made this. */
function lostRetry(attempt: number): WhyReason {
  const message = 'A retry was to follow, but it is missing: the database was damaged, and the next start repairs it.'
  const nothing = { jobId: null, status: null, hold: null, outcome: null, runAt: null }
  return { code: 'retry_follows', message, attempt, ...nothing, byHand: false }
}

function retriesExhausted({ job }: EndedStanding, reason: FailureReason): WhyReason {
  const { counts, policy } = job
  const { maxRetries, maxCrashRetries } = policy.retry
  const shutdownMax = maxRetries === 0 ? 0 : SHUTDOWN_RETRIES_MAX
  const [retries, max, what] =
    reason === 'crash'
      ? [counts.crashRetries, maxCrashRetries, 'after a crash']
      : reason === 'shutdown'
        ? [counts.shutdownRetries, shutdownMax, 'after a shutdown']
        : [counts.errorRetries, maxRetries, 'after a failure']
  const message =
    max === 0
      ? `No retry follows: none ${what} is allowed.`
      : `No retry follows: ${retries} of ${max} ${what} were used.`
  return { code: 'retries_exhausted', message, retries, max }
}

function notRetryable(reason: FailureReason): WhyReason {
  const message = `No retry follows: after \`${reason}\` trying again cannot help.`
  return { code: 'not_retryable', message, reason }
}

function unwanted({ cancelMode, cancelReason: reason }: Job, cancelRequestedAt: number): WhyReason {
  const message = `No retry follows: somebody asked at ${instantInWords(cancelRequestedAt)} to cancel it${because(reason)}.`
  return { code: 'cancel_requested', message, cancelRequestedAt, mode: cancelMode ?? 'graceful', reason, groupId: null }
}

function vetoed(reason: FailureReason): WhyReason {
  const message = 'No retry follows, though some were left: the handler or its type said that trying again cannot help.'
  return { code: 'not_retryable', message, reason }
}

function body({ body: holder }: EndedStanding, context: WhyContext): WhyReason[] {
  if (holder === null) return []
  const { runId, reservationId, jobId, nodeId, nodeName, startedAt } = toWhyHolder(holder, context)
  // That its outcome is known is what this reason says.
  const words = holderInWords(toWhyHolder({ ...holder, hasEnded: false }, context), 'has been executing', context)
  const message = `Its code has not ended and still holds its place and its permits: ${words}.`
  return [{ code: 'body_still_executing', message, runId, reservationId, jobId, nodeId, nodeName, startedAt }]
}

function dependents({ dependents: found }: EndedStanding): WhyReason[] {
  const { waiting, released, givenUp } = found
  if (waiting + released + givenUp === 0) return []
  const counted = [
    [released, 'released'],
    [givenUp, 'cancelled'],
    [waiting, 'still waiting'],
  ] as const
  const parts = counted.filter(([count]) => count > 0).map(([count, what]) => `${capped(count)} ${what}`)
  const jobs = found.first.map(toWhyJob)
  const message = `Of the jobs that depend on it: ${parts.join(', ')}.`
  return [{ code: 'dependents', message, waiting, released, cancelled: givenUp, jobs }]
}

function capped(count: number): string {
  return count >= COUNTED_MAX ? `${COUNTED_MAX}+` : String(count)
}

function toWhyJob({ jobId, type, status, hold, outcome, runAt }: OtherJob): WhyJob {
  return { jobId, type, status, hold, outcome, runAt }
}

function settled({ job, last }: EndedStanding): WhyReason[] {
  const outcome = chainOutcome(last)
  if (outcome === null) return []
  const attempts = last.attempt
  const after = attempts === 1 ? '' : ` after ${attempts} attempts`
  const message = `The chain has settled ${outcome}${after}: nothing more follows by itself.`
  return [{ code: 'settled', message, chainId: job.chainId, jobId: last.jobId, outcome, attempts }]
}
