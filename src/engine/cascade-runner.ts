import type { Clock, Timer } from '../platform/clock.ts'
import type { IdSource } from '../platform/ids.ts'
import type { Logger } from '../platform/logger.ts'
import type { StoreSignal } from '../store/events.ts'
import type { CascadeStore } from '../store/groups.ts'
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

/** Also without any sign: a lost one must not keep a child waiting. */
const LOOK_AT_LEAST_EVERY_MS = 5_000

/** After a failed page, wait this long before the next. */
const TRY_AGAIN_MS = 500

/**
 * Carries out stored cascades page by page: releases or cancels the dependents of settled chains, stops or skips the
 * members of groups. Any node may take the next page; how far a cascade came is stored with the page itself.
 */
export class CascadeRunner implements NodePart {
  readonly during = 'living'
  readonly #parts: CascadeRunnerParts
  #isRunning = false
  #isWoken = false
  #underWay: Promise<void> | null = null
  #timer: Timer | null = null

  constructor(parts: CascadeRunnerParts) {
    this.#parts = parts
  }

  get isQuiet(): boolean {
    return this.#underWay === null
  }

  start(): void {
    this.#isRunning = true
    this.#wake()
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    this.#timer?.cancel()
    this.#timer = null
    await this.#underWay
  }

  hear(signal: StoreSignal): void {
    if (signal.kind === 'changed-elsewhere' || (signal.kind === 'stirred' && signal.what.has('cascades'))) this.#wake()
  }

  #wake(): void {
    if (!this.#isRunning) return
    if (this.#underWay !== null) {
      this.#isWoken = true
      return
    }
    this.#underWay = this.#applyAll().then((nextLookMs) => {
      this.#underWay = null
      if (!this.#isRunning) return
      this.#timer?.cancel()
      this.#timer = this.#parts.clock.after(nextLookMs, () => this.#wake(), 'poll')
      if (this.#isWoken) this.#wake()
    })
  }

  async #applyAll(): Promise<number> {
    const { store, clock, logger, newId, nodeId } = this.#parts
    this.#isWoken = false
    try {
      while (this.#isRunning && (await store.hasCascades())) {
        if ((await store.applyCascade({ nodeId, newId, limit: PAGE, now: clock.now() })) === 'idle') break
      }
      return LOOK_AT_LEAST_EVERY_MS
    } catch (error) {
      logger.error({ error }, 'A cascade could not be carried out; trying again')
      return TRY_AGAIN_MS
    }
  }
}
