import type { StreamedEvent } from './transport.ts'

/** Text that belongs to no whole event yet, in characters. No event of ours is nearly so long. */
const UNREAD_MAX = 8 * 1_048_576

/** What one part of the stream brought. */
export interface Parsed {
  readonly events: readonly StreamedEvent[]
  /** The last id that was named, also without an event. Null: none yet. */
  readonly id: string | null
}

/** Reads server-sent events, in whatever pieces they come. */
export class EventSourceParser {
  #unread = ''
  #id: string | null = null
  #event = ''
  #data: string[] = []

  push(text: string): Parsed {
    const lines = (this.#unread + text).split('\n')
    this.#unread = lines.pop() ?? ''
    if (this.#unread.length > UNREAD_MAX) throw new Error(`an event of more than ${UNREAD_MAX} characters`)
    const events: StreamedEvent[] = []
    for (const line of lines) {
      const event = this.#take(line.endsWith('\r') ? line.slice(0, -1) : line)
      if (event !== null) events.push(event)
    }
    return { events, id: this.#id }
  }

  /** An empty line ends an event. Lines that begin with a colon only keep the connection alive. */
  #take(line: string): StreamedEvent | null {
    if (line === '') return this.#dispatch()
    const colon = line.indexOf(':')
    if (colon === 0) return null
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line.charAt(colon + 1) === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') this.#data.push(value)
    else if (field === 'event') this.#event = value
    else if (field === 'id') this.#id = value
    return null
  }

  #dispatch(): StreamedEvent | null {
    const [event, data] = [this.#event, this.#data]
    this.#event = ''
    this.#data = []
    if (data.length === 0) return null
    return { id: this.#id ?? '', event: event === '' ? 'message' : event, data: JSON.parse(data.join('\n')) as unknown }
  }
}
