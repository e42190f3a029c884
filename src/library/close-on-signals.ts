import { constants } from 'node:os'
import type { Logger } from '../platform/logger.ts'
import type { Scheduler } from './scheduler.ts'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

type Signal = (typeof SIGNALS)[number]

/** The schedulers of this process that want to be closed, each with its logger. One signal is for all of them. */
const open = new Map<Scheduler, Logger>()
let isClosing = false

/** The first signal closes all schedulers and then ends the process; the second ends it at once. */
export function closeOnSignals(scheduler: Scheduler, logger: Logger): void {
  if (open.size === 0) for (const signal of SIGNALS) process.on(signal, onSignal)
  open.set(scheduler, logger)
  scheduler.atClose(() => {
    // Closed by hand: the signals are not its business any more. While closing after a signal, the second one counts.
    if (isClosing) return
    open.delete(scheduler)
    if (open.size === 0) for (const signal of SIGNALS) process.off(signal, onSignal)
  })
}

function onSignal(signal: Signal): void {
  if (isClosing) process.exit(128 + constants.signals[signal])
  isClosing = true
  void closeAll(signal).then((exitCode) => process.exit(exitCode))
}

async function closeAll(signal: Signal): Promise<number> {
  const closed = await Promise.all([...open].map(([scheduler, logger]) => close(scheduler, logger, signal)))
  return closed.every(Boolean) ? 0 : 1
}

async function close(scheduler: Scheduler, logger: Logger, signal: Signal): Promise<boolean> {
  logger.info({ signal }, 'Closing; a second signal exits at once')
  try {
    await scheduler.close()
    return true
  } catch (error) {
    logger.error({ error }, 'The scheduler could not be closed')
    return false
  }
}
