import type { Logger } from '../platform/logger.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { Executor } from './executor.ts'
import type { Finisher } from './finisher.ts'
import type { Standing } from './node-life.ts'
import type { Recovery } from './recovery.ts'

export interface OwnBodiesParts {
  readonly dispatcher: Dispatcher
  readonly executor: Executor
  readonly finisher: Finisher
  readonly recovery: Recovery
  readonly logger: Logger
  readonly standing: () => Standing
}

/** So many strays are found at once. */
const STRAYS_MAX = 200

/** Keeps the bodies of this node in agreement with what the store, and all who look at it, believe of them. */
export class OwnBodies {
  readonly #parts: OwnBodiesParts
  #standing: Standing = 'sound'

  constructor(parts: OwnBodiesParts) {
    this.#parts = parts
  }

  /**
   * Looks how sure others can be of this node. Soon they may take one for dead that is fading, and give what its bodies hold
   * to others: so those that hold something stop. One that is back goes on by itself. Waits for nothing.
   */
  watch(): void {
    const { executor, dispatcher, logger } = this.#parts
    const standing = this.#parts.standing()
    const before = this.#standing
    this.#standing = standing
    if (standing === 'sound') {
      if (before === 'sound') return
      logger.info({}, 'This node can prove again that it lives; it goes on')
      dispatcher.wake()
      // If that fails, the next regular comparison tells.
      this.compare().catch(() => {})
      return
    }
    if (before === 'sound') {
      logger.warn({}, 'This node cannot prove to others that it lives; until it can, it claims nothing')
    }
    if (standing !== 'fading') return
    const bodies = executor.interruptHolders('disconnected')
    if (bodies > 0) {
      logger.warn({ bodies }, 'Others may soon take this node for dead; its jobs that hold resources were stopped')
    }
  }

  /**
   * Compares what the store says executes here with what does. What nobody here knows is a stray, of a claim whose answer
   * was lost, and is ended. What the store does not know was ended by others, who had taken this node for dead: it may be
   * executed elsewhere by now, and is stopped.
   */
  async compare(): Promise<void> {
    const { dispatcher, executor, finisher, recovery } = this.#parts
    const isKnown = (id: string) => executor.isExecuting(id) || finisher.isFinishing(id)
    // Before the look: what was claimed then is in the store, unless it has ended.
    const here = executor.runIds
    const limit = STRAYS_MAX + here.length + finisher.size
    const recorded = await recovery.findOwnBodies(limit)
    if (recorded.isWhole) this.#stopLost(here.filter((id) => !recorded.ids.has(id) && !finisher.isFinishing(id)))
    const suspects = new Set([...recorded.ids].filter((id) => !isKnown(id)))
    if (suspects.size === 0) return
    // What the look found may have been claimed just now, and the answer be on its way. Or its end was: so look twice.
    await dispatcher.answered()
    await recovery.endStrays((id) => suspects.has(id) && !isKnown(id), limit)
  }

  #stopLost(ids: readonly string[]): void {
    const { executor, logger } = this.#parts
    const stopped = ids.filter((id) => executor.interrupt(id, 'disconnected'))
    if (stopped.length === 0) return
    logger.warn(
      { bodies: stopped.length },
      'This node was taken for dead, and others have ended its jobs; their bodies here are stopped',
    )
  }
}
