import type { Connection } from '../connection.ts'
import type { Lane } from '../transaction.ts'

/** A lane in which tickets wait, and the oldest of them. */
export interface WaitingLane {
  readonly lane: Lane
  readonly oldest: { readonly seq: number; readonly renewedAt: number }
}

/** The tickets whose callers are known to wait, in the order of their arrival. */
export class WaitingLine {
  #sources: TicketSource[]
  readonly #except: ReadonlySet<number>

  /** `except`: those that somebody else is about to serve. */
  constructor(
    connection: Connection,
    lanes: readonly WaitingLane[],
    renewedSince: number,
    except: ReadonlySet<number> = new Set(),
  ) {
    this.#except = except
    this.#sources = lanes.map((lane) => new TicketSource(connection, lane, renewedSince))
  }

  /** Null: nobody is left. */
  async next(): Promise<{ readonly lane: Lane; readonly seq: number } | null> {
    for (;;) {
      const first = await this.#nextWaiting()
      if (first === null || !this.#except.has(first.seq)) return first
    }
  }

  async #nextWaiting(): Promise<{ readonly lane: Lane; readonly seq: number } | null> {
    let first: TicketSource | null = null
    let firstSeq = Number.POSITIVE_INFINITY
    for (const source of this.#sources) {
      const seq = await source.head()
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

// Passing over tickets that were not renewed, until they are marked EXPIRED, costs little.
const SELECT_WAITING = `
select reservation_seq
from pawl.reservations
where status = 'WAITING' and lane_id = $1 and reservation_seq > $2 and renewed_at >= $3
order by reservation_seq
limit $4`

/** Mostly a few tickets of a lane are enough; the more of them were asked for, the more are read at once. */
const PAGE_MIN = 16
const PAGE_MAX = 1_024

/** The tickets of one lane from its head on, read page by page as they are asked for. */
class TicketSource {
  readonly lane: Lane
  readonly #connection: Connection
  readonly #renewedSince: number
  #page: readonly number[]
  #next = 0
  #last: number
  #pageSize = PAGE_MIN
  #isLastPage = false

  constructor(connection: Connection, { lane, oldest }: WaitingLane, renewedSince: number) {
    this.#connection = connection
    this.lane = lane
    this.#renewedSince = renewedSince
    this.#page = oldest.renewedAt >= renewedSince ? [oldest.seq] : []
    this.#last = oldest.seq
  }

  async head(): Promise<number | null> {
    if (this.#next === this.#page.length && !this.#isLastPage) await this.#readPage()
    return this.#page[this.#next] ?? null
  }

  take(): void {
    this.#next++
  }

  async #readPage(): Promise<void> {
    const rows = await this.#connection.all<{ reservation_seq: number }>(
      SELECT_WAITING,
      this.lane.laneId,
      this.#last,
      this.#renewedSince,
      this.#pageSize,
    )
    this.#page = rows.map((row) => row.reservation_seq)
    this.#isLastPage = this.#page.length < this.#pageSize
    this.#last = this.#page.at(-1) ?? this.#last
    this.#pageSize = Math.min(this.#pageSize * 2, PAGE_MAX)
    this.#next = 0
  }
}
