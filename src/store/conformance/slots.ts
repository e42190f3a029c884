import assert from 'node:assert/strict'
import { PARENTS_MAX } from '../../domain/dependency.ts'
import type { OverlapPolicy, Schedule, SkippedSlots } from '../../domain/schedule.ts'
import { type FiringResult, SKIPS_KEPT_MAX } from '../schedules.ts'
import { failed, HOUR, NOW, newId, newJob, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import { fireNext, newFiring, newSchedule, newSlot, newTemplate } from './schedule-fixtures.ts'
import type { Stage } from './stage.ts'

/** Slots: a slot makes one Job at most, whoever fires it, and what makes none is recorded. */
export function testSlots({ test, testShared }: Kit): void {
  test('a slot makes its Job, and the schedule goes on from there', async (stage) => {
    const schedule = await created(stage)
    const { scheduleId } = schedule
    const slot = newSlot(scheduleId, NOW + HOUR, { priority: 5, tags: ['red'], name: 'hourly story' })
    const now = NOW + HOUR + 3
    const results = await stage.store.fireSlots([newFiring(schedule, [slot])], now)
    assertSame(results, [{ kind: 'fired', jobIds: [slot.job.jobId], skipped: [] }])
    const job = await stage.job(slot.job.jobId, now)
    assertSame(
      [job.status, job.scheduleId, job.slotAt, job.priority, job.tags, job.runAt, job.createdAt],
      ['QUEUED', scheduleId, NOW + HOUR, 5, ['red'], now, now],
    )
    const { lastSlotAt, nextSlotAt, lastTriggeredAt, revision } = await current(stage, schedule)
    assertSame([lastSlotAt, nextSlotAt, lastTriggeredAt], [NOW + HOUR, NOW + 2 * HOUR, now])
    assert.ok(revision > schedule.revision)
    const events = await stage.readEvents(0, 100)
    const told = events.flatMap(({ transitions }) => transitions).filter(({ jobId }) => jobId === job.jobId)
    assertSame(
      told.map(({ kind, status, at }) => [kind, status, at]),
      [
        ['job.queued', 'QUEUED', now],
        ['schedule.triggered', 'QUEUED', now],
      ],
    )
  })

  test('several slots make their Jobs in their order', async (stage) => {
    const schedule = await created(stage)
    const slots = [1, 2, 3].map((hours) => newSlot(schedule.scheduleId, NOW + hours * HOUR))
    await stage.store.fireSlots([newFiring(schedule, slots)], NOW + 3 * HOUR)
    assertSame(
      await stage.queue(),
      slots.map(({ job }) => job.jobId),
    )
  })

  test('a firing that was decided on an older revision writes nothing, and the others of the call do', async (stage) => {
    const [first, second] = [await created(stage), await created(stage)]
    await fireNext(stage, first)
    const stale = newFiring(first, [newSlot(first.scheduleId, NOW + 2 * HOUR)])
    const fresh = newFiring(second, [newSlot(second.scheduleId, NOW + HOUR)])
    const before = await current(stage, first)
    const [one, two] = await stage.store.fireSlots([stale, fresh], NOW + 2 * HOUR)
    assertSame(one, { kind: 'stale' })
    assert.equal(two?.kind, 'fired')
    assertSame(await current(stage, first), before)
    assert.equal((await stage.queue()).length, 2)
  })

  test('slots not after the last one never fire', async (stage) => {
    const schedule = await created(stage, { lastSlotAt: NOW + 2 * HOUR })
    const slots = [1, 2, 3].map((hours) => newSlot(schedule.scheduleId, NOW + hours * HOUR))
    const [result] = await stage.store.fireSlots([newFiring(schedule, slots)], NOW + 3 * HOUR)
    assertSame(result, { kind: 'fired', jobIds: [slots[2]?.job.jobId], skipped: [] })
    assertSame(await stage.queue(), [slots[2]?.job.jobId])
  })

  test('a slot that has its Job is passed over, also when the clock has been set back', async (stage) => {
    const schedule = await created(stage)
    await fireNext(stage, schedule)
    const [made] = await stage.queue()
    const fired = await current(stage, schedule)
    await stage.store.fireSlots([newFiring(fired, [], { lastSlotAt: NOW })], NOW)
    const back = await current(stage, schedule)
    const slots = [1, 2].map((hours) => newSlot(schedule.scheduleId, NOW + hours * HOUR))
    const [result] = await stage.store.fireSlots([newFiring(back, slots)], NOW + 2 * HOUR)
    assertSame(result, { kind: 'fired', jobIds: [slots[1]?.job.jobId], skipped: [] })
    assertSame(await stage.queue(), [made, slots[1]?.job.jobId])
  })

  test('retries keep the schedule and the slot of their chain', async (stage) => {
    const schedule = await created(stage)
    await fireNext(stage, schedule)
    const job = await stage.claimOne({ now: NOW + HOUR })
    const retry = newRetry()
    await stage.finish(job, { outcome: failed(), retry })
    const { scheduleId, slotAt } = await stage.job(retry.jobId)
    assertSame([scheduleId, slotAt], [schedule.scheduleId, NOW + HOUR])
  })

  for (const [overlap, states] of Object.entries(MADE_WHILE) as [OverlapPolicy, Readonly<Record<State, boolean>>][]) {
    for (const [state, makes] of Object.entries(states) as [State, boolean][]) {
      test(`${overlap}, with an earlier chain ${state}: ${makes ? 'makes a Job' : 'is skipped'}`, async (stage) => {
        const schedule = await created(stage, { overlap })
        await bring(stage, schedule, state)
        const slotAt = NOW + 2 * HOUR
        const result = await fireNext(stage, schedule)
        const skip = { firstSlotAt: slotAt, lastSlotAt: slotAt, count: 1, reason: 'overlap' } as const
        assert.equal(result.kind, 'fired')
        assert.equal(result.jobIds.length, makes ? 1 : 0)
        assertSame(result.skipped, makes ? [] : [skip])
        assertSame(await skips(stage, schedule), makes ? [] : [{ ...skip, at: slotAt }])
        assert.equal((await current(stage, schedule)).lastSlotAt, slotAt)
      })
    }
  }

  test('queue-one waits for all live chains of the schedule, and runs however they end', async (stage) => {
    const schedule = await created(stage, { overlap: 'queue-one' })
    const { scheduleId } = schedule
    const other = await created(stage)
    await fireNext(stage, other)
    const byHand = [newJob({ scheduleId }), newJob({ scheduleId }), newJob({ scheduleId })]
    for (const job of byHand) await stage.store.triggerSchedule(scheduleId, job, NOW)
    const jobs = await stage.claim({ now: NOW + HOUR })
    const result = await fireNext(stage, schedule)
    const [made] = result.kind === 'fired' ? result.jobIds : []
    assert.ok(made, 'a Job was made')
    const { dependsOn } = await stage.job(made)
    assertSame(dependsOn.toSorted(), byHand.map(({ jobId }) => jobId).toSorted())
    const holds: (string | null)[] = []
    for (const job of jobs.filter(({ claim }) => dependsOn.includes(claim.jobId)).toReversed()) {
      holds.push((await stage.job(made, NOW + HOUR)).hold)
      await stage.finish(job, { outcome: failed() })
    }
    assertSame(holds, ['dependencies', 'dependencies', 'dependencies'])
    assert.equal((await stage.job(made, NOW + HOUR)).hold, null)
  })

  test('of more live chains than a Job may have parents, queue-one waits for the newest', async (stage) => {
    const schedule = await created(stage)
    const { scheduleId } = schedule
    const slots = Array.from({ length: PARENTS_MAX + 1 }, (_, index) => newSlot(scheduleId, NOW + index + 1))
    await stage.store.fireSlots([newFiring(schedule, slots)], NOW + HOUR)
    while ((await stage.claim({ now: NOW + HOUR })).length > 0) {}
    const queueing: Schedule = { ...(await current(stage, schedule)), overlap: 'queue-one' }
    const slot = newSlot(scheduleId, NOW + 2 * HOUR)
    await stage.store.fireSlots([newFiring(queueing, [slot])], NOW + 2 * HOUR)
    const { dependsOn } = await stage.job(slot.job.jobId)
    const newest = slots.slice(1).map(({ job }) => job.jobId)
    assertSame(dependsOn.toSorted(), newest.toSorted())
  })

  test('of several due slots, overlap lets through what the ones before it allow', async (stage) => {
    for (const [overlap, jobs] of [
      ['allow', 3],
      ['skip', 1],
      ['queue-one', 1],
    ] as const) {
      const schedule = await created(stage, { overlap })
      const slots = [1, 2, 3].map((hours) => newSlot(schedule.scheduleId, NOW + hours * HOUR))
      const [result] = await stage.store.fireSlots([newFiring(schedule, slots)], NOW + 3 * HOUR)
      assertSame(
        result?.kind === 'fired' && result.jobIds,
        slots.slice(0, jobs).map(({ job }) => job.jobId),
      )
      const rest = { firstSlotAt: NOW + 2 * HOUR, lastSlotAt: NOW + 3 * HOUR, count: 2, reason: 'overlap' }
      assertSame(await skips(stage, schedule), jobs === 3 ? [] : [{ ...rest, at: NOW + 3 * HOUR }])
    }
  })

  test('a slot whose business key is taken is skipped and recorded', async (stage) => {
    const schedule = await created(stage, { businessKey: 'key' })
    await stage.enqueue([newJob({ businessKey: 'key' })])
    const slots = [1, 2].map((hours) => newSlot(schedule.scheduleId, NOW + hours * HOUR, { businessKey: 'key' }))
    const [result] = await stage.store.fireSlots([newFiring(schedule, slots)], NOW + 2 * HOUR)
    const skip = { firstSlotAt: NOW + HOUR, lastSlotAt: NOW + 2 * HOUR, count: 2, reason: 'business-key-taken' }
    assertSame(result, { kind: 'fired', jobIds: [], skipped: [skip] })
    assertSame(await skips(stage, schedule), [{ ...skip, at: NOW + 2 * HOUR }])
    const { lastTriggeredAt, lastSlotAt } = await current(stage, schedule)
    assertSame([lastTriggeredAt, lastSlotAt], [null, NOW + 2 * HOUR])
    assert.equal((await stage.queue()).length, 1)
  })

  test('slots of an archived template write nothing, and the others of the call do', async (stage) => {
    const template = newTemplate()
    const { templateId } = template
    await stage.store.createTemplate(template)
    await stage.store.archiveTemplate(templateId, NOW)
    const [broken, whole] = [await created(stage), await created(stage)]
    const results = await stage.store.fireSlots(
      [
        newFiring(broken, [newSlot(broken.scheduleId, NOW + HOUR, { templateId })]),
        newFiring(whole, [newSlot(whole.scheduleId, NOW + HOUR)]),
      ],
      NOW + HOUR,
    )
    assertSame(
      results.map(({ kind }) => kind),
      ['template-archived', 'fired'],
    )
    assertSame(await current(stage, broken), broken)
    assert.equal((await stage.queue()).length, 1)
  })

  test('slots that were decided to be skipped are recorded as they were given', async (stage) => {
    const schedule = await created(stage)
    const skipped: SkippedSlots[] = [
      { firstSlotAt: NOW + HOUR, lastSlotAt: NOW + 9 * HOUR, count: null, reason: 'missed' },
      { firstSlotAt: NOW + 10 * HOUR, lastSlotAt: NOW + 12 * HOUR, count: 3, reason: 'clock-set-back' },
    ]
    const now = NOW + 12 * HOUR
    const firing = newFiring(schedule, [], { skipped, lastSlotAt: now })
    assertSame(await stage.store.fireSlots([firing], now), [{ kind: 'fired', jobIds: [], skipped }])
    assertSame(await skips(stage, schedule), skipped.map((skip) => ({ ...skip, at: now })).toReversed())
  })

  test('slots that are skipped one after the other for the same reason become one record', async (stage) => {
    const schedule = await created(stage, { overlap: 'skip' })
    await fireNext(stage, schedule)
    const job = await stage.claimOne({ now: NOW + HOUR })
    for (let slots = 0; slots < 3; slots++) await fireNext(stage, schedule)
    const first = { firstSlotAt: NOW + 2 * HOUR, lastSlotAt: NOW + 4 * HOUR, count: 3, reason: 'overlap' }
    assertSame(await skips(stage, schedule), [{ ...first, at: NOW + 4 * HOUR }])
    await stage.finish(job)
    await fireNext(stage, schedule)
    await fireNext(stage, schedule)
    const second = { firstSlotAt: NOW + 6 * HOUR, lastSlotAt: NOW + 6 * HOUR, count: 1, reason: 'overlap' }
    assertSame(await skips(stage, schedule), [
      { ...second, at: NOW + 6 * HOUR },
      { ...first, at: NOW + 4 * HOUR },
    ])
  })

  test('of very many records the latest are kept, and read page by page', async (stage) => {
    const schedule = await created(stage)
    const other = await created(stage)
    const total = SKIPS_KEPT_MAX + 20
    const skipped = Array.from({ length: total }, (_, index): SkippedSlots => {
      return { firstSlotAt: NOW + index, lastSlotAt: NOW + index, count: 1, reason: 'missed' }
    })
    await stage.store.fireSlots([newFiring(other, [], { skipped: skipped.slice(0, 1) })], NOW)
    await stage.store.fireSlots([newFiring(schedule, [], { skipped, lastSlotAt: NOW + total })], NOW + total)
    const instants: number[] = []
    let cursor: string | null = null
    do {
      const page = await stage.store.listSkippedSlots(schedule.scheduleId, 300, cursor)
      instants.push(...page.items.map(({ firstSlotAt }) => firstSlotAt - NOW))
      cursor = page.nextCursor
    } while (cursor !== null)
    assertSame(
      instants,
      Array.from({ length: SKIPS_KEPT_MAX }, (_, index) => total - 1 - index),
    )
    assert.equal((await skips(stage, other)).length, 1)
  })

  test('a triggered schedule makes a Job now, and no slot moves', async (stage) => {
    const schedule = await created(stage, { overlap: 'skip' })
    const { scheduleId } = schedule
    const job = newJob({ scheduleId })
    const result = await stage.store.triggerSchedule(scheduleId, job, NOW + SECOND)
    assert.equal(result.kind, 'created')
    const made = await stage.job(job.jobId)
    assertSame([made.scheduleId, made.slotAt, made.status], [scheduleId, null, 'QUEUED'])
    const after = await current(stage, schedule)
    assertSame(after, { ...schedule, lastTriggeredAt: NOW + SECOND, revision: after.revision })
    const events = await stage.readEvents(0, 100)
    assertSame(
      events.flatMap(({ transitions }) => transitions).map(({ kind }) => kind),
      ['job.queued', 'schedule.triggered'],
    )
    const fired = await fireNext(stage, schedule)
    assertSame(fired.kind === 'fired' && fired.jobIds, [])
  })

  test('a trigger whose business key is taken is refused, and nothing is written', async (stage) => {
    const schedule = await created(stage)
    const { scheduleId } = schedule
    const [holder] = await stage.enqueue([newJob({ businessKey: 'key' })])
    const result = await stage.changesNothing(() =>
      stage.store.triggerSchedule(scheduleId, newJob({ scheduleId, businessKey: 'key' }), NOW),
    )
    assertSame(result, { kind: 'refused', conflict: { kind: 'business-key-taken', index: 0, jobId: holder } })
    assertSame(await current(stage, schedule), schedule)
  })

  testShared('a slot makes one Job, whoever fires it', async (stage, other) => {
    const schedules = await Promise.all(Array.from({ length: 10 }, () => created(stage)))
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, index) => {
        const firings = schedules.map((one) => newFiring(one, [newSlot(one.scheduleId, NOW + HOUR)]))
        return (index % 2 ? stage : other).store.fireSlots(firings, NOW + HOUR)
      }),
    )
    const fired = results.flat().filter(({ kind }) => kind === 'fired') as (FiringResult & { kind: 'fired' })[]
    assert.equal(fired.length, 10)
    const queue = await other.store.listQueue(100, NOW + HOUR)
    assertSame(queue.map(({ jobId }) => jobId).toSorted(), fired.flatMap(({ jobIds }) => jobIds).toSorted())
    assertSame(
      queue.map(({ scheduleId }) => scheduleId ?? '').toSorted(),
      schedules.map(({ scheduleId }) => scheduleId).toSorted(),
    )
  })
}

type State = keyof typeof STATES

/** What can have become of the chain of an earlier slot, and how it comes there. */
const STATES = {
  'queued and not begun': async () => {},
  executing: async (stage: Stage) => void (await stage.claimOne({ now: NOW + HOUR })),
  'waiting for its retry': async (stage: Stage) => {
    const job = await stage.claimOne({ now: NOW + HOUR })
    await stage.finish(job, { outcome: failed(), retry: newRetry({ runAt: NOW + 99 * HOUR }) })
  },
  'executing its retry': async (stage: Stage) => {
    const job = await stage.claimOne({ now: NOW + HOUR })
    await stage.finish(job, { outcome: failed(), retry: newRetry() })
    await stage.claimOne({ now: NOW + HOUR })
  },
  completed: async (stage: Stage) => void (await stage.finish(await stage.claimOne({ now: NOW + HOUR }))),
  failed: async (stage: Stage) => {
    await stage.finish(await stage.claimOne({ now: NOW + HOUR }), { outcome: failed() })
  },
  cancelled: async (stage: Stage) => {
    const [jobId] = await stage.queue()
    await stage.cancel(jobId as string)
  },
  'retried by hand': async (stage: Stage) => {
    const job = await stage.claimOne({ now: NOW + HOUR })
    await stage.finish(job, { outcome: failed() })
    const by = { jobId: job.claim.jobId }
    await stage.store.retryByHand({ by, newJobId: newId(), priority: null, dependents: null, now: NOW + HOUR })
  },
}

const MADE_WHILE: Readonly<Record<OverlapPolicy, Readonly<Record<State, boolean>>>> = {
  allow: {
    'queued and not begun': true,
    executing: true,
    'waiting for its retry': true,
    'executing its retry': true,
    completed: true,
    failed: true,
    cancelled: true,
    'retried by hand': true,
  },
  skip: {
    'queued and not begun': false,
    executing: false,
    'waiting for its retry': false,
    'executing its retry': false,
    completed: true,
    failed: true,
    cancelled: true,
    'retried by hand': false,
  },
  'queue-one': {
    'queued and not begun': false,
    executing: true,
    'waiting for its retry': true,
    'executing its retry': true,
    completed: true,
    failed: true,
    cancelled: true,
    'retried by hand': true,
  },
}

/** Fires the first slot and brings its chain there. */
async function bring(stage: Stage, schedule: Schedule, state: State): Promise<void> {
  await fireNext(stage, schedule)
  await STATES[state](stage)
}

async function created(stage: Stage, overrides: Partial<Schedule> = {}): Promise<Schedule> {
  const schedule = newSchedule(overrides)
  await stage.store.createSchedule(schedule)
  return schedule
}

async function current(stage: Stage, { scheduleId }: Schedule): Promise<Schedule> {
  const schedule = await stage.store.findSchedule(scheduleId)
  assert.ok(schedule, `schedule ${scheduleId} exists`)
  return schedule
}

async function skips(stage: Stage, { scheduleId }: Schedule): Promise<readonly object[]> {
  return (await stage.store.listSkippedSlots(scheduleId, 100)).items
}
