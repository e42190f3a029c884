// What happens to slots that come too late, and to slots that come while an earlier Job has not settled.
import { expect, test } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { HOUR, jobsOf, MINUTE, openStage, report, SECOND, START, skipsOf, slotsOf } from './stage.ts'

const minutely = { name: 'minutely', type: report, cron: '* * * * *' } as const

test('a slot that is less than a minute late fires as usual, whatever the policy', async () => {
  for (const missed of ['one', 'all', 'none'] as const) {
    await using stage = await openStage()
    const schedule = await stage.schedules.create({ ...minutely, missed })
    await stage.scheduler.stop()
    await stage.advance(2 * MINUTE)
    await stage.scheduler.start()
    await stage.runUntilIdle()
    expect(await slotsOf(stage.scheduler, schedule)).toEqual([MINUTE, 2 * MINUTE])
    expect(await skipsOf(stage.scheduler, schedule)).toEqual([])
  }
})

test('a slot that is a millisecond later than a minute is missed', async () => {
  await using stage = await openStage()
  const schedule = await stage.schedules.create({ ...minutely, missed: 'none' })
  await stage.scheduler.stop()
  await stage.advance(2 * MINUTE + 1)
  await stage.scheduler.start()
  await stage.runUntilIdle()
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([2 * MINUTE])
  expect(await skipsOf(stage.scheduler, schedule)).toEqual(['missed 60–60 ×1'])
})

// Nothing was started for ten and a half minutes: the slots of minutes 1 to 9 are missed, that of minute 10 is not.
const AWAY = [
  { missed: 'none', overlap: 'allow', fire: [10], skipped: ['missed 60–540 ×9'] },
  { missed: 'none', overlap: 'skip', fire: [10], skipped: ['missed 60–540 ×9'] },
  { missed: 'none', overlap: 'queue-one', fire: [10], skipped: ['missed 60–540 ×9'] },
  { missed: 'one', overlap: 'allow', fire: [9, 10], skipped: ['missed 60–480 ×8'] },
  { missed: 'one', overlap: 'skip', fire: [9], skipped: ['missed 60–480 ×8', 'overlap 600–600 ×1'] },
  { missed: 'one', overlap: 'queue-one', fire: [9], skipped: ['missed 60–480 ×8', 'overlap 600–600 ×1'] },
  { missed: 'all', overlap: 'allow', fire: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], skipped: [] },
  { missed: 'all', overlap: 'skip', fire: [1], skipped: ['overlap 120–600 ×9'] },
  { missed: 'all', overlap: 'queue-one', fire: [1], skipped: ['overlap 120–600 ×9'] },
] as const

test.for(AWAY)('missed: $missed with overlap: $overlap, after a pause', async (expected) => {
  const { missed, overlap } = expected
  await using stage = await openStage()
  const schedule = await stage.schedules.create({ ...minutely, missed, overlap })
  await stage.scheduler.stop()
  await stage.advance(10.5 * MINUTE)
  await stage.scheduler.start()
  await stage.runUntilIdle()
  expect(await slotsOf(stage.scheduler, schedule)).toEqual(expected.fire.map((minute) => minute * MINUTE))
  expect(await skipsOf(stage.scheduler, schedule)).toEqual(expected.skipped)
  await stage.advance(MINUTE)
  expect((await slotsOf(stage.scheduler, schedule)).at(-1)).toBe(11 * MINUTE)
})

test('of very many missed slots at most the latest hundred fire, in their order', async () => {
  await using stage = await openStage({ concurrency: 50 })
  const schedule = await stage.schedules.create({ ...minutely, missed: 'all' })
  await stage.scheduler.stop()
  await stage.advance(20 * HOUR + 30 * SECOND)
  await stage.scheduler.start()
  await stage.runUntilIdle()
  const minutes = Array.from({ length: 101 }, (_, index) => 1_100 + index)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual(minutes.map((minute) => minute * MINUTE))
  const [skip] = (await stage.schedules.listSkipped(schedule.scheduleId)).items
  expect(skip).toMatchObject({
    reason: 'missed',
    firstSlotAt: START + MINUTE,
    lastSlotAt: START + 1_099 * MINUTE,
    at: START + 20 * HOUR + 30 * SECOND,
  })
})

// A body takes 150 seconds, and a slot comes every minute: the first Job executes from minute 1 to 3.5.
test.for([
  { overlap: 'allow', fire: [1, 2, 3, 4, 5], skipped: [] },
  { overlap: 'skip', fire: [1, 4], skipped: ['overlap 120–180 ×2', 'overlap 300–300 ×1'] },
  { overlap: 'queue-one', fire: [1, 2, 4], skipped: ['overlap 180–180 ×1', 'overlap 300–300 ×1'] },
] as const)('overlap: $overlap while an earlier Job executes', async ({ overlap, fire, skipped }) => {
  await using stage = await openStage({ jobs: [lasting(150 * SECOND)] })
  const schedule = await stage.schedules.create({ ...minutely, type: 'lasting', overlap })
  await stage.advance(5 * MINUTE)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual(fire.map((minute) => minute * MINUTE))
  expect(await skipsOf(stage.scheduler, schedule)).toEqual(skipped)

  function lasting(ms: number) {
    return defineJob({
      type: 'lasting',
      run: () => new Promise<void>((resolve) => void stage.clock.after(ms, resolve)),
    })
  }
})

// The first Job of each fails, and its retry waits for an hour: the chain is live, but it has had its turn.
test.for([
  { overlap: 'allow', fire: [1, 2, 3] },
  { overlap: 'skip', fire: [1] },
  { overlap: 'queue-one', fire: [1, 2] },
] as const)('overlap: $overlap while an earlier Job waits for its retry', async ({ overlap, fire }) => {
  const failing = defineJob({
    type: 'failing',
    retry: { maxRetries: 1, backoff: { kind: 'fixed', delayMs: HOUR } },
    run: () => {
      throw new Error('no')
    },
  })
  await using stage = await openStage({ jobs: [failing] })
  const schedule = await stage.schedules.create({ ...minutely, type: failing, overlap })
  await stage.advance(3 * MINUTE)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual(fire.map((minute) => minute * MINUTE))
})

test('with queue-one, the Job of the next slot waits until the one before it has settled, however it ends', async () => {
  const failing = defineJob({
    type: 'failing',
    retry: { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 90 * SECOND } },
    run: () => {
      throw new Error('no')
    },
  })
  await using stage = await openStage({ jobs: [failing], concurrency: 2 })
  const schedule = await stage.schedules.create({ ...minutely, type: failing, overlap: 'queue-one' })
  await stage.advance(2 * MINUTE)
  const [, second] = (await jobsOf(stage.scheduler, schedule)).filter(({ attempt }) => attempt === 1)
  expect(second).toMatchObject({ slotAt: START + 2 * MINUTE, status: 'QUEUED', hold: 'dependencies' })
  await stage.advance(30 * SECOND)
  const startedAt = (await stage.scheduler.getJob(second?.jobId ?? '')).startedAt
  expect(startedAt).toBe(START + 2.5 * MINUTE)
})

test('with queue-one, the Job waits for all earlier ones that have not settled, not for the newest alone', async () => {
  const ends: (() => void)[] = []
  const lasting = defineJob({ type: 'lasting', run: () => new Promise<void>((resolve) => void ends.push(resolve)) })
  await using stage = await openStage({ jobs: [lasting], concurrency: 5 })
  const schedule = await stage.schedules.create({ ...minutely, type: lasting, overlap: 'allow' })
  await stage.advance(2 * MINUTE)
  await stage.schedules.change(schedule.scheduleId, { overlap: 'queue-one' })
  const byHand = await stage.schedules.trigger(schedule.scheduleId)
  await stage.advance(MINUTE)
  const [first, second, , waiting] = await jobsOf(stage.scheduler, schedule)
  expect(waiting).toMatchObject({ slotAt: START + 3 * MINUTE, hold: 'dependencies' })
  const started = async () => (await stage.scheduler.getJob(waiting?.jobId ?? '')).startedAt !== null
  // The newest ends first.
  for (const job of [byHand, second, first]) {
    expect(await started()).toBe(false)
    ends[[first, second, byHand].indexOf(job)]?.()
    await stage.runUntilIdle()
  }
  expect(await started()).toBe(true)
  ends.at(-1)?.()
})

test('a Job that was triggered by hand counts as an earlier one', async () => {
  await using stage = await openStage()
  const schedule = await stage.schedules.create({ ...minutely, type: report, overlap: 'skip' })
  await stage.scheduler.stop()
  await stage.schedules.trigger(schedule.scheduleId)
  await stage.advance(MINUTE)
  await stage.scheduler.start()
  await stage.runUntilIdle()
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([null])
  expect(await skipsOf(stage.scheduler, schedule)).toEqual(['overlap 60–60 ×1'])
})

test('a slot whose business key another Job holds is skipped, and the next one fires', async () => {
  await using stage = await openStage()
  const schedule = await stage.schedules.create({ ...minutely, businessKey: 'one' })
  const holder = await stage.scheduler.enqueue(report, {}, { businessKey: 'one', delayMs: HOUR })
  await stage.advance(2 * MINUTE)
  await holder.cancel()
  await stage.advance(MINUTE)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([3 * MINUTE])
  expect(await skipsOf(stage.scheduler, schedule)).toEqual(['business-key-taken 60–120 ×2'])
  expect((await jobsOf(stage.scheduler, schedule))[0]).toMatchObject({ businessKey: 'one', status: 'FINISHED' })
})
