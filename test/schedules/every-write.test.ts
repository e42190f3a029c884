// Each operation on schedules and templates is broken off before its first write, before its second, and so on until it
// passes whole, and once more right before its commit. A broken one leaves every row as it was.
import { afterEach, expect, test } from 'vitest'
import type { Schedule } from '../../src/domain/schedule.ts'
import { HOUR, NOW, newJob } from '../../src/store/conformance/fixtures.ts'
import {
  fireNext,
  newFiring,
  newSchedule,
  newSlot,
  newTemplate,
} from '../../src/store/conformance/schedule-fixtures.ts'
import { type Stage, takeStage } from '../../src/store/conformance/stage.ts'
import { type FaultPoint, onFaultPoint } from '../../src/store/fault-points.ts'
import type { SlotFiring } from '../../src/store/schedules.ts'
import { breakAt, breaksOff, mend, withoutNames } from '../stores/breaks.ts'
import { SharedDatabase } from '../stores/shared-database.ts'
import { storeAt, storeKind } from '../stores/source-stores.ts'

interface Operation {
  readonly name: string
  /** Brings the store to where the operation is possible, and returns the operation. */
  readonly prepare: (stage: Stage) => Promise<() => Promise<unknown>>
}

async function created(stage: Stage, overrides: Partial<Schedule> = {}): Promise<Schedule> {
  const schedule = newSchedule(overrides)
  await stage.store.createSchedule(schedule)
  return schedule
}

/** Three slots of a plain schedule, of one that skips, and of one whose key is taken. */
async function firings(stage: Stage): Promise<readonly SlotFiring[]> {
  const plain = await created(stage)
  const skipping = await created(stage, { overlap: 'skip' })
  const keyed = await created(stage, { businessKey: 'b' })
  await stage.enqueue([newJob({ businessKey: 'b' })])
  const slots = ({ scheduleId }: Schedule, more = {}) =>
    [1, 2, 3].map((hours) => newSlot(scheduleId, NOW + hours * HOUR, { type: 'poem', ...more }))
  const missed = { firstSlotAt: NOW, lastSlotAt: NOW, count: 1, reason: 'missed' } as const
  return [
    newFiring(plain, slots(plain), { skipped: [missed] }),
    newFiring(skipping, slots(skipping)),
    newFiring(keyed, slots(keyed, { businessKey: 'b' })),
  ]
}

const all: readonly Operation[] = [
  {
    name: 'a new schedule',
    prepare: async ({ store }) => {
      const schedule = newSchedule({ tags: ['red'], businessKey: 'b' })
      return () => store.createSchedule(schedule)
    },
  },
  ...['slots', 'slots that are skipped because one is enough', 'slots whose key is taken'].map((name, index) => ({
    name,
    prepare: async (stage: Stage) => {
      const firing = (await firings(stage))[index] as SlotFiring
      return () => stage.store.fireSlots([firing], NOW + 3 * HOUR)
    },
  })),
  {
    name: 'slots of several schedules, with skips of every kind',
    prepare: async (stage) => {
      const list = await firings(stage)
      return () => stage.store.fireSlots(list, NOW + 3 * HOUR)
    },
  },
  {
    name: 'a slot that is skipped as the one before it was',
    prepare: async (stage) => {
      const schedule = await created(stage, { overlap: 'skip' })
      await fireNext(stage, schedule)
      await fireNext(stage, schedule)
      const current = (await stage.store.findSchedule(schedule.scheduleId)) as Schedule
      const firing = newFiring(current, [newSlot(schedule.scheduleId, NOW + 3 * HOUR)])
      return () => stage.store.fireSlots([firing], NOW + 3 * HOUR)
    },
  },
  {
    name: 'a change with due slots',
    prepare: async (stage) => {
      const schedule = await created(stage)
      const firing = newFiring(schedule, [newSlot(schedule.scheduleId, NOW + HOUR)])
      return () => stage.store.changeSchedule({ firing, schedule: { ...schedule, name: 'new' }, now: NOW + HOUR })
    },
  },
  {
    name: 'disabling',
    prepare: async (stage) => {
      const { scheduleId, revision } = await created(stage)
      return () => stage.store.disableSchedule({ scheduleId, revision, reason: 'broken', now: NOW })
    },
  },
  {
    name: 'triggering',
    prepare: async (stage) => {
      const { scheduleId } = await created(stage)
      const job = newJob({ scheduleId, type: 'poem', businessKey: 'b' })
      return () => stage.store.triggerSchedule(scheduleId, job, NOW)
    },
  },
  {
    name: 'removing',
    prepare: async (stage) => {
      const schedule = await created(stage, { overlap: 'skip' })
      await fireNext(stage, schedule)
      await fireNext(stage, schedule)
      return () => stage.store.removeSchedule(schedule.scheduleId)
    },
  },
  {
    name: 'a new template',
    prepare: async ({ store }) => {
      const template = newTemplate()
      return () => store.createTemplate(template)
    },
  },
  {
    name: 'a change of a template',
    prepare: async ({ store }) => {
      const template = newTemplate()
      await store.createTemplate(template)
      return () => store.changeTemplate({ template: { ...template, name: 'new' }, now: NOW })
    },
  },
  {
    name: 'archiving a template',
    prepare: async ({ store }) => {
      const { templateId } = newTemplate()
      await store.createTemplate(newTemplate({ templateId }))
      return () => store.archiveTemplate(templateId, NOW)
    },
  },
]

/** On a server each schedule is fired in a transaction of its own: several are not one operation there. */
const operations = all.filter(({ name }) => storeKind === 'sqlite' || !name.startsWith('slots of several'))

afterEach(() => mend(onFaultPoint))

test.for(operations)(
  '$name: broken off at any write, nothing of it is stored, and the next try succeeds',
  async (one) => {
    const database = new SharedDatabase()
    const store = await storeAt(database.address).open()
    const operate = await one.prepare(await takeStage(store))
    const before = withoutNames(await database.tables())
    const breaks = async (at: FaultPoint, nth: number): Promise<boolean> => {
      breakAt(onFaultPoint, at, nth)
      const isBroken = await breaksOff(operate)
      mend(onFaultPoint)
      if (isBroken) expect(withoutNames(await database.tables())).toEqual(before)
      return isBroken
    }
    expect(await breaks('store:before-commit', 1)).toBe(true)
    let writes = 0
    while (await breaks('store:statement', writes + 1)) writes++
    expect(writes).toBeGreaterThan(0)
    expect(withoutNames(await database.tables())).not.toEqual(before)
    await store.close()
    await database.isSound()
  },
)
