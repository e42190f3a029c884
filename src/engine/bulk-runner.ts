import { walksOf } from '../domain/bulk-operation.ts'
import type { Clock } from '../platform/clock.ts'
import type { IdSource } from '../platform/ids.ts'
import type { Logger } from '../platform/logger.ts'
import type { BulkOperationStore, BulkPlace, RunningBulkOperation } from '../store/bulk-operations.ts'
import type { StoreSignal } from '../store/events.ts'
import { isClosed, isPassing } from './insist.ts'
import { Lookout } from './lookout.ts'
import type { NodePart } from './node-part.ts'

export interface BulkRunnerParts {
  readonly store: BulkOperationStore
  readonly clock: Clock
  readonly logger: Logger
  readonly newId: IdSource
}

/** Jobs per transaction: small enough that claims and finishes in between wait for milliseconds. */
const PAGE = 100

/** Lists that are read without a Job to change, before it is written how far it came. */
const EMPTY_PAGES_MAX = 20

/** Operations that are carried out side by side, a page of each in turn. */
const OPERATIONS_MAX = 20

/** Jobs that the next page of an operation concerns, and where the page after it begins. */
interface BulkPage {
  readonly jobIds: readonly string[]
  readonly next: BulkPlace | null
}

/**
 * Carries out bulk operations page by page. Any process may take the next page; how far an operation came is stored with the
 * page itself, so that no page is applied twice. It works while a node lives, and in a process that started an operation.
 */
export class BulkRunner implements NodePart {
  readonly during = 'living'
  readonly #parts: BulkRunnerParts
  readonly #lookout: Lookout
  /** Operations that met a damaged Job, and how many Jobs are still to be taken one by one. */
  readonly #careful = new Map<string, number>()

  constructor(parts: BulkRunnerParts) {
    const { clock, logger } = parts
    this.#parts = parts
    const failure = 'A bulk operation could not be carried out; trying again'
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
    if (signal.kind === 'stirred' && signal.what.has('operations')) this.#lookout.wake()
    else if (signal.kind === 'changed-elsewhere') this.#lookout.wakeSoon()
  }

  async #applyAll(): Promise<null> {
    while (this.#lookout.isRunning) {
      const running = await this.#parts.store.findRunningOperations(OPERATIONS_MAX)
      if (running.length === 0) break
      for (const operation of running) {
        if (!this.#lookout.isRunning) break
        await this.#applyOne(operation)
      }
    }
    return null
  }

  /** A Job that cannot be read or written fails its page. Then its neighbours are taken one by one, and it is counted. */
  async #applyOne(running: RunningBulkOperation): Promise<void> {
    const { operationId } = running.operation
    const careful = this.#careful.get(operationId) ?? 0
    const page = await this.#nextPage(running, careful > 0 ? 1 : PAGE)
    if (page === null) return
    try {
      await this.#apply(running, page, 0)
    } catch (error) {
      if (isPassing(error) || isClosed(error)) throw error
      if (careful === 0) {
        this.#careful.set(operationId, PAGE)
        return
      }
      this.#parts.logger.error({ error, operationId, jobs: page.jobIds }, 'A bulk operation passes over a damaged job')
      await this.#apply(running, { ...page, jobIds: [] }, page.jobIds.length)
    }
    if (careful > 1 && page.next !== null) this.#careful.set(operationId, careful - 1)
    else this.#careful.delete(operationId)
  }

  #apply({ operation, pages }: RunningBulkOperation, { jobIds, next }: BulkPage, failed: number): Promise<unknown> {
    const { store, newId, clock } = this.#parts
    const { operationId } = operation
    return store.applyOperationPage({ operationId, pages, jobIds, failed, next, newId, now: clock.now() })
  }

  /** Null: this process is told to stop. */
  async #nextPage(running: RunningBulkOperation, limit: number): Promise<BulkPage | null> {
    if (running.filter === null) return namedPage(running, limit)
    let place: BulkPlace = running.place
    for (let empty = 0; empty < EMPTY_PAGES_MAX; empty++) {
      if (!this.#lookout.isRunning) return null
      const { jobIds, next } = await this.#matchPage(running, place, limit)
      if (jobIds.length > 0 || next === null) return { jobIds, next }
      place = next
    }
    return { jobIds: [], next: place }
  }

  async #matchPage(running: RunningBulkOperation, { walk, cursor }: BulkPlace, limit: number): Promise<BulkPage> {
    const { operation, filter, lastSeq } = running
    const { kind, mode } = operation
    const walks = walksOf(kind, filter?.status)
    const request = { kind, mode, filter: { ...filter, ...walks[walk], limit, cursor }, lastSeq }
    const { items, nextCursor } = await this.#parts.store.matchJobs(request)
    if (nextCursor !== null) return { jobIds: items, next: { walk, cursor: nextCursor } }
    return { jobIds: items, next: walk + 1 < walks.length ? { walk: walk + 1, cursor: null } : null }
  }
}

/** A cursor is how many of them were dealt with. */
function namedPage({ operation, place }: RunningBulkOperation, limit: number): BulkPage {
  const all = operation.jobIds ?? []
  const end = Number(place.cursor ?? 0) + limit
  const next = end < all.length ? { walk: 0, cursor: String(end) } : null
  return { jobIds: all.slice(end - limit, end), next }
}
