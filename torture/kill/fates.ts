import type { FaultPoint } from 'pawl/testing'
import type { Chance } from '../chance.ts'
import type { DieAt } from '../outside/scene.ts'

/** When a process is to be killed: so long after its first moment, or after it has told that it works; or by itself. */
export type Fate =
  | { readonly kind: 'from-birth'; readonly afterMs: number }
  | { readonly kind: 'from-start'; readonly afterMs: number }
  | { readonly kind: 'point'; readonly dieAt: DieAt }

/** The points at which nodes die, and how often they pass them in a second or so. */
const OF_NODES: readonly (readonly [FaultPoint, number])[] = [
  ['store:statement', 300],
  ['store:before-commit', 60],
  ['store:after-commit', 60],
  ['dispatcher:claimed', 20],
  ['executor:body-ended', 40],
  ['recovery:node-found', 2],
  ['recovery:runs-ended', 2],
]

const OF_CLIENTS: readonly (readonly [FaultPoint, number])[] = [
  ['store:statement', 200],
  ['store:before-commit', 30],
  ['store:after-commit', 30],
]

export function fateOfNode(chance: Chance): Fate {
  const kind = chance.next()
  if (kind < 0.2) return { kind: 'from-birth', afterMs: chance.below(400) }
  if (kind < 0.55) return { kind: 'from-start', afterMs: chance.below(700) }
  return atPoint(chance, OF_NODES)
}

export function fateOfClient(chance: Chance): Fate {
  const kind = chance.next()
  if (kind < 0.1) return { kind: 'from-birth', afterMs: chance.below(400) }
  if (kind < 0.6) return { kind: 'from-start', afterMs: 100 + chance.below(900) }
  return atPoint(chance, OF_CLIENTS)
}

function atPoint(chance: Chance, points: readonly (readonly [FaultPoint, number])[]): Fate {
  const [point, often] = chance.of(points)
  return { kind: 'point', dieAt: { point, passing: chance.between(1, often) } }
}
