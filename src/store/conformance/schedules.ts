import assert from 'node:assert/strict'
import type { Schedule } from '../../domain/schedule.ts'
import type { StoreSignal } from '../events.ts'
import { HOUR, NOW, newId, newJob, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import { fireNext, newFiring, newSchedule, newSlot } from './schedule-fixtures.ts'

/** Schedules: what they keep, which are due, and who may change them. What slots make is a concern of its own. */
export function testSchedules({ test, testShared }: Kit): void {
  test('a schedule is read as it was written', async ({ store }) => {
    const plain = newSchedule()
    const full = newSchedule({
      target: { kind: 'template', templateId: newId() },
      paramOverrides: null,
      timing: { kind: 'cron', expression: '*/5 9-17 * * MON-FRI', timezone: 'Europe/Berlin' },
      missed: 'all',
      overlap: 'queue-one',
      priority: -7,
      tags: ['red', 'blue'],
      businessKey: 'the one',
      enabled: false,
      disabledReason: 'its template was archived',
      nextSlotAt: null,
      lastTriggeredAt: NOW - HOUR,
    })
    for (const schedule of [plain, full]) {
      await store.createSchedule(schedule)
      assertSame(await store.findSchedule(schedule.scheduleId), schedule)
    }
    assert.equal(await store.findSchedule(newId()), null)
  })

  test('those are due whose next slot has come, the most overdue first', async ({ store }) => {
    const [late, later, now, next] = [-2, -1, 0, 1].map((offset) => newSchedule({ nextSlotAt: NOW + offset * SECOND }))
    const never = newSchedule({ nextSlotAt: null })
    const disabled = newSchedule({ enabled: false, nextSlotAt: null })
    assert.equal(await store.nextSlotAt(), null)
    for (const schedule of [next, now, later, late, never, disabled]) await store.createSchedule(schedule as Schedule)
    assertSame(await store.findDueSchedules(NOW, 10), [late, later, now])
    assertSame(await store.findDueSchedules(NOW, 2), [late, later])
    assert.equal(await store.nextSlotAt(), NOW - 2 * SECOND)
  })

  test('schedules that were planned at an instant still to come are found, unless they are disabled', async ({
    store,
  }) => {
    const [past, future] = [newSchedule({ createdAt: NOW }), newSchedule({ createdAt: NOW + HOUR })]
    const disabled = newSchedule({ createdAt: NOW + HOUR, enabled: false, nextSlotAt: null })
    for (const schedule of [past, future, disabled]) await store.createSchedule(schedule)
    assertSame(await store.findSchedulesPlannedAfter(NOW, 10), [future])
    assertSame(await store.findSchedulesPlannedAfter(NOW + HOUR, 10), [])
    await store.fireSlots([newFiring(future, [])], NOW)
    await store.fireSlots([newFiring(past, [])], NOW + HOUR)
    const found = await store.findSchedulesPlannedAfter(NOW, 10)
    assertSame(
      found.map(({ scheduleId }) => scheduleId),
      [past.scheduleId],
    )
  })

  test('a change replaces the definition, and what is due is fired as it was', async (stage) => {
    const { store } = stage
    const schedule = newSchedule()
    await store.createSchedule(schedule)
    const slot = newSlot(schedule.scheduleId, NOW + HOUR)
    const now = NOW + HOUR + SECOND
    const changed: Schedule = {
      ...schedule,
      name: 'daily poem',
      target: { kind: 'template', templateId: newId() },
      paramOverrides: { lines: 14 },
      timing: { kind: 'cron', expression: '@daily', timezone: 'Asia/Tokyo' },
      missed: 'none',
      overlap: 'skip',
      priority: 3,
      tags: ['red'],
      businessKey: 'key',
      updatedAt: now,
      lastSlotAt: now,
      nextSlotAt: NOW + 9 * HOUR,
    }
    const result = await store.changeSchedule({ firing: newFiring(schedule, [slot]), schedule: changed, now })
    assertSame(result, { kind: 'fired', jobIds: [slot.job.jobId], skipped: [] })
    const { revision, ...rest } = (await store.findSchedule(schedule.scheduleId)) as Schedule
    assertSame(rest, { ...without(changed, 'revision'), lastTriggeredAt: now })
    assert.ok(revision > schedule.revision)
    assertSame(await stage.queue(), [slot.job.jobId])
  })

  test('a change that was decided on an older revision changes nothing', async (stage) => {
    const schedule = newSchedule()
    await stage.store.createSchedule(schedule)
    await fireNext(stage, schedule)
    const before = await stage.store.findSchedule(schedule.scheduleId)
    const firing = newFiring(schedule, [newSlot(schedule.scheduleId, NOW + 2 * HOUR)])
    const result = await stage.changesNothing(() =>
      stage.store.changeSchedule({ firing, schedule: { ...schedule, name: 'other' }, now: NOW }),
    )
    assertSame(result, { kind: 'stale' })
    assertSame(await stage.store.findSchedule(schedule.scheduleId), before)
  })

  test('a change leaves alone what it does not define: when it was made, and when it last made a Job', async (stage) => {
    const schedule = newSchedule()
    await stage.store.createSchedule(schedule)
    await fireNext(stage, schedule)
    const current = (await stage.store.findSchedule(schedule.scheduleId)) as Schedule
    const change = { ...current, createdAt: 1, lastTriggeredAt: null, name: 'other' }
    await stage.store.changeSchedule({ firing: newFiring(current, []), schedule: change, now: NOW })
    const { name, createdAt, lastTriggeredAt } = (await stage.store.findSchedule(schedule.scheduleId)) as Schedule
    assertSame({ name, createdAt, lastTriggeredAt }, { name: 'other', createdAt: NOW, lastTriggeredAt: NOW + HOUR })
  })

  test('a disabled schedule keeps its reason and has no further slot', async ({ store }) => {
    const schedule = newSchedule()
    const { scheduleId, revision } = schedule
    await store.createSchedule(schedule)
    const request = { scheduleId, revision, reason: 'the zone is gone', now: NOW + SECOND }
    assert.equal(await store.disableSchedule(request), 'disabled')
    const disabled = await store.findSchedule(scheduleId)
    assertSame(disabled, {
      ...schedule,
      enabled: false,
      disabledReason: 'the zone is gone',
      nextSlotAt: null,
      updatedAt: NOW + SECOND,
      revision: disabled?.revision,
    })
    assert.equal(await store.disableSchedule({ ...request, reason: 'another' }), 'stale')
    assertSame(await store.findSchedule(scheduleId), disabled)
    assertSame(await store.findDueSchedules(NOW + HOUR, 10), [])
  })

  test('a removed schedule leaves its Jobs, and nothing else', async (stage) => {
    const { store } = stage
    const schedule = newSchedule({ overlap: 'skip' })
    await store.createSchedule(schedule)
    await fireNext(stage, schedule)
    await fireNext(stage, schedule)
    assert.equal((await store.listSkippedSlots(schedule.scheduleId, 10)).items.length, 1)
    const queue = await stage.queue()
    assert.equal(queue.length, 1)
    assert.equal(await store.removeSchedule(schedule.scheduleId), 'removed')
    assert.equal(await store.findSchedule(schedule.scheduleId), null)
    assertSame((await store.listSkippedSlots(schedule.scheduleId, 10)).items, [])
    assertSame(await stage.queue(), queue)
    assert.equal((await stage.finish(await stage.claimOne({ now: NOW + HOUR }))).kind, 'finished')
    assert.equal(await store.removeSchedule(schedule.scheduleId), 'not-found')
  })

  test('with a revision it is removed only if it is still at that', async ({ store }) => {
    const schedule = newSchedule()
    const { scheduleId, revision } = schedule
    await store.createSchedule(schedule)
    assert.equal(await store.removeSchedule(scheduleId, revision + 1), 'stale')
    assert.notEqual(await store.findSchedule(scheduleId), null)
    assert.equal(await store.removeSchedule(scheduleId, revision), 'removed')
    assert.equal(await store.removeSchedule(scheduleId, revision), 'not-found')
  })

  test('what is not there is neither fired, changed, disabled nor triggered', async (stage) => {
    const schedule = newSchedule()
    const { scheduleId } = schedule
    const firing = newFiring(schedule, [newSlot(scheduleId, NOW)])
    await stage.changesNothing(async () => {
      const { store } = stage
      assertSame(await store.fireSlots([firing], NOW), [{ kind: 'stale' }])
      assertSame(await store.changeSchedule({ firing, schedule, now: NOW }), { kind: 'not-found' })
      assert.equal(await store.disableSchedule({ scheduleId, revision: 1, reason: '', now: NOW }), 'stale')
      assertSame(await store.triggerSchedule(scheduleId, newJob({ scheduleId }), NOW), { kind: 'not-found' })
    })
  })

  test('lists are newest first, page by page, with the disabled apart', async ({ store }) => {
    const schedules = Array.from({ length: 5 }, (_, index) =>
      index % 2 === 0 ? newSchedule() : newSchedule({ enabled: false, nextSlotAt: null }),
    )
    for (const schedule of schedules) await store.createSchedule(schedule)
    const newest = schedules.toReversed()
    const page = await store.listSchedules({ limit: 2 })
    assertSame(page.items, newest.slice(0, 2))
    assertSame((await store.listSchedules({ limit: 10, cursor: page.nextCursor })).items, newest.slice(2))
    for (const enabled of [true, false]) {
      const { items, nextCursor } = await store.listSchedules({ enabled, limit: 10 })
      assertSame(
        items,
        newest.filter((schedule) => schedule.enabled === enabled),
      )
      assert.equal(nextCursor, null)
    }
  })

  test('whoever listens is told of each schedule that was made, changed, disabled or removed', async ({ store }) => {
    const stirs: StoreSignal[] = []
    const stop = store.subscribe((signal) => stirs.push(signal))
    const isTold = (): boolean => {
      const told = stirs.splice(0)
      return told.some((signal) => signal.kind === 'stirred' && signal.what.has('schedules'))
    }
    const schedule = newSchedule()
    const { scheduleId } = schedule
    await store.createSchedule(schedule)
    assert.ok(isTold(), 'made')
    await store.changeSchedule({ firing: newFiring(schedule, []), schedule, now: NOW })
    assert.ok(isTold(), 'changed')
    const revision = (await store.findSchedule(scheduleId))?.revision ?? 0
    await store.disableSchedule({ scheduleId, revision, reason: 'enough', now: NOW })
    assert.ok(isTold(), 'disabled')
    await store.removeSchedule(scheduleId)
    assert.ok(isTold(), 'removed')
    stop()
  })

  testShared('of two changes of one revision one wins, whoever made it', async (stage, other) => {
    const schedule = newSchedule()
    await stage.store.createSchedule(schedule)
    const results = await Promise.all(
      [stage, other].map((one, index) =>
        one.store.changeSchedule({
          firing: newFiring(schedule, [newSlot(schedule.scheduleId, NOW + HOUR)]),
          schedule: { ...schedule, name: `name ${index}` },
          now: NOW + HOUR,
        }),
      ),
    )
    const kinds = results.map(({ kind }) => kind)
    assertSame(kinds.toSorted(), ['fired', 'stale'])
    assert.equal((await other.store.findSchedule(schedule.scheduleId))?.name, `name ${kinds.indexOf('fired')}`)
    assert.equal((await stage.queue()).length, 1)
  })
}

function without<Value extends object, Key extends keyof Value>(value: Value, key: Key): Omit<Value, Key> {
  const { [key]: _, ...rest } = value
  return rest
}
