import { hostname } from 'node:os'
import type { Clock } from '../platform/clock.ts'
import type { Logger } from '../platform/logger.ts'
import type { Life, NodeRecord } from '../store/nodes.ts'
import type { Store } from '../store/store.ts'

export interface NodeLifeParts {
  readonly store: Pick<Store, 'liveness' | 'registerNode' | 'setNodeClaims' | 'removeNode' | 'listNodes'>
  readonly clock: Clock
  readonly logger: Logger
  readonly record: Pick<NodeRecord, 'nodeId' | 'name' | 'types' | 'concurrency'>
  /** What a living node does all the time begins here, and ends there. */
  readonly begun: () => void
  readonly ending: () => Promise<void>
}

/** How sure others can be that a node lives. */
export type Standing = ReturnType<Life['standing']>

/** The proof that a node lives, and the row by which others know it. It may end, and begin again. */
export class NodeLife {
  readonly #parts: NodeLifeParts
  #life: Life | null = null
  #isRegistered = false
  #claims = false
  /** Beginnings and ends come one after the other, however they were asked for. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(parts: NodeLifeParts) {
    this.#parts = parts
  }

  /** Takes up where an earlier begin failed; does nothing in a node that lives. */
  begin(): Promise<void> {
    return this.#inTurn(async () => {
      // Before the row: a row without a proof of life is a dead node.
      this.#life ??= await this.#parts.store.liveness.begin(this.#parts.record.nodeId)
      if (this.#isRegistered) return
      await this.#register()
      this.#isRegistered = true
      this.#parts.begun()
    })
  }

  /** Who does not live yet, or any more, may begin nothing. */
  standing(): Standing {
    return this.#life?.standing() ?? 'silent'
  }

  async setClaims(claims: boolean): Promise<void> {
    this.#claims = claims
    if (this.#isRegistered) await this.#parts.store.setNodeClaims(this.#parts.record.nodeId, claims)
  }

  /** Somebody may have taken us for dead, which only the loss of our proof can have caused. Then we may not claim. */
  async confirm(): Promise<'alive' | 'registered-anew'> {
    await this.#life?.beat()
    const { store, logger, record } = this.#parts
    const nodes = await store.listNodes()
    if (!this.#isRegistered || nodes.some(({ nodeId }) => nodeId === record.nodeId)) return 'alive'
    // Not before others can see that we live: a row without a fresh proof is a dead node again.
    if (this.standing() !== 'sound') return 'alive'
    logger.warn({ node: record.nodeId }, 'This node was taken for dead; it registers anew')
    await this.#register()
    return 'registered-anew'
  }

  /** `signOff` may be given up when the store does not answer: others find this node dead, and recover what it left. */
  end(signOff: (removed: Promise<unknown>) => Promise<void>): Promise<void> {
    return this.#inTurn(() => this.#end(signOff))
  }

  /** The same, unless somebody has come to need it meanwhile. */
  endUnless(isNeeded: () => boolean, signOff: (removed: Promise<unknown>) => Promise<void>): Promise<void> {
    return this.#inTurn(async () => {
      if (!isNeeded()) await this.#end(signOff)
    })
  }

  async #end(signOff: (removed: Promise<unknown>) => Promise<void>): Promise<void> {
    const { store, clock, logger, record, ending } = this.#parts
    await ending()
    const life = this.#life
    const wasRegistered = this.#isRegistered
    this.#life = null
    this.#isRegistered = false
    try {
      if (wasRegistered) await signOff(store.removeNode(record.nodeId, clock.now()))
    } catch (error) {
      logger.warn({ error }, 'This node could not sign off; others find it dead, and recover what it left')
    }
    try {
      if (life !== null) await signOff(life.end())
    } catch (error) {
      logger.warn({ error }, 'The proof that this node lives could not be taken back; it is cleared away by others')
    }
  }

  async #register(): Promise<void> {
    const { store, clock, record } = this.#parts
    const claims = this.#claims
    const about = { host: hostname(), pid: process.pid, startedAt: clock.now(), claims }
    await store.registerNode({ ...record, ...about })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work, work)
    this.#turn = turn.catch(() => {})
    return turn
  }
}
