import type { Group } from '../domain/group.ts'
import type { Clock, Timer } from '../platform/clock.ts'
import type { StoreSignal, TransitionKind } from '../store/events.ts'
import type { GroupStore } from '../store/groups.ts'

/** After a change elsewhere every waiting group must be looked at, but not for each of many changes. */
const LOOK_PAUSE_MS = 50

/** Also without any sign: a lost one must not keep a caller waiting. */
const LOOK_AT_LEAST_EVERY_MS = 5_000

interface Waiter {
  readonly resolve: (group: Group | null) => void
  readonly reject: (error: unknown) => void
}

/** Lets callers wait until a group has settled, wherever its members run. The state itself is read; signals only say when. */
export class GroupSettlements {
  readonly #store: Pick<GroupStore, 'findGroup'>
  readonly #clock: Clock
  readonly #waiters = new Map<string, Waiter[]>()
  #isLookScheduled = false
  #timer: Timer | null = null
  #dueAt = 0

  constructor(store: Pick<GroupStore, 'findGroup'>, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Null: there is no such group. */
  async wait(groupId: string): Promise<Group | null> {
    const group = await this.#store.findGroup(groupId)
    if (group === null || group.finishedAt !== null) return group
    return new Promise((resolve, reject) => {
      const waiters = this.#waiters.get(groupId) ?? []
      waiters.push({ resolve, reject })
      this.#waiters.set(groupId, waiters)
      // It may have settled between the look and now.
      this.#lookSoon()
    })
  }

  hear(signal: StoreSignal): void {
    if (this.#waiters.size === 0) return
    if (signal.kind === 'changed-elsewhere') this.#lookWithin(LOOK_PAUSE_MS)
    else if (signal.kind === 'committed' && signal.row.transitions.some(({ kind }) => ENDING.has(kind))) {
      this.#lookSoon()
    }
  }

  /** Nobody will look any more. */
  close(error: unknown): void {
    this.#timer?.cancel()
    for (const waiters of this.#waiters.values()) for (const { reject } of waiters) reject(error)
    this.#waiters.clear()
  }

  /** Many members may end in one turn of the event loop; the group is looked at once. */
  #lookSoon(): void {
    if (this.#isLookScheduled) return
    this.#isLookScheduled = true
    setImmediate(() => {
      this.#isLookScheduled = false
      void this.#look()
    })
  }

  /** A look that is due sooner is never put off. */
  #lookWithin(delayMs: number): void {
    const dueAt = this.#clock.now() + delayMs
    if (this.#timer !== null && this.#dueAt <= dueAt) return
    this.#timer?.cancel()
    this.#dueAt = dueAt
    this.#timer = this.#clock.after(delayMs, () => void this.#look(), 'poll')
  }

  async #look(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = null
    for (const groupId of this.#waiters.keys()) {
      try {
        const group = await this.#store.findGroup(groupId)
        if (group !== null && group.finishedAt === null) continue
        const waiters = this.#waiters.get(groupId) ?? []
        this.#waiters.delete(groupId)
        for (const { resolve } of waiters) resolve(group)
      } catch {
        // The store is closing or cannot be read for a moment; the next look finds what this one missed.
      }
    }
    if (this.#waiters.size > 0) this.#lookWithin(LOOK_AT_LEAST_EVERY_MS)
  }
}

/** What may settle a group. */
const ENDING: ReadonlySet<TransitionKind> = new Set<TransitionKind>(['job.finished', 'job.cancelled'])
