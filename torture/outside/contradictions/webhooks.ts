import { byKey, type Facts } from './facts.ts'

/** I14. Each event of each Job that somebody is to be told of was sent at least once, always with the same id and text. */
export function* eventsWereTold({ evidence, jobs, chains, timedChains }: Facts): Iterable<string> {
  const { recorded, history, toldTypes } = evidence
  const received = byKey(recorded.received, ({ id }) => id)
  for (const [id, same] of received) {
    const texts = new Set(same.map(({ digest }) => digest))
    if (texts.size > 1) yield `I14: delivery ${id} was sent with ${texts.size} different texts.`
    if (!history.deliveries.some(({ deliveryId }) => deliveryId === id)) yield `I14: delivery ${id} does not exist.`
  }
  for (const { deliveryId, jobId, event, status, attempts } of history.deliveries) {
    const same = received.get(deliveryId) ?? []
    const said = `I14: delivery ${deliveryId} (${event} of ${jobId})`
    if (status === 'DELIVERED' && !same.some(({ answer }) => answer === '200'))
      yield `${said} is DELIVERED, but was not.`
    if (same.length === 0) yield `${said} is ${status} after ${attempts} attempts, but never came.`
    if (same.some((one) => one.event !== event || one.jobId !== jobId)) yield `${said} came as something else.`
  }
  const told = new Set(recorded.received.map(({ jobId, event }) => `${event} of ${jobId}`))
  const expected = new Set<string>()
  for (const job of jobs.values()) {
    if (!toldTypes.includes(job.type)) continue
    if (job.status === 'CANCELLED') expected.add(`job.cancelled of ${job.jobId}`)
    if (job.run?.status != null) expected.add(`job.run.${job.run.status.toLowerCase()} of ${job.jobId}`)
  }
  for (const { last } of [...chains, ...timedChains]) {
    if (toldTypes.includes(last.type)) expected.add(`job.settled of ${last.jobId}`)
  }
  for (const event of expected) if (!told.has(event)) yield `I14: nobody was told of ${event}.`
  for (const event of told) {
    if (!expected.has(event) && !event.startsWith('job.settled')) yield `I14: somebody was told of ${event}.`
  }
}
