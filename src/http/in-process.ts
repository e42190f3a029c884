import type { StreamedEvent, StreamOptions, Transport, TransportRequest } from '../client/transport.ts'
import type { Door } from '../library/door.ts'
import type { EventRow, Transition } from '../store/events.ts'
import { routeOf } from './contract/endpoint.ts'
import type { Actor, Route } from './handlers/handler.ts'
import { routes } from './handlers/index.ts'
import { type Answer, perform, refusal } from './perform.ts'
import { problem } from './problems.ts'
import { EventTail } from './server/event-tail.ts'
import { eventId, indexAt, lastIndex, type Place, placeBehind, resume, wireEvent } from './server/wire-event.ts'

const ROUTES: ReadonlyMap<string, Route> = new Map(routes.map((route) => [routeOf(route.endpoint), route]))

/** The way to the API without a server: the same pipeline in this process, straight on the store. */
export function inProcessTransport(door: Door, actor: Actor): Transport {
  return {
    description: door.context.store.description,
    send: (request) => send(door, actor, request),
    events: (options) => streamEvents(door, options),
  }
}

async function send(door: Door, actor: Actor, request: TransportRequest): Promise<Answer> {
  const { route: name, params, query, body, headers, signal = NEVER } = request
  const route = ROUTES.get(name)
  if (route === undefined) return refusal(problem('not_found', `There is nothing at ${name}.`))
  signal.throwIfAborted()
  const answer = await perform(route, door, actor, {
    params,
    query,
    body: asSent(body),
    idempotencyKey: headers['idempotency-key'] ?? null,
    ifMatch: headers['if-match'] ?? null,
    signal,
    session: null,
  })
  return { ...answer, body: asSent(answer.body) ?? null }
}

const NEVER = new AbortController().signal

/** As it would come out of the network: a copy, without what JSON does not know. */
function asSent(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown)
}

async function* streamEvents(
  { context: { store, clock }, logger }: Door,
  { after, signal, reached }: StreamOptions,
): AsyncGenerator<StreamedEvent, void, undefined> {
  const tail = new EventTail({ store, clock, logger })
  await tail.begin()
  try {
    const resumption = after === null ? null : await resume(store, after)
    let place = resumption?.kind === 'resumed' ? resumption.place : await placeBehind(store, tail.lastSeq)
    reached?.(eventId(place))
    if (resumption?.kind === 'reset') yield { id: eventId(place), event: 'reset', data: { reason: resumption.reason } }
    if (resumption?.kind === 'resumed' && resumption.rest !== null) yield* eventsOf(resumption.rest, place.index + 1)
    while (!signal.aborted) {
      const rows = await tail.after(place.seq)
      for (const row of rows) {
        yield* eventsOf(row, 0)
        place = { seq: row.seq, index: lastIndex(row) }
        reached?.(eventId(place))
      }
      if (rows.length === 0 && tail.lastSeq <= place.seq) await news(tail, signal)
    }
  } finally {
    tail.end()
  }
}

function eventsOf(row: EventRow, from: number): StreamedEvent[] {
  return row.transitions.flatMap((transition: Transition, position) => {
    const place: Place = { seq: row.seq, index: indexAt(row, position) }
    if (place.index < from) return []
    return [{ id: eventId(place), event: transition.kind, data: wireEvent(transition) }]
  })
}

function news(tail: EventTail, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      forget()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const forget = tail.onNews(end)
    signal.addEventListener('abort', end, { once: true })
  })
}
