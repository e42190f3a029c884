import type { SqlRow } from '../connection.ts'
import type { Lane, Transaction } from '../transaction.ts'
import { laneById } from './interned.ts'

// One seek per lane that has a waiting ticket, however many wait in it. Mostly there is none, and then the index is empty.
const SELECT_NEXT_WAITING_LANE = `
select lane_id, reservation_seq, renewed_at
from pawl_reservations
where status = 'WAITING' and lane_id > ?
order by lane_id, reservation_seq
limit 1`

interface LaneRow extends SqlRow {
  lane_id: number
  reservation_seq: number
  renewed_at: number
}

/** A lane in which tickets wait, and the oldest of them. */
export interface WaitingLane {
  readonly lane: Lane
  readonly oldest: { readonly seq: number; readonly renewedAt: number }
}

export function findWaitingLanes({ connection, interned }: Transaction): WaitingLane[] {
  const lanes: WaitingLane[] = []
  for (let last = 0; ; ) {
    const row = connection.get<LaneRow>(SELECT_NEXT_WAITING_LANE, last)
    if (row === undefined) return lanes
    last = row.lane_id
    lanes.push({
      lane: laneById(connection, interned, row.lane_id),
      oldest: { seq: row.reservation_seq, renewedAt: row.renewed_at },
    })
  }
}

/** The tickets whose callers are known to wait, in the order of their arrival. */
export class WaitingLine {
  #sources: LaneSource[]

  constructor(transaction: Transaction, lanes: readonly WaitingLane[], renewedSince: number) {
    this.#sources = lanes.map((lane) => new LaneSource(transaction, lane, renewedSince))
  }

  /** Null: nobody is left. */
  next(): { readonly lane: Lane; readonly seq: number } | null {
    let first: LaneSource | null = null
    let firstSeq = Number.POSITIVE_INFINITY
    for (const source of this.#sources) {
      const seq = source.head
      if (seq === null || seq >= firstSeq) continue
      first = source
      firstSeq = seq
    }
    if (first === null) return null
    first.take()
    return { lane: first.lane, seq: firstSeq }
  }

  /** Nobody asks for those who are left of this lane. */
  skip(lane: Lane): void {
    this.#sources = this.#sources.filter((source) => source.lane.laneId !== lane.laneId)
  }
}

// All of it is in the index, so passing over tickets that were not renewed, until they are marked EXPIRED, costs little.
const SELECT_WAITING = `
select reservation_seq
from pawl_reservations
where status = 'WAITING' and lane_id = ? and reservation_seq > ? and renewed_at >= ?
order by reservation_seq
limit ?`

/** Mostly a few tickets of a lane are enough; the more of them were asked for, the more are read at once. */
const PAGE_MIN = 16
const PAGE_MAX = 1_024

/** The tickets of one lane from its head on, read page by page as they are asked for. */
class LaneSource {
  readonly lane: Lane
  readonly #transaction: Transaction
  readonly #renewedSince: number
  #page: readonly number[]
  #next = 0
  #last: number
  #pageSize = PAGE_MIN
  #isLastPage = false

  constructor(transaction: Transaction, { lane, oldest }: WaitingLane, renewedSince: number) {
    this.#transaction = transaction
    this.lane = lane
    this.#renewedSince = renewedSince
    this.#page = oldest.renewedAt >= renewedSince ? [oldest.seq] : []
    this.#last = oldest.seq
  }

  get head(): number | null {
    if (this.#next === this.#page.length && !this.#isLastPage) this.#readPage()
    return this.#page[this.#next] ?? null
  }

  take(): void {
    this.#next++
  }

  #readPage(): void {
    this.#page = this.#transaction.connection
      .all<{ reservation_seq: number }>(
        SELECT_WAITING,
        this.lane.laneId,
        this.#last,
        this.#renewedSince,
        this.#pageSize,
      )
      .map((row) => row.reservation_seq)
    this.#isLastPage = this.#page.length < this.#pageSize
    this.#last = this.#page.at(-1) ?? this.#last
    this.#pageSize = Math.min(this.#pageSize * 2, PAGE_MAX)
    this.#next = 0
  }
}
