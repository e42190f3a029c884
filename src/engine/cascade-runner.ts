import type { Clock } from '../platform/clock.ts'
import type { IdSource } from '../platform/ids.ts'
import type { Logger } from '../platform/logger.ts'
import type { StoreSignal } from '../store/events.ts'
import type { CascadeStore } from '../store/groups.ts'
import { Lookout } from './lookout.ts'
import type { NodePart } from './node-part.ts'

export interface CascadeRunnerParts {
  readonly store: CascadeStore
  readonly clock: Clock
  readonly logger: Logger
  readonly newId: IdSource
  readonly nodeId: string
}

/** Dependents or members per transaction: small enough that claims and finishes in between wait for milliseconds. */
const PAGE = 200

/**
 * Carries out stored cascades page by page: releases or cancels the dependents of settled chains, stops or skips the
 * members of groups. Any node may take the next page; how far a cascade came is stored with the page itself.
 */
export class CascadeRunner implements NodePart {
  readonly during = 'living'
  readonly #parts: CascadeRunnerParts
  readonly #lookout: Lookout

  constructor(parts: CascadeRunnerParts) {
    const { clock, logger } = parts
    this.#parts = parts
    const failure = 'A cascade could not be carried out; trying again'
    this.#lookout = new Lookout({ clock, logger, look: () => this.#applyAll(), failure })
  }

  get isQuiet(): boolean {
    return this.#lookout.isQuiet
  }

  start(): void {
    this.#lookout.start()
  }

  stop(): Promise<void> {
    return this.#lookout.stop()
  }

  hear(signal: StoreSignal): void {
    if (signal.kind === 'changed-elsewhere' || (signal.kind === 'stirred' && signal.what.has('cascades'))) {
      this.#lookout.wake()
    }
  }

  async #applyAll(): Promise<null> {
    const { store, clock, newId, nodeId } = this.#parts
    while (this.#lookout.isRunning && (await store.hasCascades())) {
      if ((await store.applyCascade({ nodeId, newId, limit: PAGE, now: clock.now() })) === 'idle') break
    }
    return null
  }
}
