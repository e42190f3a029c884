import { type Order, RETRY } from '../workload.ts'
import type { Chain, Facts } from './facts.ts'

const OUTCOMES = {
  completes: 'COMPLETED',
  computes: 'COMPLETED',
  falters: 'COMPLETED',
  spawns: 'COMPLETED',
  stops: 'COMPLETED',
  waits: 'COMPLETED',
  heeds: 'COMPLETED',
  fails: 'FAILED',
  refuses: 'FAILED',
  skips: 'SKIPPED',
} as const satisfies Record<Order['does'], string>

/**
 * I4, I12 and I16. Failures are those that were ordered, so often as the policy says; whoever was cancelled or skipped was so
 * for a reason.
 */
export function* outcomesAreThoseOrdered(facts: Facts): Iterable<string> {
  for (const chain of facts.chains) {
    const { first, last, outcome, order } = chain
    const allowed = allowedOutcomes(facts, chain)
    if (!allowed.includes(outcome)) {
      const why = last.cancelReason === null ? '' : ` (${last.cancelReason})`
      yield `I16: ${first.jobId} (${order.n}, ${order.does}) ended ${outcome}${why}, but should have ended ${allowed.join(' or ')}.`
    }
    yield* wrongCounts(facts, chain)
  }
  for (const { first, outcome } of facts.timedChains) {
    if (outcome !== 'COMPLETED') yield `I16: ${first.jobId} of a schedule ended ${outcome}.`
  }
}

function* wrongCounts(facts: Facts, { first, jobs, outcome, order }: Chain): Iterable<string> {
  const errors = jobs.filter(({ run }) => run?.reason === 'error').length
  const byHand = facts.retriesOf.get(order.n)?.length ?? 0
  const whole = order.does === 'refuses' ? 1 : RETRY.maxRetries + 1
  if (errors > whole * (1 + byHand)) yield `I4: ${first.jobId} (${order.n}, ${order.does}) failed ${errors} times.`
  const isCancelled = facts.cancelsOf.has(order.n)
  if (outcome === 'FAILED' && !isCancelled && errors < whole)
    yield `I4: ${first.jobId} (${order.n}, ${order.does}) was given up after ${errors} errors.`
  if (order.does === 'falters' && errors > order.times)
    yield `I4: ${order.n} failed ${errors} times instead of ${order.times}.`
}

function allowedOutcomes(facts: Facts, chain: Chain): string[] {
  const { order } = chain
  const own = OUTCOMES[order.does]
  const allowed = new Set(withoutDeeds(facts, chain))
  const [cancels, retries] = [facts.cancelsOf.get(order.n) ?? [], facts.retriesOf.get(order.n) ?? []]
  // Whoever is cancelled while it executes ends as it ends, without a retry.
  if (cancels.length > 0) for (const outcome of ['CANCELLED', 'FAILED', own]) allowed.add(outcome)
  if (retries.length > 0) allowed.add(own)
  const isCancelled = cancels.some(({ ack }) => ack?.kind === 'cancelled')
  return isCancelled && retries.length === 0 ? ['CANCELLED'] : [...allowed]
}

function withoutDeeds(facts: Facts, { order }: Chain): string[] {
  const own = OUTCOMES[order.does]
  const request = facts.requests.get(order.n)
  if (request === undefined) return [own]
  const hasFailed = (n: number) => ['FAILED', 'CANCELLED'].includes(facts.chainOf.get(n)?.outcome ?? '')
  if (request.options.onParentFailure !== 'run') {
    // A parent that was tried again by hand had failed before.
    const isRetried = request.parents.some((n) => facts.retriesOf.has(n))
    if (request.parents.some(hasFailed)) return isRetried ? ['CANCELLED', own] : ['CANCELLED']
    if (isRetried) return ['CANCELLED', own]
  }
  const group = facts.groupOf.get(order.n)
  if (group === undefined || group.onFailure === 'continue' || !group.members.some(hasFailed)) return [own]
  const instead = group.onFailure === 'stop' ? 'CANCELLED' : 'SKIPPED'
  // Members at the same time may have started before the failure, or not. So may those before one that was cancelled by hand.
  const isAfterFailure = group.members.slice(0, group.members.indexOf(order.n)).some(hasFailed)
  if (group.mode === 'sequential' && isAfterFailure) return [instead]
  const isCancelledByHand = group.members.some((n) => hasFailed(n) && facts.cancelsOf.has(n))
  return group.mode === 'parallel' || isCancelledByHand ? [own, instead] : [own]
}
