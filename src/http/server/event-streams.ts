import type { FastifyReply, FastifyRequest } from 'fastify'
import { PawlError } from '../../domain/errors.ts'
import type { OperationContext } from '../../operations/context.ts'
import type { Logger } from '../../platform/logger.ts'
import { credentialIn } from './credentials.ts'
import type { Doorkeeper } from './doorkeeper.ts'
import { type EventsQuery, filterOf, readEventsQuery } from './event-filter.ts'
import { EventStream, type EventStreamStart } from './event-stream.ts'
import type { EventTail } from './event-tail.ts'
import { SAFE_HEADERS } from './send.ts'
import type { SharedTail } from './shared-tail.ts'
import { placeBehind, resume } from './wire-event.ts'

/** Streams at once. Each holds a connection for as long as it likes. */
const STREAMS_MAX = 100

export interface EventStreamsParts {
  readonly context: OperationContext
  readonly logger: Logger
  readonly doorkeeper: Doorkeeper
  readonly tail: SharedTail
}

/** All open streams of events. One tail serves them all. */
export class EventStreams {
  readonly #parts: EventStreamsParts
  readonly #streams = new Set<EventStream>()
  #opening = 0
  #isEnded = false

  constructor(parts: EventStreamsParts) {
    this.#parts = parts
  }

  /** Answers with a stream. If it is not to be, it throws before anything is answered. */
  async open(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const query = readEventsQuery(request.query)
    const filter = filterOf(query)
    this.#refuseTooMany()
    this.#opening++
    try {
      const { tail, leave } = await this.#parts.tail.follow()
      try {
        const start = await this.#start(tail, lastIdOf(request, query))
        if (this.#isEnded) throw shuttingDown()
        const isRedacted = await this.#isRedacted(credentialIn(request.headers).key, request.ip)
        const isWelcome = () => this.#isWelcome(credentialIn(request.headers).key, request.ip)
        const { clock } = this.#parts.context
        const stream = new EventStream({ response: reply.raw, tail, clock, filter, isRedacted, isWelcome }, start)
        reply.hijack()
        writeHead(reply)
        void this.#run(stream, start, leave)
      } catch (error) {
        leave()
        throw error
      }
    } finally {
      this.#opening--
    }
  }

  end(): void {
    this.#isEnded = true
    for (const stream of this.#streams) stream.end()
  }

  async #run(stream: EventStream, start: EventStreamStart, leave: () => void): Promise<void> {
    this.#streams.add(stream)
    try {
      await stream.run(start)
    } catch (error) {
      if (!this.#isEnded) this.#parts.logger.warn({ error }, 'A stream of events was cut')
      stream.end()
    }
    this.#streams.delete(stream)
    leave()
  }

  async #start(tail: EventTail, lastId: string | null): Promise<EventStreamStart> {
    const { store } = this.#parts.context
    const resumption = lastId === null ? null : await resume(store, lastId)
    if (resumption?.kind === 'resumed') return { place: resumption.place, rest: resumption.rest, reset: null }
    return { place: await placeBehind(store, tail.lastSeq), rest: null, reset: resumption?.reason ?? null }
  }

  /** A key that was revoked opens nothing, and a stream that it opened tells nothing more. */
  async #isWelcome(key: string | null, address: string): Promise<boolean> {
    return (await this.#parts.doorkeeper.identify(key, address)).kind === 'identified'
  }

  async #isRedacted(key: string | null, address: string): Promise<boolean> {
    const found = await this.#parts.doorkeeper.identify(key, address)
    return found.kind === 'refused' || found.identity.actor.isRedacted === true
  }

  #refuseTooMany(): void {
    if (this.#isEnded) throw shuttingDown()
    if (this.#streams.size + this.#opening < STREAMS_MAX) return
    throw new PawlError('rate_limited', `${STREAMS_MAX} streams of events are open already, and no more may be.`)
  }
}

/** Browsers send the header by themselves when they come back; the first time only the URL can say it. */
function lastIdOf({ headers }: FastifyRequest, { last_event_id: inQuery }: EventsQuery): string | null {
  const header = headers['last-event-id']
  return typeof header === 'string' && header !== '' ? header : (inQuery ?? null)
}

function writeHead(reply: FastifyReply): void {
  reply.raw.writeHead(200, {
    ...SAFE_HEADERS,
    'content-type': 'text/event-stream; charset=utf-8',
    // Proxies that gather answers before they pass them on would hold every event back.
    'x-accel-buffering': 'no',
    connection: 'close',
  })
}

function shuttingDown(): PawlError {
  return new PawlError('shutting_down', 'This server is shutting down.')
}
