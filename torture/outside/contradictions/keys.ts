import { byKey, type Chain, type Facts } from './facts.ts'
import { whileItsOwn } from './limits.ts'

/**
 * I10. Bodies of two chains with the same key never execute at once, and nobody is accepted while another one holds it: from
 * the moment its acceptance was heard of to the end of its last body.
 */
export function* businessKeysHadOneHolder(facts: Facts): Iterable<string> {
  const keyed = [...facts.chains, ...facts.timedChains].filter(({ first }) => first.businessKey !== null)
  for (const [key, chains] of byKey(keyed, ({ first }) => first.businessKey)) {
    yield* bodiesAtOnce(facts, chains, key)
    yield* acceptedMeanwhile(facts, chains, key)
  }
}

function* bodiesAtOnce(facts: Facts, chains: readonly Chain[], key: string | null): Iterable<string> {
  const chainOf = new Map(chains.flatMap(({ first, jobs }) => jobs.map(({ jobId }) => [jobId, first.jobId])))
  const own = facts.bodies.filter(({ began }) => chainOf.has(began.jobId)).map((body) => whileItsOwn(facts, body))
  for (const [index, body] of own.entries()) {
    const before = own.slice(0, index).find(({ began, until }) => {
      return chainOf.get(began.jobId) !== chainOf.get(body.began.jobId) && until > body.began.at
    })
    if (before !== undefined)
      yield `I10: ${body.began.n} and ${before.began.n} executed at once, and both hold the key ${key}.`
  }
}

function* acceptedMeanwhile(facts: Facts, chains: readonly Chain[], key: string | null): Iterable<string> {
  const acks = new Map(facts.evidence.recorded.acks.map((ack) => [ack.jobId, ack]))
  for (const holder of chains) {
    const since = acks.get(holder.first.jobId)?.answeredAt
    const body = facts.lastBody(holder)
    if (since === undefined || body === null || facts.retriesOf.has(holder.order.n)) continue
    const { until } = whileItsOwn(facts, body)
    for (const { first, order } of chains) {
      const ack = acks.get(first.jobId)
      if (ack !== undefined && ack.askedAt > since && ack.answeredAt < until)
        yield `I10: ${order.n} was accepted with the key ${key} while ${holder.order.n} held it.`
    }
  }
}
