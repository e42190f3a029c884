import { byKey, type Facts } from './facts.ts'
import { whileItsOwn } from './limits.ts'

/** I12. */
export function* childrenBeganAfterParents(facts: Facts): Iterable<string> {
  for (const [n, request] of facts.requests) {
    const chain = facts.chainOf.get(n)
    const began = chain === undefined ? null : facts.firstBegan(chain)
    if (began === null) continue
    for (const parent of facts.parentsOf(request)) {
      // One that was tried again by hand had settled before, and may execute beside its children.
      if (facts.retriesOf.has(parent)) continue
      const before = facts.chainOf.get(parent)
      const body = before === undefined ? null : facts.lastBody(before)
      if (body === null || body.ended === null || before?.last.run?.reason === 'cancelled') continue
      const { until } = whileItsOwn(facts, body)
      if (began.at < until)
        yield `I12: ${n} began on ${began.node} at ${began.at}, before its parent ${parent} ended at ${until}.`
    }
  }
}

/** I13. The last word of a chain is that of the Job that was in the group: who is tried again by hand leaves it. */
export function* groupsAreCounted({ evidence, chains }: Facts): Iterable<string> {
  const members = byKey(chains, ({ first }) => first.groupId)
  for (const { groupId, status, isSettled, counts } of evidence.history.groups) {
    const own = members.get(groupId) ?? []
    const count = (outcome: string) => own.filter((chain) => chain.outcome === outcome).length
    const recount = {
      total: own.length,
      completed: count('COMPLETED'),
      failed: count('FAILED'),
      skipped: count('SKIPPED'),
      cancelled: count('CANCELLED'),
    }
    const [told, found] = [JSON.stringify(counts), JSON.stringify(recount)]
    if (told !== found) yield `I13: group ${groupId} says ${told}, but its members say ${found}.`
    if (!isSettled) yield `I15: group ${groupId} has not settled.`
    const expected = recount.completed + recount.skipped === recount.total ? 'COMPLETED' : 'PARTIAL'
    if (isSettled && status !== expected)
      yield `I13: group ${groupId} is ${status}, but its members make it ${expected}.`
  }
}
