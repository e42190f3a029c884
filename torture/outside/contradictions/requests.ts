import { followUpOf } from '../workload.ts'
import { byKey, type Facts } from './facts.ts'

/** I1. Under a key, a request may be acknowledged many times: always as the same Job. */
export function* acknowledgedJobsExist({ evidence, jobs }: Facts): Iterable<string> {
  for (const { n, jobId } of evidence.recorded.acks) {
    const job = jobs.get(jobId)
    if (job === undefined) yield `I1: request ${n} was acknowledged as Job ${jobId}, which does not exist.`
    else if (job.order.n !== n || job.attempt !== 1)
      yield `I1: request ${n} was acknowledged as Job ${jobId}, which is attempt ${job.attempt} of ${job.order.n}.`
  }
}

/** I2 and I10. A request that nobody answered may have made one, or none; one that was refused has made none. */
export function* requestsMadeOneChainEach({ chains, requests, refused, evidence }: Facts): Iterable<string> {
  const acknowledged = new Set(evidence.recorded.acks.map(({ n }) => n))
  for (const [n, made] of byKey(chains, ({ order }) => order.n)) {
    const ids = made.map(({ first }) => first.jobId).join(', ')
    if (made.length > 1) yield `I10: request ${n} made ${made.length} chains: ${ids}.`
    if (!requests.has(n) && !requests.has(n - followUpOf(0))) yield `I2: Job ${ids} (${n}) was never asked for.`
    if (refused.has(n) && !acknowledged.has(n))
      yield `I2: request ${n} was refused (${refused.get(n)}), but made ${ids}.`
  }
}

/** I2. They are accepted together with the outcome, or not at all. */
export function* followUpsCameWithOutcomes({ requests, chainOf }: Facts): Iterable<string> {
  for (const [n, { order }] of requests) {
    const hasCome = chainOf.has(followUpOf(n))
    const hasCompleted = chainOf.get(n)?.jobs.some(({ run }) => run?.status === 'COMPLETED') === true
    const shouldCome = order.does === 'spawns' && hasCompleted
    if (hasCome !== shouldCome)
      yield `I2: the follow-up of ${n} ${hasCome ? 'exists without its outcome' : 'is missing'}.`
  }
}
