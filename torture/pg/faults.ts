import type { Chance } from '../chance.ts'

/** What becomes of the connections of one process, or of the process, or of the server. */
export type Misfortune =
  | { readonly kind: 'cut' }
  /** Everything takes longer. */
  | { readonly kind: 'delayed'; readonly byMs: number; readonly forMs: number }
  /** Half-open: nothing is answered any more, and nobody is told. */
  | { readonly kind: 'frozen'; readonly forMs: number }
  /** The same for the connections of this moment only: new ones work. */
  | { readonly kind: 'silent'; readonly forMs: number }
  /** The server does what it is told, and nobody hears of it. */
  | { readonly kind: 'deaf'; readonly forMs: number }
  | { readonly kind: 'refused'; readonly forMs: number }
  /** The next commit of a certain kind is carried out, and its connection is broken before anybody hears of it. */
  | { readonly kind: 'reply-lost'; readonly fits: RegExp }
  | { readonly kind: 'stopped'; readonly forMs: number }
  | { readonly kind: 'killed' }
  | { readonly kind: 'server-restarted'; readonly mode: 'fast' | 'immediate' }

/** Statements behind whose commits replies are lost: transactions, and what is a transaction by itself. */
const LOST = [/^commit$/, /insert into/, /update/, /with /, /delete from/]

const KINDS: readonly (readonly [Misfortune['kind'], number])[] = [
  ['cut', 4],
  ['delayed', 3],
  ['frozen', 2],
  ['silent', 2],
  ['deaf', 2],
  ['refused', 1],
  ['reply-lost', 8],
  ['stopped', 1],
  ['killed', 2],
  ['server-restarted', 1],
]

/** Each round has some kinds of it, and not the others: together they could hide each other. */
export function chooseKinds(chance: Chance): Misfortune['kind'][] {
  const some = KINDS.filter(() => chance.is(0.7))
  const chosen = some.length < 3 ? KINDS : some
  return chosen.flatMap(([kind, weight]) => Array.from({ length: weight }, () => kind))
}

export function drawMisfortune(chance: Chance, kinds: readonly Misfortune['kind'][]): Misfortune {
  const kind = chance.of(kinds)
  switch (kind) {
    case 'cut':
    case 'killed':
      return { kind }
    case 'delayed':
      return { kind, byMs: chance.between(20, 300), forMs: chance.between(500, 4_000) }
    case 'frozen':
    case 'silent':
      return { kind, forMs: chance.between(500, 6_000) }
    case 'deaf':
    case 'refused':
      return { kind, forMs: chance.between(200, 3_000) }
    case 'reply-lost':
      return { kind, fits: chance.of(LOST) }
    case 'stopped':
      return { kind, forMs: chance.between(200, 4_000) }
    case 'server-restarted':
      return { kind, mode: chance.is(0.5) ? 'fast' : 'immediate' }
  }
}
