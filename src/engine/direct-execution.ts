import type { JobPolicy } from '../domain/job.ts'
import { type Reservation, type ReservationStatus, TICKET_RENEW_MS } from '../domain/reservation.ts'
import type { Clock, Timer } from '../platform/clock.ts'
import type { IdSource } from '../platform/ids.ts'
import type { Logger } from '../platform/logger.ts'
import { SoonestTimer } from '../platform/soonest-timer.ts'
import type { StoreSignal } from '../store/events.ts'
import type { Store } from '../store/store.ts'

/** A request as a door hands it over: options and params checked. */
export interface DirectRequest {
  readonly type: string
  /** JSON text */
  readonly params: string
  readonly policy: JobPolicy
  readonly createdBy: string | null
  readonly onBusy: 'wait' | 'reject'
  readonly waitTimeoutMs: number
  readonly signal: AbortSignal | null
}

/** What became of a request. */
export type DirectEnd =
  /** It was executed, and has an outcome. */
  | { readonly kind: 'ended'; readonly reservation: Reservation }
  | { readonly kind: 'busy' | 'no-node' }
  /** It was never executed, and will not be. */
  | { readonly kind: 'wait-timeout' | 'expired'; readonly reservationId: string }
  /** It is over, but nobody can say any more what came of it. */
  | { readonly kind: 'pruned'; readonly reservationId: string }

export interface DirectExecutionParts {
  readonly store: Pick<
    Store,
    | 'openTicket'
    | 'renewTickets'
    | 'releaseTicket'
    | 'findReservationStatuses'
    | 'findReservations'
    | 'listNodes'
    | 'liveness'
  >
  readonly clock: Clock
  readonly newId: IdSource
  readonly logger: Logger
  readonly node: CallingNode
}

export interface TicketSource {
  readonly store: Pick<Store, 'openTicket'>
  readonly newId: IdSource
}

/** What a caller needs of the node that it lives in. */
export interface CallingNode {
  readonly nodeId: string
  /** Whether this very node claims, and handles the type. */
  serves(type: string): boolean
  /** Lives until the answer is called. */
  ensureLife(): Promise<() => Promise<void>>
}

/** Reservations looked at in one read. More would block the event loop for too long. */
const LOOK_MAX = 500

/** After a change elsewhere all that wait must be looked at, but not for each of many changes. */
const LOOK_PAUSE_MS = 50

/** Also without any sign: a lost one must not keep a caller waiting. */
const LOOK_AT_LEAST_EVERY_MS = 5_000

/** How long closing waits for the store to take tickets back. One that it does not take expires by itself. */
const CLOSING_PATIENCE_MS = 2_000

/**
 * The callers of direct executions in this process: takes tickets for them, keeps the tickets alive while they wait, and
 * tells them the end, wherever the body executes. The state itself is read; signals only say when.
 */
export class DirectExecutions {
  readonly #parts: DirectExecutionParts
  readonly #waiters = new Map<string, Waiter>()
  #calls = 0
  /** Those of which something may be new. */
  readonly #unseen = new Set<string>()
  #isLooking = false
  /** At all that wait. */
  readonly #allLook: SoonestTimer
  #renewTimer: Timer | null = null
  #isRenewFailing = false
  #closedBy: Error | null = null

  constructor(parts: DirectExecutionParts) {
    this.#parts = parts
    this.#allLook = new SoonestTimer(parts.clock, () => this.#lookAtAll())
  }

  /** No call to the store is under way: callers only wait. */
  get isQuiet(): boolean {
    return this.#calls === 0 && !this.#isLooking
  }

  /**
   * Resolves with what became of it. Rejects with the reason of the caller's signal, or when this scheduler is closed.
   * `source`: where the ticket is taken, if the store is to note who asked for it.
   */
  async execute(request: DirectRequest, source: TicketSource = this.#parts): Promise<DirectEnd> {
    if (this.#closedBy !== null) throw this.#closedBy
    request.signal?.throwIfAborted()
    if (!(await this.#call(() => this.#isServed(request.type)))) return { kind: 'no-node' }
    const waitNoMore = await this.#call(() => this.#parts.node.ensureLife())
    try {
      return await this.#takeTicket(request, source)
    } finally {
      await this.#call(waitNoMore)
    }
  }

  hear(signal: StoreSignal): void {
    if (this.#waiters.size === 0) return
    if (signal.kind === 'changed-elsewhere') this.#allLook.within(LOOK_PAUSE_MS)
    else if (signal.kind === 'stirred' && signal.what.has('reservations')) this.#look(signal.reservationIds)
  }

  /** From now on nobody may begin to wait. Tickets are given back; who waits for a body that executes waits on. */
  async beginClosing(error: Error): Promise<void> {
    this.#closedBy = error
    const waiting = [...this.#waiters.values()].filter((waiter) => !waiter.isServed)
    if (waiting.length === 0) return
    const dismissed = Promise.all(waiting.map((waiter) => this.#dismiss(waiter, error)))
    await new Promise<void>((resolve) => {
      const timer = this.#parts.clock.after(CLOSING_PATIENCE_MS, resolve)
      void dismissed.then(() => {
        timer.cancel()
        resolve()
      })
    })
  }

  /**
   * Who waits under one of these signals is answered now, and its ticket given back; who is being served waits on. For a
   * door that closes before the scheduler does.
   */
  dismissWaiting(signals: ReadonlySet<AbortSignal>, error: Error): void {
    for (const waiter of this.#waiters.values()) {
      const isMeant = waiter.signal !== null && signals.has(waiter.signal)
      if (isMeant && !waiter.isServed) void this.#dismiss(waiter, error)
    }
  }

  async #dismiss(waiter: Waiter, error: Error): Promise<void> {
    if ((await this.#giveBack(waiter, 'caller-gone')) !== 'served') this.#leave(waiter)?.reject(error)
  }

  /** Nobody will look any more. */
  close(error: Error): void {
    this.#closedBy = error
    for (const waiter of this.#waiters.values()) this.#leave(waiter)?.reject(error)
  }

  /** Our own node is known to live; of the others only the row is, and a dead one may have left it. */
  async #isServed(type: string): Promise<boolean> {
    const { store, node } = this.#parts
    if (node.serves(type)) return true
    for (const { nodeId, claims, types } of await store.listNodes()) {
      if (claims && types.includes(type) && (await store.liveness.isAlive(nodeId))) return true
    }
    return false
  }

  async #takeTicket(request: DirectRequest, { store, newId }: TicketSource): Promise<DirectEnd> {
    const { clock, node } = this.#parts
    const { type, params, policy, createdBy, onBusy } = request
    const reservationId = newId()
    const ticket = { reservationId, type, params, policy, createdBy, onBusy, callerNodeId: node.nodeId }
    const opened = await this.#call(() => store.openTicket(ticket, clock.now()))
    if (opened !== 'waiting') return { kind: opened }
    return new Promise((resolve, reject) => this.#wait(reservationId, request, resolve, reject))
  }

  #wait(
    reservationId: string,
    { signal, waitTimeoutMs }: DirectRequest,
    resolve: Waiter['resolve'],
    reject: Waiter['reject'],
  ): void {
    const gone = () => void this.#abandon(waiter, signal?.reason)
    const timer = this.#parts.clock.after(waitTimeoutMs, () => void this.#timeOut(waiter))
    const waiter: Waiter = { reservationId, signal, resolve, reject, timer, isServed: false, forget: () => {} }
    this.#waiters.set(reservationId, waiter)
    if (signal !== null) {
      signal.addEventListener('abort', gone, { once: true })
      waiter.forget = () => signal.removeEventListener('abort', gone)
    }
    this.#renewTimer ??= this.#parts.clock.after(TICKET_RENEW_MS, () => void this.#renew())
    // Both may have come while the ticket was being written.
    if (signal?.aborted === true) return gone()
    if (this.#closedBy !== null) return void this.#abandon(waiter, this.#closedBy)
    // It may have been served, and have ended, before anybody listened here.
    this.#look([reservationId])
    this.#allLook.within(LOOK_AT_LEAST_EVERY_MS)
  }

  /** The caller is not interested any more. A ticket is given back; a body that executes goes on. */
  async #abandon(waiter: Waiter, reason: unknown): Promise<void> {
    this.#leave(waiter)?.reject(reason)
    await this.#giveBack(waiter, 'caller-gone')
  }

  async #timeOut(waiter: Waiter): Promise<void> {
    const { reservationId } = waiter
    const answer = await this.#giveBack(waiter, 'wait-timeout')
    if (answer === 'given-back') this.#leave(waiter)?.resolve({ kind: 'wait-timeout', reservationId })
    // Served in this very moment: from now on only its end counts.
    else if (answer === 'served') this.#look([reservationId])
    else this.#leave(waiter)?.reject(answer.error)
  }

  /** An error is the store's. The ticket is not renewed any more then, so it expires by itself. */
  async #giveBack(
    { reservationId }: Waiter,
    reason: 'wait-timeout' | 'caller-gone',
  ): Promise<'given-back' | 'served' | { readonly error: unknown }> {
    const { store, clock, logger } = this.#parts
    try {
      const answer = await this.#call(() => store.releaseTicket(reservationId, reason, clock.now()))
      return answer === 'released' ? 'given-back' : 'served'
    } catch (error) {
      logger.warn({ error, reservationId }, 'A ticket could not be given back; it expires')
      return { error }
    }
  }

  /** One timer for all that wait. It is no poll: a ticket must not expire because a virtual clock leapt over it. */
  async #renew(): Promise<void> {
    const { store, clock, logger } = this.#parts
    const waiting = [...this.#waiters.values()].filter((waiter) => !waiter.isServed)
    this.#renewTimer = waiting.length === 0 ? null : clock.after(TICKET_RENEW_MS, () => void this.#renew())
    if (waiting.length === 0) return
    const ids = waiting.map(({ reservationId }) => reservationId)
    try {
      const renewed = new Set(await this.#call(() => store.renewTickets(ids, clock.now())))
      this.#isRenewFailing = false
      this.#look(ids.filter((id) => !renewed.has(id)))
    } catch (error) {
      const message = 'Tickets could not be renewed; trying again before they expire'
      if (!this.#isRenewFailing) logger.warn({ error, tickets: ids.length }, message)
      this.#isRenewFailing = true
    }
  }

  /** Looks at those of them that somebody waits for: one look at a time, however many reasons there are. */
  #look(reservationIds: Iterable<string>): void {
    for (const id of reservationIds) if (this.#waiters.has(id)) this.#unseen.add(id)
    if (this.#isLooking || this.#unseen.size === 0) return
    this.#isLooking = true
    queueMicrotask(() => void this.#lookUntilSeen())
  }

  async #lookUntilSeen(): Promise<void> {
    while (this.#unseen.size > 0) {
      try {
        await this.#call(() => this.#lookAt(this.#takeUnseen()))
      } catch {
        // The store is closing or cannot be read for a moment; the next look at all of them finds what this one missed.
      }
    }
    this.#isLooking = false
  }

  #takeUnseen(): string[] {
    const page: string[] = []
    for (const id of this.#unseen) {
      if (page.length === LOOK_MAX) break
      page.push(id)
      this.#unseen.delete(id)
    }
    return page
  }

  /** Mostly nothing has changed, or a body has started: a whole record is read only when it is wanted. */
  async #lookAt(ids: readonly string[]): Promise<void> {
    const statuses = await this.#parts.store.findReservationStatuses(ids)
    for (const id of ids) if (statuses.get(id) === 'RUNNING') this.#noteServed(id)
    const over = ids.filter((id) => isOver(statuses.get(id)))
    if (over.length === 0) return
    const found = await this.#parts.store.findReservations(over)
    const byId = new Map(found.map((reservation) => [reservation.reservationId, reservation]))
    for (const id of over) this.#answer(id, byId.get(id))
  }

  #noteServed(reservationId: string): void {
    const waiter = this.#waiters.get(reservationId)
    if (waiter === undefined) return
    waiter.isServed = true
    waiter.timer.cancel()
  }

  #answer(reservationId: string, reservation: Reservation | undefined): void {
    const waiter = this.#waiters.get(reservationId)
    if (waiter === undefined) return
    if (reservation === undefined) this.#leave(waiter)?.resolve({ kind: 'pruned', reservationId })
    else if (reservation.outcome !== null) this.#leave(waiter)?.resolve({ kind: 'ended', reservation })
    else if (reservation.status === 'EXPIRED') this.#leave(waiter)?.resolve({ kind: 'expired', reservationId })
    // Else the ticket was given back from here, and whoever did that has the answer.
  }

  #lookAtAll(): void {
    this.#look(this.#waiters.keys())
    if (this.#waiters.size > 0) this.#allLook.within(LOOK_AT_LEAST_EVERY_MS)
  }

  /** Null: it has been answered already. */
  #leave(waiter: Waiter): Waiter | null {
    if (!this.#waiters.delete(waiter.reservationId)) return null
    waiter.timer.cancel()
    waiter.forget()
    if (this.#waiters.size === 0) {
      this.#renewTimer?.cancel()
      this.#renewTimer = null
      this.#allLook.cancel()
    }
    return waiter
  }

  async #call<T>(work: () => Promise<T>): Promise<T> {
    this.#calls++
    try {
      return await work()
    } finally {
      this.#calls--
    }
  }
}

/** Also of one that is not there any more. */
function isOver(status: ReservationStatus | undefined): boolean {
  return status !== 'WAITING' && status !== 'RUNNING'
}

/** One caller. */
interface Waiter {
  readonly reservationId: string
  readonly signal: AbortSignal | null
  readonly resolve: (end: DirectEnd) => void
  readonly reject: (reason: unknown) => void
  readonly timer: Timer
  /** Its body executes: there is nothing to renew, and its end is waited for however long it takes. */
  isServed: boolean
  /** Listens to the caller's signal no more. */
  forget: () => void
}
