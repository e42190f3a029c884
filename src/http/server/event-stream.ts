import type { ServerResponse } from 'node:http'
import type { Clock } from '../../platform/clock.ts'
import type { EventRow, Transition } from '../../store/events.ts'
import { REDACTED } from '../redact.ts'
import type { EventFilter } from './event-filter.ts'
import type { EventTail } from './event-tail.ts'
import { eventId, indexAt, lastIndex, type Place, type ResetReason, wireEvent } from './wire-event.ts'

/** A silent connection looks dead to what stands between, and to us. */
const HEARTBEAT_EVERY_MS = 15_000

/** A reader that takes nothing for so long is let go. It can resume. */
const STALLED_AFTER_MS = 30_000

/** Written in one go, in characters. */
const CHUNK_LENGTH = 32_768

/** How soon a browser comes back after the stream was cut. */
const RETRY_MS = 1_000

export interface EventStreamParts {
  readonly response: ServerResponse
  readonly tail: EventTail
  readonly clock: Clock
  readonly filter: EventFilter
  /** Whether who opened it may not see what Jobs say of themselves. */
  readonly isRedacted: boolean
  /** Whether who opened it may still read. */
  readonly isWelcome: () => Promise<boolean>
}

/** Where it begins. `rest`: a row of which only a part was told. `reset`: why it is not where the reader was. */
export interface EventStreamStart {
  readonly place: Place
  readonly rest: EventRow | null
  readonly reset: ResetReason | null
}

/** Tells one reader of every transition, in order, as fast as it reads and no faster. */
export class EventStream {
  readonly #parts: EventStreamParts
  #place: Place
  #isEnded = false
  #writtenAt: number
  #wake: () => void = () => {}

  constructor(parts: EventStreamParts, { place }: EventStreamStart) {
    this.#parts = parts
    this.#place = place
    this.#writtenAt = parts.clock.now()
    parts.response.once('close', () => this.end())
  }

  /** Resolves when it has ended, whoever ended it. */
  async run({ rest, reset }: EventStreamStart): Promise<void> {
    const first = reset === null ? '' : `event: reset\ndata: ${JSON.stringify({ reason: reset })}\n`
    await this.#write(`retry: ${RETRY_MS}\n${first}id: ${eventId(this.#place)}\n\n`)
    if (rest !== null) await this.#tellRow(rest, this.#place.index + 1)
    while (!this.#isEnded) {
      const rows = await this.#parts.tail.after(this.#place.seq)
      if (!(await this.#parts.isWelcome())) break
      for (const row of rows) await this.#tellRow(row, 0)
      await this.#beat()
      if (rows.length === 0) await this.#somethingNew()
    }
    this.end()
  }

  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#wake()
    this.#parts.response.end()
  }

  async #tellRow(row: EventRow, from: number): Promise<void> {
    let text = ''
    for (let position = 0; position < row.transitions.length && !this.#isEnded; position++) {
      const transition = row.transitions[position] as Transition
      const index = indexAt(row, position)
      if (index < from || !this.#parts.filter(transition)) continue
      text += render(this.#parts.isRedacted ? withoutMessage(transition) : transition, { seq: row.seq, index })
      if (text.length < CHUNK_LENGTH) continue
      await this.#write(text)
      text = ''
    }
    this.#place = { seq: row.seq, index: lastIndex(row) }
    if (text !== '') await this.#write(text)
  }

  /** The id goes with it: who has filtered everything out so far still resumes from here. */
  async #beat(): Promise<void> {
    if (this.#isEnded || this.#restMs() > 0) return
    await this.#write(`: heartbeat\nid: ${eventId(this.#place)}\n\n`)
  }

  /** Until the next heartbeat. */
  #restMs(): number {
    return HEARTBEAT_EVERY_MS - (this.#parts.clock.now() - this.#writtenAt)
  }

  async #somethingNew(): Promise<void> {
    const { tail, clock } = this.#parts
    // It may have come since the look.
    if (this.#isEnded || tail.lastSeq > this.#place.seq) return
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      const forget = tail.onNews(resolve)
      const timer = clock.after(Math.max(0, this.#restMs()), resolve, 'poll')
      this.#wake = () => {
        forget()
        timer.cancel()
        resolve()
      }
    })
    this.#wake()
  }

  async #write(text: string): Promise<void> {
    if (this.#isEnded) return
    const { response, clock } = this.#parts
    this.#writtenAt = clock.now()
    if (response.write(text)) return
    const hasTaken = await new Promise<boolean>((resolve) => {
      const timer = clock.after(STALLED_AFTER_MS, () => resolve(false))
      this.#wake = () => {
        timer.cancel()
        resolve(true)
      }
      response.once('drain', this.#wake)
    })
    response.removeListener('drain', this.#wake)
    if (!hasTaken) response.destroy()
  }
}

function render(transition: Transition, place: Place): string {
  return `event: ${transition.kind}\nid: ${eventId(place)}\ndata: ${JSON.stringify(wireEvent(transition))}\n\n`
}

function withoutMessage(transition: Transition): Transition {
  return typeof transition.message === 'string' ? { ...transition, message: REDACTED } : transition
}
