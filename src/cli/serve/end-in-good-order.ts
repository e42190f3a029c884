import type { Scheduler } from '../../library/scheduler.ts'
import type { Cli } from '../cli.ts'
import { processLog } from './process-log.ts'

/** What has an end of its own besides the scheduler: the HTTP server. */
export interface Closable {
  close(): Promise<void>
}

export interface Ending {
  readonly scheduler: Scheduler
  readonly server: Closable | null
  readonly shutdownTimeoutMs: number
}

/**
 * The order of an end that loses nothing: no new connections and no new claims from now on; requests that have come are
 * answered, and bodies may end, both within the same time; what is left then is aborted as `shutdown`, which makes its
 * retry ready for others; and only then the store closes.
 */
export async function endInGoodOrder(cli: Cli, { scheduler, server, shutdownTimeoutMs }: Ending): Promise<void> {
  const log = processLog(cli)
  const failures: unknown[] = []
  const attempt = async (what: () => Promise<unknown>): Promise<void> => {
    try {
      await what()
    } catch (error) {
      failures.push(error)
    }
  }
  const left = scheduler.executing.length + scheduler.executingDirect.length
  if (left > 0) cli.note(waitingLine(left, shutdownTimeoutMs))
  await Promise.all([attempt(async () => server?.close()), attempt(() => scheduler.stop(shutdownTimeoutMs))])
  await attempt(() => scheduler.close())
  for (const error of failures) log.error({ error }, 'It could not be ended in good order')
  if (failures.length > 0) cli.exitCode = 1
}

function waitingLine(bodies: number, timeoutMs: number): string {
  const jobs = `${bodies} running job${bodies === 1 ? '' : 's'}`
  return `Stopping. Waiting up to ${timeoutMs / 1_000} s for ${jobs}; a second signal exits at once.`
}

/** Resolves when the person at the terminal, or who supervises the process, wants it to end. */
export function untilInterrupted(cli: Cli): Promise<void> {
  return new Promise((resolve) => {
    if (cli.interrupted.aborted) resolve()
    else cli.interrupted.addEventListener('abort', () => resolve(), { once: true })
  })
}
