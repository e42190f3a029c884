import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { vi } from 'vitest'
import { afterwards, PATIENCE } from './server-stage.ts'

export interface ReadEvent {
  readonly event: string
  readonly id: string
  readonly data: Record<string, unknown>
}

/** A reader of the stream that follows the specification: an event without data moves only the last id. */
export class EventReader {
  readonly events: ReadEvent[] = []
  readonly comments: string[] = []
  /** Where it would resume. */
  lastId: string | null
  status = 0
  headers: IncomingMessage['headers'] = {}
  /** The other side has ended the stream in good order. */
  hasEnded = false
  isCut = false
  readonly #request: ClientRequest
  #response: IncomingMessage | null = null
  #rest = ''

  constructor(port: number, path: string, headers: Record<string, string> = {}, after: string | null = null) {
    this.lastId = after
    const resume = after === null ? {} : { 'last-event-id': after }
    this.#request = httpRequest({ host: '127.0.0.1', port, path, agent: false, headers: { ...headers, ...resume } })
    this.#request.on('response', (response) => this.#read(response))
    this.#request.on('error', () => {
      this.isCut = true
    })
    this.#request.end()
    afterwards(() => this.cut())
  }

  /** Waits until the server has said where the stream begins. */
  async opened(): Promise<this> {
    await vi.waitFor(() => {
      if (this.lastId === null && this.events.length === 0) throw new Error('The stream has not begun')
      if (this.status !== 200) throw new Error(`The stream was answered with ${this.status}`)
    }, PATIENCE)
    return this
  }

  /** Waits until so many events have come. */
  async has(count: number): Promise<readonly ReadEvent[]> {
    await vi.waitFor(() => {
      if (this.events.length < count) throw new Error(`${this.events.length} of ${count} events have come`)
    }, PATIENCE)
    return this.events
  }

  async ended(): Promise<void> {
    await vi.waitFor(() => {
      if (!this.hasEnded && !this.isCut) throw new Error('The stream goes on')
    }, PATIENCE)
  }

  cut(): void {
    this.isCut = true
    this.#request.destroy()
  }

  /** Takes nothing more from the socket. */
  pause(): void {
    this.#response?.pause()
  }

  resume(): void {
    this.#response?.resume()
  }

  #read(response: IncomingMessage): void {
    this.#response = response
    this.status = response.statusCode ?? 0
    this.headers = response.headers
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      // What comes after the cut was never read.
      if (this.isCut) return
      this.#rest += chunk
      const blocks = this.#rest.split('\n\n')
      this.#rest = blocks.pop() ?? ''
      for (const block of blocks) this.#take(block)
    })
    response.on('end', () => {
      this.hasEnded = true
    })
    response.on('error', () => {
      this.isCut = true
    })
  }

  #take(block: string): void {
    let event = 'message'
    let data: string | null = null
    for (const line of block.split('\n')) {
      if (line.startsWith(':')) this.comments.push(line.slice(1).trim())
      else if (line.startsWith('event: ')) event = line.slice(7)
      else if (line.startsWith('id: ')) this.lastId = line.slice(4)
      else if (line.startsWith('data: ')) data = line.slice(6)
    }
    if (data === null) return
    this.events.push({ event, id: this.lastId ?? '', data: JSON.parse(data) as Record<string, unknown> })
  }
}
