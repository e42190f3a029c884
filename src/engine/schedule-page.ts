import type { Schedule } from '../domain/schedule.ts'
import type { Template } from '../domain/template.ts'
import type { Logger } from '../platform/logger.ts'
import type { ScheduleStore, SlotFiring } from '../store/schedules.ts'
import { type FiringParts, prepareFiring } from './schedule-firing.ts'
import type { Postponements } from './schedule-postponements.ts'

/** Jobs that are written at once: as long as one transaction takes, nothing else can be claimed or finished. */
export const JOBS_PER_WRITE_MAX = 100

export interface SchedulePageParts extends FiringParts {
  readonly store: Pick<ScheduleStore, 'changeSchedule' | 'disableSchedule' | 'fireSlots'> & FiringParts['store']
  readonly logger: Logger
  readonly postponements: Postponements
}

/**
 * Fires what is due of these schedules, with a turn of the event loop after each write. One that cannot go on is disabled,
 * and the others go on. A race that was lost needs no answer: the next look reads what became of it.
 * @param unchecked what becomes of Jobs whose params the schema did not answer for: they are made later, or now as they are
 */
export async function fireSchedules(
  parts: SchedulePageParts,
  schedules: readonly Schedule[],
  now: number,
  unchecked: 'postpone' | 'make',
): Promise<void> {
  const { store, postponements } = parts
  const preparing = { ...parts, store: withTemplatesKept(store) }
  let firings: SlotFiring[] = []
  let jobs = 0
  const write = async (): Promise<void> => {
    if (firings.length > 0) await store.fireSlots(firings, now)
    firings = []
    jobs = 0
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  for (const schedule of schedules) {
    const anchored = anchoredUpTo(schedule, now)
    const prepared = await prepareFiring(preparing, anchored, now)
    if (prepared.kind === 'unchecked' && unchecked === 'postpone') {
      postpone(parts, schedule, prepared.reason, now)
      continue
    }
    postponements.forget(schedule.scheduleId)
    if (prepared.kind === 'broken') await disable(parts, schedule, prepared.reason, now)
    else if (anchored !== schedule) await moveAnchor(parts, anchored, prepared.firing, now)
    else {
      if (jobs + prepared.firing.slots.length > JOBS_PER_WRITE_MAX) await write()
      firings.push(prepared.firing)
      jobs += prepared.firing.slots.length
    }
  }
  await write()
}

/** Many schedules of one page may share a template, which is then read once. */
function withTemplatesKept(store: FiringParts['store']): FiringParts['store'] {
  const kept = new Map<string, Promise<Template | null>>()
  return {
    findTemplate(templateId) {
      const template = kept.get(templateId) ?? store.findTemplate(templateId)
      kept.set(templateId, template)
      return template
    },
  }
}

/** It stays due, and is tried again. */
function postpone({ postponements, logger }: SchedulePageParts, schedule: Schedule, reason: string, now: number): void {
  const { scheduleId, name } = schedule
  if (postponements.add(schedule, reason, now) === 'known') return
  logger.warn({ schedule: scheduleId, name, reason }, 'The params of a schedule could not be checked; trying again')
}

async function disable(parts: SchedulePageParts, schedule: Schedule, reason: string, now: number): Promise<void> {
  const { scheduleId, revision, name } = schedule
  const result = await parts.store.disableSchedule({ scheduleId, revision, reason, now })
  if (result === 'disabled') {
    parts.logger.warn({ schedule: scheduleId, name, reason }, 'A schedule cannot go on and was disabled')
  }
}

/** An interval whose beginning lies ahead, because the clock was set back since, counts from now. */
function anchoredUpTo(schedule: Schedule, now: number): Schedule {
  const { timing } = schedule
  if (timing.kind === 'cron' || timing.anchorAt <= now) return schedule
  return { ...schedule, timing: { ...timing, anchorAt: now } }
}

async function moveAnchor(
  parts: SchedulePageParts,
  schedule: Schedule,
  firing: SlotFiring,
  now: number,
): Promise<void> {
  const { lastSlotAt, nextSlotAt } = firing
  await parts.store.changeSchedule({ firing, schedule: { ...schedule, lastSlotAt, nextSlotAt, updatedAt: now }, now })
}
