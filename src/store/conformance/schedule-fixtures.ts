import type { Schedule } from '../../domain/schedule.ts'
import type { Template } from '../../domain/template.ts'
import type { NewJob } from '../jobs.ts'
import type { FiringResult, Slot, SlotFiring } from '../schedules.ts'
import { HOUR, NOW, newId, newJob } from './fixtures.ts'
import type { Stage } from './stage.ts'

export function newTemplate(overrides: Partial<Template> = {}): Template {
  return {
    templateId: newId(),
    name: 'nightly story',
    type: 'story',
    defaultParams: { genre: 'horror', pages: 7 },
    retry: null,
    timeoutMs: undefined,
    description: null,
    revision: 1,
    createdAt: NOW,
    updatedAt: NOW,
    archivedAt: null,
    ...overrides,
  }
}

/** Every hour from `NOW` on. */
export function newSchedule(overrides: Partial<Schedule> = {}): Schedule {
  return {
    scheduleId: newId(),
    name: 'hourly story',
    target: { kind: 'type', type: 'story' },
    paramOverrides: { genre: 'horror' },
    timing: { kind: 'every', everyMs: HOUR, anchorAt: NOW, timezone: 'UTC' },
    missed: 'one',
    overlap: 'allow',
    priority: 0,
    tags: [],
    businessKey: null,
    enabled: true,
    disabledReason: null,
    revision: 1,
    createdAt: NOW,
    updatedAt: NOW,
    lastSlotAt: NOW,
    nextSlotAt: NOW + HOUR,
    lastTriggeredAt: null,
    ...overrides,
  }
}

export function newSlot(scheduleId: string, slotAt: number, overrides: Partial<NewJob> = {}): Slot {
  return { slotAt, job: newJob({ ...overrides, scheduleId, slotAt }) }
}

/** The firing of these slots, after which the schedule goes on an hour after the last of them. */
export function newFiring(
  { scheduleId, revision, overlap, lastSlotAt }: Schedule,
  slots: readonly Slot[],
  overrides: Partial<SlotFiring> = {},
): SlotFiring {
  const last = slots.at(-1)?.slotAt ?? lastSlotAt
  return { scheduleId, revision, overlap, slots, skipped: [], lastSlotAt: last, nextSlotAt: last + HOUR, ...overrides }
}

/** Fires the slot that comes an hour after the last one. */
export async function fireNext(
  { store }: Stage,
  schedule: Schedule,
  overrides: Partial<NewJob> = {},
): Promise<FiringResult> {
  const current = (await store.findSchedule(schedule.scheduleId)) ?? schedule
  const slotAt = current.lastSlotAt + HOUR
  const firing = newFiring(current, [newSlot(current.scheduleId, slotAt, overrides)])
  const [result] = await store.fireSlots([firing], slotAt)
  return result as FiringResult
}
