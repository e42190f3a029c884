import type { Client } from '../client/index.ts'
import type { Cli } from './cli.ts'
import type { Chain } from './wire.ts'

const LOOK_AGAIN_MIN_MS = 50
const LOOK_AGAIN_MAX_MS = 500

/** Looks again and again, less often while nothing changes, until it returns something. Ends at once on an interrupt. */
export async function lookUntil<Found>(cli: Cli, look: () => Promise<Found | 'changed' | null>): Promise<Found> {
  let waitMs = LOOK_AGAIN_MIN_MS
  for (;;) {
    const found = await look()
    if (found !== null && found !== 'changed') return found
    waitMs = found === 'changed' ? LOOK_AGAIN_MIN_MS : Math.min(LOOK_AGAIN_MAX_MS, waitMs * 1.5)
    await pause(cli, waitMs)
  }
}

function pause(cli: Cli, ms: number): Promise<void> {
  const { interrupted } = cli
  return new Promise((resolve, reject) => {
    if (interrupted.aborted) return reject(interrupted.reason as Error)
    const timer = cli.clock.after(
      ms,
      () => {
        interrupted.removeEventListener('abort', stop)
        resolve()
      },
      'poll',
    )
    const stop = (): void => {
      timer.cancel()
      reject(interrupted.reason as Error)
    }
    interrupted.addEventListener('abort', stop, { once: true })
  })
}

/** Waits for the end of the chain, retries included. `changed` hears of each new state of its last Job. */
export async function followChain(
  cli: Cli,
  client: Client,
  jobId: string,
  changed: (chain: Chain) => void,
): Promise<Chain> {
  let before = ''
  return lookUntil(cli, async () => {
    const chain = await client.request('GET /api/jobs/{job_id}/chain', { params: { job_id: jobId } })
    const last = chain.items.at(-1)
    const state = `${last?.job_id} ${last?.status} ${last?.hold}`
    const isNew = state !== before
    before = state
    if (isNew) changed(chain)
    return chain.settled ? chain : isNew ? 'changed' : null
  })
}
