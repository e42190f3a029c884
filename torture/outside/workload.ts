import type { EnqueueOptions } from 'pawl'

/** What a body is told to do, as the params of its Job. `n` is the number of the request, by which it is known everywhere. */
export type Order = { readonly n: number; readonly ms?: number; readonly direct?: true } & (
  | { readonly does: 'completes' | 'fails' | 'refuses' | 'skips' }
  /** Its first attempts fail. */
  | { readonly does: 'falters'; readonly times: number }
  /** Its follow-up is accepted together with its outcome. */
  | { readonly does: 'spawns'; readonly follow: { readonly type: string; readonly order: Order } }
  /** With its end, before its outcome is written, its process stops, at the first attempt. */
  | { readonly does: 'stops' }
  /** Until the test lets it go: deaf to its abort, or not. */
  | { readonly does: 'waits' | 'heeds' }
  /** Without letting anything else happen in its process. */
  | { readonly does: 'computes'; readonly forMs: number }
)

/** One Job that somebody asks for. */
export interface Request {
  readonly type: string
  readonly order: Order
  readonly options: Pick<EnqueueOptions, 'priority' | 'delayMs' | 'idempotencyKey' | 'businessKey' | 'onParentFailure'>
  /** The numbers of the requests it depends on: of the same call, or of an earlier one. */
  readonly parents: readonly number[]
}

/** What is accepted together. */
export type Call =
  | { readonly kind: 'one'; readonly requests: readonly [Request] }
  | { readonly kind: 'many'; readonly requests: readonly Request[] }
  | ({ readonly kind: 'group'; readonly requests: readonly Request[] } & GroupRules)

export interface GroupRules {
  readonly mode: 'parallel' | 'sequential'
  readonly onFailure: 'stop' | 'continue' | 'skip'
}

/** What somebody does to a Job that was asked for before, or without one. */
export type Deed =
  | { readonly kind: 'cancel'; readonly n: number; readonly mode: 'graceful' | 'abort' }
  /** When its chain has settled, and did not complete. */
  | { readonly kind: 'retry'; readonly n: number }
  | { readonly kind: 'direct'; readonly type: string; readonly order: Order }

export type Act = Call | Deed

export const isCall = (act: Act): act is Call => 'requests' in act

/** A limit of the whole store, and the types that are under it. */
export interface Limit {
  readonly name: string
  readonly max: number
  readonly types: readonly string[]
}

export const TYPES = [
  { type: 'free' },
  /** The receivers of webhooks are told of it. */
  { type: 'told' },
  /** Schedules make it. */
  { type: 'timed' },
  { type: 'press', resources: ['press'] },
  { type: 'oven', resources: ['oven'] },
  { type: 'press-and-oven', resources: ['press', 'oven'] },
  { type: 'lathe', resources: ['lathe'] },
  { type: 'pair', concurrency: 2 },
] as const

export type TypeName = (typeof TYPES)[number]['type']

export const RESOURCES = { press: 1, oven: 1, lathe: 3 }

export const LIMITS: readonly Limit[] = [
  { name: 'press', max: 1, types: ['press', 'press-and-oven'] },
  { name: 'oven', max: 1, types: ['oven', 'press-and-oven'] },
  { name: 'lathe', max: 3, types: ['lathe'] },
  { name: 'pair', max: 2, types: ['pair'] },
]

/** After a crash all are tried again, however often: nobody is to fail because a node was killed. */
export const RETRY = {
  maxRetries: 2,
  maxCrashRetries: 100,
  backoff: { kind: 'fixed', delayMs: 300 },
} as const

/** The number of the follow-up of request `n`. */
export const followUpOf = (n: number): number => 1_000_000_000 + n

/** Jobs of schedules have all the same params; nobody asked for them one by one. */
export const TIMED_ORDER: Order = { n: 0, does: 'completes' }
