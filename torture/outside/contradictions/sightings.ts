import type { Facts } from './facts.ts'

/** I3 and I7. What once was seen as ended is the same in the end, word for word. */
export function* whatEndedNeverChanged({ evidence }: Facts): Iterable<string> {
  const told = new Set<string>()
  for (const { what, digest } of evidence.recorded.seen) {
    const last = evidence.lastSeen.get(what)
    if (last === digest || told.has(what)) continue
    told.add(what)
    yield last === undefined ? `I3: ${what} had ended, and is gone.` : `I7: ${what} had ended, and has changed since.`
  }
}
