import type { JobPolicy } from '../../domain/job.ts'
import { nextPosition } from '../../domain/order.ts'
import type { Transition } from '../../store/events.ts'
import type { Connection } from './connection.ts'

/** One combination of type and resources. */
export interface Lane {
  readonly laneId: number
  readonly type: string
  readonly resources: readonly string[]
}

/**
 * Lanes and policies that this connection has seen. Their rows never change and are never removed, so they may be kept
 * in memory; only a rollback can take back one that was just added, and then all are forgotten.
 */
export class Interned {
  readonly lanesByKey = new Map<string, Lane>()
  readonly lanesById = new Map<number, Lane>()
  readonly policyIds = new Map<string, number>()
  readonly policiesById = new Map<number, JobPolicy>()
  readonly policyTexts = new WeakMap<JobPolicy, string>()

  forget(): void {
    this.lanesByKey.clear()
    this.lanesById.clear()
    this.policyIds.clear()
    this.policiesById.clear()
  }
}

const SELECT_HIGHEST_QUEUED = `
select position as highest
from pawl_queue
where priority = ?
order by position desc
limit 1`

// As many rows as bodies execute right now.
const SELECT_HIGHEST_RUNNING = 'select max(position) as highest from pawl_occupancies where priority = ?'

// Numbers of pruned Jobs are not given again: events still point to them.
const SELECT_LAST_SEQ = `
select max(
  coalesce((select max(seq) from pawl_jobs), 0),
  coalesce((select value from pawl_counters where name = 'last_pruned_job'), 0)
) as last`

/** One write transaction under way: what its statements need to share. */
export class Transaction {
  readonly connection: Connection
  readonly interned: Interned
  /** What this transaction changes, in order, each with the number of its Job. Becomes one event row. */
  readonly transitions: Transition[] = []
  readonly transitionSeqs: number[] = []
  readonly #lastPositions = new Map<number, number>()
  #lastSeq: number | null = null

  constructor(connection: Connection, interned: Interned) {
    this.connection = connection
    this.interned = interned
  }

  note(seq: number, transition: Transition): void {
    this.transitions.push(transition)
    this.transitionSeqs.push(seq)
  }

  /** The number of the next Job. */
  takeSeq(): number {
    this.#lastSeq ??= this.connection.get<{ last: number }>(SELECT_LAST_SEQ)?.last ?? 0
    return ++this.#lastSeq
  }

  /** A position behind everything that is queued or running at this priority. */
  takeLastPosition(priority: number): number {
    let highest: number | null | undefined = this.#lastPositions.get(priority)
    if (highest === undefined) {
      const queued = this.connection.get<{ highest: number | null }>(SELECT_HIGHEST_QUEUED, priority)?.highest ?? null
      const running = this.connection.get<{ highest: number | null }>(SELECT_HIGHEST_RUNNING, priority)?.highest ?? null
      highest = queued === null ? running : running === null ? queued : Math.max(queued, running)
    }
    const position = nextPosition(highest)
    this.#lastPositions.set(priority, position)
    return position
  }

  /** To be called after positions were changed in another way. */
  forgetPositions(): void {
    this.#lastPositions.clear()
  }
}
