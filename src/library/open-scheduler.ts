import { createIdSource } from '../platform/ids.ts'
import type { LimitRecord } from '../store/maintenance.ts'
import { closeOnSignals } from './close-on-signals.ts'
import { KnownTypes } from './known-types.ts'
import { Scheduler } from './scheduler.ts'
import {
  type CheckedOptions,
  readSchedulerOptions,
  refuseUnknownResources,
  type SchedulerOptions,
} from './scheduler-options.ts'

/** Opens a scheduler on a store. It accepts Jobs at once, and executes them once it is started. */
export async function openScheduler(options: SchedulerOptions): Promise<Scheduler> {
  const checked = readSchedulerOptions(options)
  const store = await options.store.open()
  try {
    const { clock } = checked
    const stored = await store.declareLimits(checked.limits)
    warnOfOtherLimits(checked, stored)
    refuseUnknownResources(checked.types.values(), stored)
    await store.registerTypes(
      [...checked.types.values()].map(({ type, policy }) => ({ type, policy })),
      clock.now(),
    )
    const newId = createIdSource(clock, options.random)
    const types = new KnownTypes(store, checked.types.values(), clock, { acceptAny: checked.acceptAnyType })
    const { webhookGuard } = checked
    const scheduler = new Scheduler({ store, clock, newId, types, webhookGuard }, checked)
    if (checked.handleSignals) closeOnSignals(scheduler, checked.logger)
    return scheduler
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Limits live in the store, so that all nodes obey the same: what is stored holds. */
function warnOfOtherLimits({ limits, logger }: CheckedOptions, stored: readonly LimitRecord[]): void {
  for (const { name, max } of limits) {
    const inForce = stored.find((limit) => limit.name === name)?.max
    if (inForce === max) continue
    logger.warn(
      { limit: name, configured: max, inForce: inForce ?? 'none' },
      'This process is configured with another limit than the store; the stored one holds. Change it with setLimit()',
    )
  }
}
