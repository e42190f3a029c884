import type { JobStatus } from './job.ts'
import { RANK_MAX, type Standing } from './standing.ts'
import { explainEnded } from './why-ended.ts'
import { explainQueued } from './why-queued.ts'
import type { WhyContext, WhyReason } from './why-reason.ts'
import { explainRunning } from './why-running.ts'

export * from './why-reason.ts'

/** Why a Job is not running, or where it runs, or how and why it ended. */
export interface Why {
  readonly jobId: string
  readonly state: JobStatus
  /** One plain sentence. */
  readonly summary: string
  /** All that hold now, the most decisive first. */
  readonly reasons: readonly WhyReason[]
  /** 1: it is the next. Exact up to 1,000; null beyond that, while something holds the Job, and when it is not QUEUED. */
  readonly queueRank: number | null
  /** The same in words: `12`, or `1000+`. */
  readonly queueRankText: string | null
}

/** From facts to reasons. */
export function decideWhy(standing: Standing, context: WhyContext): Why {
  const { jobId, status } = standing.job
  const reasons = explain(standing, context)
  const rank = standing.kind === 'queued' && standing.rank !== null ? standing.rank.ahead + 1 : null
  const isCounted = rank !== null && rank <= RANK_MAX
  return {
    jobId,
    state: status,
    summary: summarise(standing.kind, reasons),
    reasons,
    queueRank: isCounted ? rank : null,
    queueRankText: rank === null ? null : isCounted ? String(rank) : `${RANK_MAX}+`,
  }
}

function explain(standing: Standing, context: WhyContext): WhyReason[] {
  switch (standing.kind) {
    case 'queued':
      return explainQueued(standing, context)
    case 'running':
      return explainRunning(standing, context)
    case 'ended':
      return explainEnded(standing, context)
  }
}

/** The first reason says it; of what has ended, the second says what follows. */
function summarise(kind: Standing['kind'], [first, second]: readonly WhyReason[]): string {
  const message = first?.message ?? ''
  if (kind === 'queued') return `Queued: ${withSmallInitial(message)}`
  if (second === undefined) return message
  return `${message.replace(/[.…]$/, '')}; ${withSmallInitial(second.message)}`
}

function withSmallInitial(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1)
}
