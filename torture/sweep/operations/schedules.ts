import type { Schedule } from 'pawl'
import type { SlotFiring } from 'pawl/store'
import { HOUR, NOW, newFiring, newJob, newSchedule, newSlot, newTemplate } from '../fixtures.ts'
import { type Operation, one, type Stage } from '../stage.ts'

/** Three slots of a plain schedule, of one that skips, and of one whose key is taken. */
async function firings(stage: Stage): Promise<readonly SlotFiring[]> {
  const plain = await stage.createSchedule()
  const skipping = await stage.createSchedule({ overlap: 'skip' })
  const keyed = await stage.createSchedule({ businessKey: 'b' })
  await stage.enqueue(newJob({ businessKey: 'b' }))
  const slots = ({ scheduleId }: Schedule, more = {}) =>
    [1, 2, 3].map((hours) => newSlot(scheduleId, NOW + hours * HOUR, { type: 'poem', ...more }))
  const missed = { firstSlotAt: NOW, lastSlotAt: NOW, count: 1, reason: 'missed' } as const
  return [
    newFiring(plain, slots(plain), { skipped: [missed] }),
    newFiring(skipping, slots(skipping)),
    newFiring(keyed, slots(keyed, { businessKey: 'b' })),
  ]
}

/** Schedules and templates. */
export const scheduleOperations: readonly Operation[] = [
  {
    name: 'a new schedule',
    prepare: async (stage) => {
      const schedule = newSchedule({ tags: ['red'], businessKey: 'b' })
      return () => stage.store.createSchedule(schedule)
    },
    again: 'refused',
  },
  {
    name: 'declaring a schedule',
    prepare: async (stage) => {
      const schedule = newSchedule({ name: 'nightly' })
      return () => stage.store.declareSchedule('nightly', schedule)
    },
  },
  ...['slots', 'slots that are skipped because one is enough', 'slots whose key is taken'].map((name, index) => ({
    name,
    prepare: async (stage: Stage) => {
      const firing = one((await firings(stage)).slice(index))
      return () => stage.store.fireSlots([firing], NOW + 3 * HOUR)
    },
  })),
  {
    name: 'slots of several schedules, with skips of every kind',
    prepare: async (stage) => {
      const list = await firings(stage)
      return () => stage.store.fireSlots(list, NOW + 3 * HOUR)
    },
    only: 'sqlite',
  },
  {
    name: 'a slot that is skipped as the one before it was',
    prepare: async (stage) => {
      const schedule = await stage.createSchedule({ overlap: 'skip' })
      await stage.fireNext(schedule)
      await stage.fireNext(schedule)
      const firing = newFiring(await stage.schedule(schedule.scheduleId), [
        newSlot(schedule.scheduleId, NOW + 3 * HOUR),
      ])
      return () => stage.store.fireSlots([firing], NOW + 3 * HOUR)
    },
  },
  {
    name: 'a slot that waits behind those before it',
    prepare: async (stage) => {
      const schedule = await stage.createSchedule({ overlap: 'queue-one' })
      await stage.fireNext(schedule)
      const firing = newFiring(await stage.schedule(schedule.scheduleId), [
        newSlot(schedule.scheduleId, NOW + 2 * HOUR),
      ])
      return () => stage.store.fireSlots([firing], NOW + 2 * HOUR)
    },
  },
  {
    name: 'a change with due slots',
    prepare: async (stage) => {
      const schedule = await stage.createSchedule()
      const firing = newFiring(schedule, [newSlot(schedule.scheduleId, NOW + HOUR)])
      return () => stage.store.changeSchedule({ firing, schedule: { ...schedule, name: 'new' }, now: NOW + HOUR })
    },
  },
  {
    name: 'disabling',
    prepare: async (stage) => {
      const { scheduleId, revision } = await stage.createSchedule()
      return () => stage.store.disableSchedule({ scheduleId, revision, reason: 'broken', now: NOW })
    },
  },
  {
    name: 'triggering',
    prepare: async (stage) => {
      const { scheduleId } = await stage.createSchedule()
      const job = newJob({ scheduleId, type: 'poem', businessKey: 'b' })
      return () => stage.store.triggerSchedule(scheduleId, job, NOW)
    },
  },
  {
    name: 'removing',
    prepare: async (stage) => {
      const schedule = await stage.createSchedule({ overlap: 'skip' })
      await stage.fireNext(schedule)
      await stage.fireNext(schedule)
      return () => stage.store.removeSchedule(schedule.scheduleId)
    },
  },
  {
    name: 'a new template',
    prepare: async (stage) => {
      const template = newTemplate()
      return () => stage.store.createTemplate(template)
    },
    again: 'refused',
  },
  {
    name: 'a change of a template',
    prepare: async (stage) => {
      const template = newTemplate()
      await stage.store.createTemplate(template)
      return () => stage.store.changeTemplate({ template: { ...template, name: 'new' }, now: NOW })
    },
  },
  {
    name: 'archiving a template',
    prepare: async (stage) => {
      const template = newTemplate()
      await stage.store.createTemplate(template)
      return () => stage.store.archiveTemplate(template.templateId, NOW)
    },
  },
]
