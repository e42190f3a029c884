import type { Clock } from '../platform/clock.ts'
import { PawlApiError } from './api-error.ts'
import type { StreamedEvent, Transport } from './transport.ts'

export interface EventOptions {
  /** Go on after the event with this id. @default from now on */
  readonly after?: string | null
  /** Ends the stream. */
  readonly signal?: AbortSignal
  /** Follow again when the server was away, and miss nothing. False: the stream ends then. @default true */
  readonly reconnect?: boolean
}

const BACKOFF_MIN_MS = 250
const BACKOFF_MAX_MS = 15_000

/** Every transition that any process makes on the store, in order. A `reset` says that some may be missing before it. */
export async function* followEvents(
  transport: Transport,
  clock: Clock,
  { after = null, signal = new AbortController().signal, reconnect = true }: EventOptions = {},
): AsyncGenerator<StreamedEvent, void, undefined> {
  let place = after
  let backoffMs = BACKOFF_MIN_MS
  const reached = (id: string) => {
    place = id
    backoffMs = BACKOFF_MIN_MS
  }
  while (!signal.aborted) {
    try {
      yield* transport.events({ after: place, signal, reached })
      if (!reconnect) return
    } catch (error) {
      if (signal.aborted) return
      if (!reconnect || isHopeless(error)) throw error
    }
    await pause(clock, backoffMs, signal)
    backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS)
  }
}

/** Who is not let in, or asks at a wrong address, will fare no better later. */
function isHopeless(error: unknown): boolean {
  if (!(error instanceof PawlApiError)) return true
  return error.code === 'unexpected_answer' || (error.status >= 400 && error.status < 500 && error.status !== 429)
}

function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const timer = clock.after(delayMs, end)
    function end(): void {
      timer.cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    signal.addEventListener('abort', end, { once: true })
  })
}
