import { PawlApiError } from '../../client/api-error.ts'
import type { Client, StreamedEvent } from '../../client/index.ts'
import { type Clock, delay } from '../../platform/clock.ts'

export interface EventListener {
  /** The stream is open, at first or again. */
  connected(): void
  /** The stream has ended or could not be opened. It is tried again, until the signal fires. */
  lost(message: string): void
  event(event: StreamedEvent): void
}

const TRY_AGAIN_AFTER_MS = 500

/**
 * Follows the events until the signal fires, and takes up the thread again when the server was away. What never can
 * succeed, such as a wrong key or an address where nobody ever answered, is thrown.
 */
export async function followEvents(
  client: Client,
  clock: Clock,
  signal: AbortSignal,
  listener: EventListener,
): Promise<void> {
  let after: string | null = null
  let wasConnected = false
  while (!signal.aborted) {
    try {
      // The stream may stay silent for long, so an answer to something else has to say that the way is open.
      await client.request('GET /api/scheduler/status', { signal })
      wasConnected = true
      listener.connected()
      for await (const event of client.events({ after, signal, reconnect: false })) {
        after = event.id
        listener.event(event)
      }
      if (!signal.aborted) listener.lost('The server has ended the stream.')
    } catch (error) {
      if (signal.aborted) return
      if (!wasConnected || isHopeless(error)) throw error
      listener.lost(sentenceOf(error))
    }
    await Promise.race([delay(clock, TRY_AGAIN_AFTER_MS), aborted(signal)])
  }
}

/** Who is not let in will not be let in a second later. */
function isHopeless(error: unknown): boolean {
  return error instanceof PawlApiError && [401, 403, 404, 421].includes(error.status)
}

function sentenceOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return /[.!?]$/.test(text) ? text : `${text}.`
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
