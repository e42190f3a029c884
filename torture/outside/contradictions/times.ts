import { RETRY } from '../workload.ts'
import { type Facts, TOLERANCE_MS } from './facts.ts'

/** I8 and I16. Neither before its delay was over, nor a retry before its backoff. */
export function* nothingBeganEarly(facts: Facts): Iterable<string> {
  for (const [n, { options }] of facts.requests) {
    const chain = facts.chainOf.get(n)
    // Who makes a waiting retry due shortens a delay of that one, not of the first attempt.
    const earliest = (facts.firstAskedAt.get(n) ?? 0) + (options.delayMs ?? 0) - TOLERANCE_MS
    const began = chain === undefined ? null : facts.firstBegan(chain)
    if (began !== null && began.attempt === 1 && began.at < earliest)
      yield `I8: ${n} began ${earliest - began.at} ms too early.`
  }
  for (const { order, jobs } of facts.chains) {
    if (facts.retriesOf.has(order.n)) continue
    for (const [index, job] of jobs.entries()) {
      const before = jobs[index - 1]?.run
      if (before?.reason !== 'error') continue
      const [last, next] = [facts.bodyOf.get(before.runId), facts.bodyOf.get(job.run?.runId ?? '')]
      if (last === undefined || next === undefined) continue
      const earliest = last.until + RETRY.backoff.delayMs - TOLERANCE_MS
      if (next.began.at < earliest)
        yield `I8: attempt ${job.attempt} of ${order.n} began ${earliest - next.began.at} ms too early.`
    }
  }
}
