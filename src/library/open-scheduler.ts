import { isDeepStrictEqual } from 'node:util'
import { PawlError } from '../domain/errors.ts'
import type { RegisteredType } from '../engine/job-type.ts'
import { type Clock, systemClock } from '../platform/clock.ts'
import { createIdSource } from '../platform/ids.ts'
import type { LimitRecord, TypeRecord } from '../store/maintenance.ts'
import type { Store } from '../store/store.ts'
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
    const clock = checked.clock ?? clockOf(store)
    const stored = await ensureLimits(store, checked.limits)
    warnOfOtherLimits(checked, stored)
    refuseUnknownResources(checked.types.values(), stored)
    await ensureTypes(store, [...checked.types.values()], clock.now())
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

/** Whoever shares a store goes by its time, however wrong the clock of his own machine is. Waiting needs no right time. */
function clockOf({ now }: Store): Clock {
  return now === null ? systemClock : { now, after: systemClock.after }
}

// Who only reads must not have to wait for those who write, so that nothing is written that is there already.

async function ensureLimits(store: Store, limits: readonly LimitRecord[]): Promise<readonly LimitRecord[]> {
  const stored = await store.listLimits()
  const names = new Set(stored.map(({ name }) => name))
  return limits.every(({ name }) => names.has(name)) ? stored : store.declareLimits(limits)
}

async function ensureTypes(store: Store, handled: readonly RegisteredType[], now: number): Promise<void> {
  if (handled.length === 0) return
  const stored = new Map((await findReadableTypes(store)).map(({ type, policy }) => [type, policy]))
  const types = handled.map(({ type, policy }) => ({ type, policy }))
  const others = types.filter(({ type, policy }) => !isDeepStrictEqual(stored.get(type), policy))
  if (others.length > 0) await store.registerTypes(others, now)
}

/** What is damaged counts as not known: it is written anew. */
async function findReadableTypes(store: Store): Promise<readonly TypeRecord[]> {
  try {
    return await store.findTypes()
  } catch (error) {
    if (error instanceof PawlError && error.code === 'database_corrupt') return []
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
