import { type Body, byKey, type Facts } from './facts.ts'

/** I11. Bodies of Jobs and of direct executions take permits and places alike. */
export function* limitsHeld(facts: Facts): Iterable<string> {
  const { evidence, bodies } = facts
  for (const { name, max, types } of evidence.limits) {
    const holders = bodies.filter(({ began }) => types.includes(began.type)).map((body) => whileItsOwn(facts, body))
    yield* overfull(holders, max, `the limit ${name}`)
  }
  for (const [node, own] of byKey(bodies, ({ began }) => began.node)) {
    yield* overfull(own, evidence.concurrency, `the places of ${node}`)
  }
}

/**
 * A node that was stopped or cut off for so long that it was taken for dead cannot be kept from going on with its bodies, and
 * Pawl does not promise it: what it held is others' from the moment of its fault on.
 */
export function whileItsOwn({ faultyAt, jobs, reservations }: Facts, body: Body): Body {
  const { node, jobId, at } = body.began
  const faultAt = faultyAt.get(node)
  const reason = reservations.get(jobId)?.reason ?? jobs.get(jobId)?.run?.reason
  if (faultAt === undefined || reason !== 'crash') return body
  return { ...body, until: Math.min(body.until, Math.max(at, faultAt)) }
}

/** Bodies are in the order of their beginnings. */
function* overfull(bodies: readonly Body[], max: number, name: string): Iterable<string> {
  let open: Body[] = []
  for (const body of bodies) {
    open = open.filter(({ until }) => until > body.began.at)
    open.push(body)
    if (open.length <= max) continue
    const holders = open.map(({ began }) => `${began.n} on ${began.node} (Run ${began.runId}, since ${began.at})`)
    yield `I11: ${open.length} bodies at once held ${name} of ${max}: ${holders.join(', ')}.`
  }
}
