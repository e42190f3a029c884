import { invalid, readWord } from '../domain/options.ts'
import { EventFeed } from '../engine/event-feed.ts'
import type { LateFinish } from '../engine/executor.ts'
import type { RecoveryStats } from '../engine/recovery.ts'
import type { Clock } from '../platform/clock.ts'
import type { Logger } from '../platform/logger.ts'
import type { EventStore, StoreSignal, Transition, TransitionKind } from '../store/events.ts'
import type { NodeRecord } from '../store/nodes.ts'

/** Events of this process alone; all others come from the store, whichever process made them. */
export interface LocalEvents {
  /** A body came to its end after its Run had one: nothing was changed by it. */
  'run.late': LateFinish
  /** A dead node was found, and its Jobs were recovered. */
  'node.recovered': { readonly node: NodeRecord; readonly stats: RecoveryStats }
}

export type SchedulerEvents = { readonly [Kind in TransitionKind]: Transition } & LocalEvents

const EVENT_KINDS = [
  'job.queued',
  'job.started',
  'job.finished',
  'job.cancelled',
  'job.cancel-requested',
  'job.moved',
  'job.edited',
  'job.released',
  'schedule.triggered',
  'run.progress',
  'run.released',
  'operation.progress',
  'run.late',
  'node.recovered',
] as const satisfies readonly (keyof SchedulerEvents)[]

/** Who listens to a scheduler, and to what. */
export class EventListeners {
  readonly #feed: EventFeed
  readonly #logger: Logger
  readonly #local = new Map<string, Set<(event: never) => void>>()

  constructor(store: EventStore, clock: Clock, logger: Logger) {
    this.#feed = new EventFeed(store, clock, logger)
    this.#logger = logger
  }

  /** Calls the listener for each event. Returns the way to stop it. */
  on<Kind extends keyof SchedulerEvents>(kind: Kind, listener: (event: SchedulerEvents[Kind]) => void): () => void {
    readWord(kind, EVENT_KINDS, 'kind')
    if (typeof listener !== 'function') throw invalid('listener', 'a function', listener)
    if (kind === 'run.late' || kind === 'node.recovered') {
      const listeners = this.#local.get(kind) ?? new Set()
      listeners.add(listener as (event: never) => void)
      this.#local.set(kind, listeners)
      return () => void listeners.delete(listener as (event: never) => void)
    }
    return this.#feed.listen(kind as TransitionKind, listener as (event: Transition) => void)
  }

  hear(signal: StoreSignal): void {
    this.#feed.hear(signal)
  }

  emit<Kind extends keyof LocalEvents>(kind: Kind, event: LocalEvents[Kind]): void {
    for (const listener of this.#local.get(kind) ?? []) {
      try {
        ;(listener as (event: LocalEvents[Kind]) => void)(event)
      } catch (error) {
        this.#logger.error({ error, event: kind }, 'An event listener threw')
      }
    }
  }
}
