// A program says at each start which schedules it wants. They are made once, and changed when the program has changed.
import { defineJob } from 'pawl'
import { SettableClock, type TestScheduler } from 'pawl/testing'
import { expect, test } from 'vitest'
import { newSharedStore, openTestScheduler } from '../stores/package-stores.ts'

const report = defineJob({ type: 'report', run: () => null })

async function names(stage: TestScheduler): Promise<string[]> {
  return (await stage.scheduler.schedules.list()).items.map(({ name }) => name)
}

test('declared at each start, and by several processes at once, a schedule exists once', async () => {
  const store = newSharedStore()
  const clock = new SettableClock()
  const open = () => openTestScheduler({ store, clock, jobs: [report] })
  await using first = await open()
  await using second = await open()
  const wanted = { name: 'nightly', type: report, cron: '0 3 * * *' } as const
  const declared = await Promise.all(
    [first, second, first, second].map(({ scheduler }) => scheduler.schedules.declare(wanted)),
  )
  expect(new Set(declared.map(({ scheduleId }) => scheduleId)).size).toBe(1)
  expect(await names(first)).toEqual(['nightly'])
  // One that was made by hand under the same name is another one.
  await first.scheduler.schedules.create(wanted)
  await first.scheduler.schedules.declare(wanted)
  expect(await names(first)).toEqual(['nightly', 'nightly'])
})

test('declared again as it is, it goes on: neither its slots nor its revision move', async () => {
  await using stage = await openTestScheduler({ jobs: [report] })
  const { schedules } = stage.scheduler
  const wanted = { name: 'beat', type: report, everyMs: 60_000, tags: ['a'] } as const
  const declared = await schedules.declare(wanted)
  await stage.advance('30s')
  expect(await schedules.declare(wanted)).toEqual(declared)
  await stage.advance('30s')
  const { items } = await stage.scheduler.listJobs({ scheduleId: declared.scheduleId })
  expect(items.map(({ slotAt }) => slotAt)).toEqual([declared.createdAt + 60_000])
})

test('declared otherwise, it is changed, also back to what was left out', async () => {
  await using stage = await openTestScheduler({ jobs: [report] })
  const { schedules } = stage.scheduler
  const { scheduleId } = await schedules.declare({
    name: 'beat',
    type: report,
    everyMs: 60_000,
    overlap: 'skip',
    paramOverrides: { a: 1 },
  })
  const changed = await schedules.declare({ name: 'beat', type: report, cron: '0 3 * * *', timezone: 'Europe/Berlin' })
  expect(changed).toMatchObject({
    scheduleId,
    timing: { kind: 'cron', expression: '0 3 * * *', timezone: 'Europe/Berlin' },
    overlap: 'allow',
    paramOverrides: {},
    revision: 2,
  })
})

test('what an operator has disabled stays disabled, unless the program says otherwise', async () => {
  await using stage = await openTestScheduler({ jobs: [report] })
  const { schedules } = stage.scheduler
  const wanted = { name: 'beat', type: report, everyMs: 60_000 } as const
  const { scheduleId } = await schedules.declare(wanted)
  await schedules.disable(scheduleId)
  expect(await schedules.declare(wanted)).toMatchObject({ enabled: false })
  expect(await schedules.declare({ ...wanted, enabled: true })).toMatchObject({ enabled: true })
})

test('a removed one is made anew when it is declared again', async () => {
  await using stage = await openTestScheduler({ jobs: [report] })
  const { schedules } = stage.scheduler
  const wanted = { name: 'beat', type: report, everyMs: 60_000 } as const
  const { scheduleId } = await schedules.declare(wanted)
  await schedules.remove(scheduleId)
  expect((await schedules.declare(wanted)).scheduleId).not.toBe(scheduleId)
})

test('a wrong declaration changes nothing', async () => {
  await using stage = await openTestScheduler({ jobs: [report] })
  const { schedules } = stage.scheduler
  const declared = await schedules.declare({ name: 'beat', type: report, everyMs: 60_000 })
  await expect(schedules.declare({ name: 'beat', type: report, cron: '61 * * * *' })).rejects.toMatchObject({
    code: 'invalid_option',
    path: 'cron',
  })
  await expect(schedules.declare({ name: 'beat', type: 'no-such-type', everyMs: 1_000 })).rejects.toMatchObject({
    code: 'unknown_type',
  })
  expect(await schedules.get(declared.scheduleId)).toEqual(declared)
})
