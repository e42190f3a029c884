import { constants } from 'node:os'
import type { Logger } from '../platform/logger.ts'
import type { Scheduler } from './scheduler.ts'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** The first signal closes the scheduler and then ends the process; the second ends it at once. */
export function closeOnSignals(scheduler: Scheduler, logger: Logger): void {
  let isClosing = false
  const onSignal = (signal: (typeof SIGNALS)[number]): void => {
    if (isClosing) process.exit(128 + constants.signals[signal])
    isClosing = true
    logger.info({ signal }, 'Closing; a second signal exits at once')
    scheduler.close().then(
      () => process.exit(0),
      (error) => {
        logger.error({ error }, 'The scheduler could not be closed')
        process.exit(1)
      },
    )
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  scheduler.atClose(() => {
    // Closed by hand: the signals are nobody's business any more. While closing after a signal, the second one counts.
    if (!isClosing) for (const signal of SIGNALS) process.off(signal, onSignal)
  })
}
