import type { Group } from '../domain/group.ts'
import type { Clock } from '../platform/clock.ts'
import { SoonestTimer } from '../platform/soonest-timer.ts'
import type { StoreSignal } from '../store/events.ts'
import type { GroupStore } from '../store/groups.ts'

/** After a change elsewhere every waiting group must be looked at, but not for each of many changes. */
const LOOK_PAUSE_MS = 50

/** Also without any sign: a lost one must not keep a caller waiting. */
const LOOK_AT_LEAST_EVERY_MS = 5_000

/** Groups that are asked for in one read. */
const LOOK_MAX = 1_000

interface Waiter {
  readonly resolve: (group: Group | null) => void
  readonly reject: (error: unknown) => void
}

/** Lets callers wait until a group has settled, wherever its members run. The state itself is read; signals only say when. */
export class GroupSettlements {
  readonly #store: Pick<GroupStore, 'findGroup' | 'findSettledGroups'>
  readonly #waiters = new Map<string, Waiter[]>()
  /** At all waiting groups. */
  readonly #allLook: SoonestTimer
  #closedBy: { readonly error: unknown } | null = null

  constructor(store: Pick<GroupStore, 'findGroup' | 'findSettledGroups'>, clock: Clock) {
    this.#store = store
    this.#allLook = new SoonestTimer(clock, () => void this.#lookAtAll())
  }

  /** Null: there is no such group. */
  async wait(groupId: string): Promise<Group | null> {
    const group = await this.#store.findGroup(groupId)
    if (group === null || group.finishedAt !== null) return group
    if (this.#closedBy !== null) throw this.#closedBy.error
    return new Promise((resolve, reject) => {
      const waiters = this.#waiters.get(groupId) ?? []
      waiters.push({ resolve, reject })
      this.#waiters.set(groupId, waiters)
      // It may have settled between the look and now.
      void this.#lookAt([groupId])
      this.#allLook.within(LOOK_AT_LEAST_EVERY_MS)
    })
  }

  hear(signal: StoreSignal): void {
    if (this.#waiters.size === 0) return
    if (signal.kind === 'changed-elsewhere') this.#allLook.within(LOOK_PAUSE_MS)
    else if (signal.kind === 'stirred' && signal.what.has('groups')) {
      void this.#answer([...signal.groupIds].filter((groupId) => this.#waiters.has(groupId)))
    }
  }

  /** Nobody will look any more. */
  close(error: unknown): void {
    this.#closedBy = { error }
    this.#allLook.cancel()
    for (const waiters of this.#waiters.values()) for (const { reject } of waiters) reject(error)
    this.#waiters.clear()
  }

  async #lookAtAll(): Promise<void> {
    const groupIds = [...this.#waiters.keys()]
    for (let from = 0; from < groupIds.length; from += LOOK_MAX) {
      await this.#lookAt(groupIds.slice(from, from + LOOK_MAX))
    }
    if (this.#waiters.size > 0) this.#allLook.within(LOOK_AT_LEAST_EVERY_MS)
  }

  async #lookAt(groupIds: readonly string[]): Promise<void> {
    try {
      await this.#answer(await this.#store.findSettledGroups(groupIds))
    } catch {
      // The store is closing or cannot be read for a moment; the next look finds what this one missed.
    }
  }

  /** These have settled. */
  async #answer(groupIds: readonly string[]): Promise<void> {
    for (const groupId of groupIds) {
      try {
        const group = await this.#store.findGroup(groupId)
        const waiters = this.#waiters.get(groupId) ?? []
        this.#waiters.delete(groupId)
        for (const { resolve } of waiters) resolve(group)
      } catch {
        // As above: the waiters stay.
      }
    }
  }
}
