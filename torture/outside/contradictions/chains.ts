import { type Chain, describe, type Facts } from './facts.ts'

/** I15. Nothing waits or executes any more, and nobody is left to be told. */
export function* everythingHasEnded({ evidence }: Facts): Iterable<string> {
  const { jobs, reservations, deliveries } = evidence.history
  for (const job of jobs) {
    const { status, run } = job
    if (status === 'QUEUED' || status === 'RUNNING') yield `I15: ${describe(job)} is still ${status}.`
    if (run !== null && run.status === null) yield `I15: Run ${run.runId} of ${describe(job)} is still open.`
  }
  for (const { reservationId, status, order } of reservations) {
    if (status === 'WAITING' || status === 'RUNNING')
      yield `I15: reservation ${reservationId} (${order.n}) is ${status}.`
  }
  for (const { deliveryId, jobId, event, status } of deliveries) {
    if (status === 'PENDING') yield `I15: delivery ${deliveryId} (${event} of ${jobId}) is still PENDING.`
  }
}

/** I3. Each Job has come to its end once, and everybody was told of it once. */
export function* jobsEndedOnce({ evidence }: Facts): Iterable<string> {
  const { jobs, endings } = evidence.history
  for (const job of jobs) {
    const isEnded = job.status === 'FINISHED' || job.status === 'CANCELLED'
    const count = endings.get(job.jobId) ?? 0
    if (isEnded && count !== 1)
      yield `I3: ${describe(job)} is ${job.status}, and was said to have ended ${count} times.`
  }
}

/** I4. Attempts are numbered without a gap, and each but the last has failed, or was tried again by hand. */
export function* chainsAreWhole(facts: Facts): Iterable<string> {
  for (const chain of [...facts.chains, ...facts.timedChains]) {
    const { first, jobs } = chain
    const isNumbered = jobs.every(
      ({ attempt, retryOf }, index) => attempt === index + 1 && retryOf === (jobs[index - 1]?.jobId ?? null),
    )
    if (!isNumbered) yield `I4: chain ${first.jobId} has the attempts ${jobs.map(({ attempt }) => attempt).join(', ')}.`
    yield* oddRetries(facts, chain)
  }
}

function* oddRetries({ retriesOf }: Facts, { jobs, last, order }: Chain): Iterable<string> {
  // Whoever asked and heard no answer may have made one.
  let byHand = retriesOf.get(order.n)?.length ?? 0
  for (const job of jobs) {
    const { run, status } = job
    if (job === last) {
      if (run?.willRetry === true && run.status !== null)
        yield `I4: ${describe(job)} is to be retried, but is the last.`
    } else if (run?.status !== 'FAILED' && status !== 'CANCELLED') {
      yield `I4: ${describe(job)} was retried, but its Run is ${run?.status ?? 'missing'}.`
    } else if (run?.willRetry !== true && --byHand < 0) {
      yield `I4: ${describe(job)} was not to be retried, but was, and nobody asked for it.`
    }
  }
}
