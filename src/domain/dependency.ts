import type { ChainOutcome } from './chain.ts'

/** What becomes of a child when a parent's chain settles FAILED or CANCELLED. */
export type OnParentFailure = 'cancel' | 'run' | 'wait'

export const ON_PARENT_FAILURE: readonly OnParentFailure[] = ['cancel', 'run', 'wait']

/** How many parents one Job may name. */
export const PARENTS_MAX = 1_000

/**
 * What a parent's end means to one child. `met`: the child waits for one parent less. `cancel`: it will never run.
 * `wait`: nothing changes, until somebody retries the parent and it succeeds.
 */
export function decideDependency(outcome: ChainOutcome, onFailure: OnParentFailure): 'met' | 'cancel' | 'wait' {
  switch (outcome) {
    case 'COMPLETED':
    case 'SKIPPED':
      return 'met'
    case 'FAILED':
    case 'CANCELLED':
      return onFailure === 'run' ? 'met' : onFailure
  }
}

/** Why a child was cancelled, for its history. */
export function parentFailedReason(parentId: string, outcome: ChainOutcome): string {
  return `parent ${parentId} ended ${outcome}`
}

/**
 * The first cycle among named items, as the path that leads from an item back to itself, or null. `parentsOf` says for each
 * name on which others it depends; names that it does not know end the search there.
 */
export function findCycle(parentsOf: ReadonlyMap<string, readonly string[]>): readonly string[] | null {
  const done = new Set<string>()
  for (const start of parentsOf.keys()) {
    const cycle = done.has(start) ? null : searchFrom(start, parentsOf, done)
    if (cycle !== null) return cycle
  }
  return null
}

/** Depth first without recursion: a graph may be a line of ten thousand. */
function searchFrom(
  start: string,
  parentsOf: ReadonlyMap<string, readonly string[]>,
  done: Set<string>,
): readonly string[] | null {
  const path: string[] = [start]
  const onPath = new Map([[start, 0]])
  const next = [0]
  while (path.length > 0) {
    const depth = path.length - 1
    const name = path[depth] as string
    const parent = parentsOf.get(name)?.[next[depth] as number]
    if (parent === undefined) {
      done.add(name)
      onPath.delete(name)
      path.pop()
      next.pop()
      continue
    }
    next[depth] = (next[depth] as number) + 1
    const seenAt = onPath.get(parent)
    if (seenAt !== undefined) return [...path.slice(seenAt), parent]
    if (done.has(parent) || !parentsOf.has(parent)) continue
    onPath.set(parent, path.length)
    path.push(parent)
    next.push(0)
  }
  return null
}
