import type { Chance } from '../chance.ts'

/** What may go wrong in a run, each as a probability or a number of times. Zero: it does not happen in this run. */
export interface Faults {
  /** Processes die, at any moment and in the middle of a call. */
  readonly crashes: number
  /** A call to the store dies with its process, before or after it was carried out. */
  readonly crashInCall: number
  /** Processes stop for some seconds, or for so long that others take them for dead, and go on. */
  readonly pauses: number
  /** What was asked is not carried out, and whoever asked is told that the store does not answer. */
  readonly lostRequest: number
  /** Of what was lost so, this part is carried out after all, seconds later, when nobody waits for it any more. */
  readonly lateRequest: number
  /** It is carried out, but the answer gets lost. */
  readonly lostReply: number
  /** Requests and answers take their time. */
  readonly slow: number
  /** For some seconds a process reaches the store not at all. */
  readonly partitions: number
  /** The clock on the wall is set forward or back. */
  readonly clockSteps: number
  /** Nobody is told that another process has changed something. */
  readonly lostSignals: number
  /** A statement fails within its transaction. */
  readonly brokenStatement: number
}

/** What a run is made of. */
export interface Conditions {
  readonly faults: Faults
  /** `lock`: who is dead is known at once, as with files. `heartbeat`: after some time, as with a server. */
  readonly liveness: 'lock' | 'heartbeat'
  /** Whether somebody is told of all ends. */
  readonly hasWebhook: boolean
  readonly processes: number
  readonly concurrency: number
  /** How many claims of one process may be under way: two, as with a server, or one. */
  readonly claimsAtOnce: number
  /** How many requests clients make, and within how many milliseconds. */
  readonly requests: number
  readonly lengthMs: number
  /** The kinds of requests that are made in this run, with their weights. */
  readonly wishes: Readonly<Record<Wish, number>>
}

export const WISHES = [
  'enqueue',
  'enqueue-many',
  'group',
  'cancel',
  'retry',
  'move',
  'edit',
  'schedule',
  'schedule-change',
  'direct',
  'limit',
  'prune',
  'restart',
  'crowd',
] as const

export type Wish = (typeof WISHES)[number]

/**
 * Each seed switches on some of the faults and some of the requests, and the others not at all: where everything happens all
 * the time, much hides the rest.
 */
function drawConditions(chance: Chance): Omit<Conditions, 'claimsAtOnce'> {
  const sometimes = (probability: number, most: number) => (chance.is(probability) ? chance.next() * most : 0)
  const liveness = chance.is(0.5) ? 'lock' : 'heartbeat'
  const faults: Faults = {
    crashes: chance.is(0.5) ? chance.between(1, 4) : 0,
    crashInCall: sometimes(0.3, 0.01),
    pauses: chance.is(0.3) ? chance.between(1, 3) : 0,
    lostRequest: sometimes(0.3, 0.05),
    lateRequest: sometimes(0.5, 0.5),
    lostReply: sometimes(0.4, 0.05),
    slow: sometimes(0.3, 0.3),
    partitions: liveness === 'heartbeat' && chance.is(0.3) ? chance.between(1, 2) : 0,
    clockSteps: chance.is(0.2) ? chance.between(1, 3) : 0,
    lostSignals: sometimes(0.3, 1),
    brokenStatement: sometimes(0.3, 0.01),
  }
  const weight = (wish: Wish): number => {
    if (wish === 'enqueue') return 1
    if (wish === 'crowd') return 0
    return chance.is(0.5) ? chance.next() * (USUALLY[wish] ?? 0.3) : 0
  }
  return {
    faults,
    liveness,
    hasWebhook: chance.is(0.4),
    processes: chance.of([1, 2, 2, 3, 3, 4]),
    concurrency: chance.of([1, 2, 3, 8]),
    requests: chance.between(4, 24),
    lengthMs: chance.between(1, 10) * 1_000,
    wishes: Object.fromEntries(WISHES.map((wish) => [wish, weight(wish)])) as Record<Wish, number>,
  }
}

/** What the life of a seed is made of. */
export function conditionsOf(seed: number, chance: Chance): Conditions {
  const conditions = specialOf(seed, chance)
  // Not drawn, so that seeds which have shown something wrong stay what they were: all of them are even.
  return { ...conditions, claimsAtOnce: conditions.liveness === 'heartbeat' && seed % 2 === 1 ? 2 : 1 }
}

/**
 * Some mistakes show only where things meet that seldom do. Of eight seeds, one lives by its schedules and breaks more statements,
 * and one has crowds: many Jobs that start and end together, on nodes that others take for dead. The others are as they were drawn.
 */
function specialOf(seed: number, chance: Chance): Omit<Conditions, 'claimsAtOnce'> {
  const drawn = drawConditions(chance)
  const { faults, wishes } = drawn
  switch (seed % 8) {
    case 5:
      return {
        ...drawn,
        faults: { ...faults, brokenStatement: Math.max(faults.brokenStatement, 0.02) },
        wishes: { ...wishes, schedule: 1, 'schedule-change': 0.3 },
      }
    case 7:
      return {
        ...drawn,
        faults: { ...faults, pauses: Math.max(faults.pauses, 2), partitions: Math.max(faults.partitions, 1) },
        liveness: 'heartbeat',
        processes: Math.max(drawn.processes, 2),
        concurrency: 24,
        wishes: { ...wishes, crowd: 1 },
      }
    default:
      return drawn
  }
}

const USUALLY: Partial<Record<Wish, number>> = {
  'enqueue-many': 0.5,
  group: 0.3,
  cancel: 0.4,
  direct: 0.4,
  schedule: 0.2,
  limit: 0.1,
  prune: 0.1,
  restart: 0.1,
}

/** When nothing goes wrong any more. */
export const NO_FAULTS: Faults = {
  crashes: 0,
  crashInCall: 0,
  pauses: 0,
  lostRequest: 0,
  lateRequest: 0,
  lostReply: 0,
  slow: 0,
  partitions: 0,
  clockSteps: 0,
  lostSignals: 0,
  brokenStatement: 0,
}

/** One of the wishes of this run, by their weights. */
export function chooseWish(chance: Chance, weights: Readonly<Record<Wish, number>>): Wish {
  let rest = chance.next() * WISHES.reduce((sum, wish) => sum + weights[wish], 0)
  for (const wish of WISHES) {
    rest -= weights[wish]
    if (rest < 0) return wish
  }
  return 'enqueue'
}
