import { PawlError } from '../domain/errors.ts'
import type { Clock } from '../platform/clock.ts'
import { SoonestTimer } from '../platform/soonest-timer.ts'
import type { StoreSignal } from '../store/events.ts'
import type { ChainEnd, JobStore } from '../store/jobs.ts'

/** Chains looked at in one read. */
const LOOK_MAX = 500

/** After a change elsewhere every waiting chain must be looked at, but not for each of many changes. */
const LOOK_PAUSE_MS = 50

/** Also without any sign: a lost one must not keep a caller waiting. */
const LOOK_AT_LEAST_EVERY_MS = 5_000

interface Waiter {
  readonly resolve: (end: ChainEnd) => void
  readonly reject: (error: unknown) => void
}

/** Lets callers wait until a chain is settled, wherever it runs. The state itself is read; signals only say when. */
export class Settlements {
  readonly #store: Pick<JobStore, 'findChainEnds' | 'findJob'>
  readonly #clock: Clock
  readonly #waiters = new Map<string, Waiter[]>()
  #candidates = new Set<string>()
  #isLookScheduled = false
  /** At all waiting chains. */
  readonly #allLook: SoonestTimer
  #goneLookedAt = 0
  #closedBy: { readonly error: unknown } | null = null

  constructor(store: Pick<JobStore, 'findChainEnds' | 'findJob'>, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#allLook = new SoonestTimer(clock, () => void this.#lookAtAll())
  }

  async wait(chainId: string): Promise<ChainEnd> {
    const [end] = await this.#store.findChainEnds([chainId])
    if (end !== undefined) return end
    await this.#refuseGone(chainId)
    if (this.#closedBy !== null) throw this.#closedBy.error
    return new Promise((resolve, reject) => {
      const waiters = this.#waiters.get(chainId)
      if (waiters === undefined) this.#waiters.set(chainId, [{ resolve, reject }])
      else waiters.push({ resolve, reject })
      // It may have settled between the look and now.
      this.#look(chainId)
      this.#allLook.within(LOOK_AT_LEAST_EVERY_MS)
    })
  }

  /** Only a settled chain can be pruned; who asks for its end then is told, instead of waiting for ever. */
  async #refuseGone(chainId: string): Promise<void> {
    if ((await this.#store.findJob(chainId, this.#clock.now())) !== null) return
    throw new PawlError('job_not_found', `There is no job ${chainId} any more. It has ended and was pruned.`, {
      details: { jobId: chainId },
    })
  }

  hear(signal: StoreSignal): void {
    if (this.#waiters.size === 0) return
    if (signal.kind === 'changed-elsewhere') this.#allLook.within(LOOK_PAUSE_MS)
    else if (signal.kind === 'committed') {
      for (const { kind, chainId } of signal.row.transitions) {
        if ((kind === 'job.finished' || kind === 'job.cancelled') && this.#waiters.has(chainId)) this.#look(chainId)
      }
    }
  }

  /** Nobody will look any more. */
  close(error: unknown): void {
    this.#closedBy = { error }
    this.#allLook.cancel()
    for (const waiters of this.#waiters.values()) for (const { reject } of waiters) reject(error)
    this.#waiters.clear()
  }

  #look(chainId: string): void {
    this.#candidates.add(chainId)
    if (this.#isLookScheduled) return
    this.#isLookScheduled = true
    queueMicrotask(() => void this.#lookNow())
  }

  async #lookNow(): Promise<void> {
    this.#isLookScheduled = false
    const chainIds = [...this.#candidates]
    this.#candidates = new Set()
    for (let from = 0; from < chainIds.length; from += LOOK_MAX) {
      try {
        for (const end of await this.#store.findChainEnds(chainIds.slice(from, from + LOOK_MAX))) this.#settle(end)
      } catch {
        // The store is closing or cannot be read for a moment; the next look finds what this one missed.
      }
    }
  }

  #settle(end: ChainEnd): void {
    for (const { resolve } of this.#takeWaiters(end.chainId)) resolve(end)
  }

  #takeWaiters(chainId: string): readonly Waiter[] {
    const waiters = this.#waiters.get(chainId) ?? []
    this.#waiters.delete(chainId)
    if (this.#waiters.size === 0) this.#allLook.cancel()
    return waiters
  }

  async #lookAtAll(): Promise<void> {
    const chainIds = [...this.#waiters.keys()]
    for (const chainId of chainIds) this.#candidates.add(chainId)
    await this.#lookNow()
    const now = this.#clock.now()
    if (now - this.#goneLookedAt >= LOOK_AT_LEAST_EVERY_MS) {
      this.#goneLookedAt = now
      for (const chainId of chainIds) if (this.#waiters.has(chainId)) await this.#rejectGone(chainId)
    }
    if (this.#waiters.size > 0) this.#allLook.within(LOOK_AT_LEAST_EVERY_MS)
  }

  /** It settled elsewhere and was pruned before we looked. */
  async #rejectGone(chainId: string): Promise<void> {
    try {
      await this.#refuseGone(chainId)
    } catch (error) {
      if (error instanceof PawlError && error.code === 'job_not_found') {
        for (const { reject } of this.#takeWaiters(chainId)) reject(error)
      }
    }
  }
}
