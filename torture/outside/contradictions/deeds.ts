import { isCall } from '../workload.ts'
import { byKey, type Facts } from './facts.ts'

/** I4. Who was told that a Job is cancelled sees no body of it begin any more, unless somebody tries it again. */
export function* cancelsWereHeeded(facts: Facts): Iterable<string> {
  const bodies = byKey(facts.bodies, ({ began }) => began.n)
  for (const [n, cancels] of facts.cancelsOf) {
    if (facts.retriesOf.has(n)) continue
    for (const { ack, mode } of cancels) {
      if (ack === null) continue
      const chain = facts.chainOf.get(n)
      const began = bodies.get(n)?.map((body) => body.began) ?? []
      const later = began.find(({ at, jobId }) => {
        // Whoever executed when it was cancelled had been claimed: its body may still begin.
        return at > ack.answeredAt && (ack.kind === 'cancelled' || jobId !== ack.jobId)
      })
      if (later !== undefined)
        yield `I4: ${n} was cancelled (${mode}, ${ack.kind}), but attempt ${later.attempt} began on ${later.node} afterwards.`
      if (ack.kind === 'cancelled' && chain?.outcome !== 'CANCELLED')
        yield `I4: ${n} was cancelled, but ended ${chain?.outcome}.`
      if (ack.kind === 'requested' && chain?.last.jobId !== ack.jobId)
        yield `I4: ${n} was cancelled while ${ack.jobId} executed, but ${chain?.last.jobId} followed.`
    }
  }
}

/** I1. A retry by hand that was acknowledged exists. */
export function* retriesWereMade({ evidence, jobs }: Facts): Iterable<string> {
  for (const { n, jobId, kind } of evidence.recorded.retries) {
    const job = jobs.get(jobId)
    if (job === undefined) yield `I1: a retry of ${n} was acknowledged (${kind}) as Job ${jobId}, which does not exist.`
    else if (job.order.n !== n || job.attempt === 1)
      yield `I1: the retry ${jobId} of ${n} is attempt ${job.attempt} of ${job.order.n}.`
  }
}

const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  one: ['business_key_taken'],
  many: [],
  group: [],
  cancel: ['job_ended'],
  retry: ['not_retryable', 'not_last_attempt', 'business_key_taken'],
}

/** I16. Nobody is refused without a reason. */
export function* refusalsAreThoseToExpect({ evidence }: Facts): Iterable<string> {
  for (const { by, act, code } of evidence.recorded.refusals) {
    const done = evidence.acts[by]?.[act]
    if (done === undefined) continue
    const isKeyed = isCall(done) && done.requests.some(({ options }) => options.businessKey !== undefined)
    const isExpected = EXPECTED[done.kind]?.includes(code) === true && (done.kind !== 'one' || isKeyed)
    if (!isExpected) yield `I16: act ${act} of ${by} (${done.kind}) was refused: ${code}.`
  }
}
