import { type Clock, delay } from '../platform/clock.ts'
import type { Logger } from '../platform/logger.ts'

const AGAIN_AFTER_MS = 250

/** Repeats a call while the store cannot take it, however long. The complaint is told once. */
export async function insist<T>(
  clock: Clock,
  logger: Logger,
  complaint: string,
  call: () => Promise<T>,
  helps: (error: unknown) => boolean = isPassing,
): Promise<T> {
  for (let isTold = false; ; isTold = true) {
    try {
      return await call()
    } catch (error) {
      if (!helps(error)) throw error
      if (!isTold) logger.error({ error }, complaint)
      await delay(clock, AGAIN_AFTER_MS)
    }
  }
}

export function isClosed(error: unknown): boolean {
  return codeOf(error) === 'closed'
}

export function isBusy(error: unknown): boolean {
  return codeOf(error) === 'store_busy'
}

/** Trying again can help. It cannot when the store is closed, or the code is wrong. */
export function isPassing(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'store_busy' || code === 'storage_full' || code === 'database_unavailable'
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code
}
