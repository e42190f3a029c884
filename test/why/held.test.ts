import { describe, expect, test } from 'vitest'
import { defineJob, openScheduler } from '../../src/index.ts'
import { SettableClock } from '../../src/testing/index.ts'
import { newSharedStore } from '../stores/source-stores.ts'
import { newGate, Stage } from './stage.ts'

describe('a Job that something holds is told', () => {
  test('until when it is delayed', async () => {
    const work = defineJob({ type: 'work', run: () => null })
    await using stage = await Stage.open([work])
    const job = await stage.scheduler.enqueue(work, null, { delayMs: 600_000 })
    await stage.worker.advance('1m')
    expect(await stage.why(job)).toEqual({
      jobId: job.jobId,
      state: 'QUEUED',
      summary: 'Queued: delayed until 2026-01-01T00:10:00.000Z, for 9 min more.',
      reasons: [
        {
          code: 'delayed',
          message: 'Delayed until 2026-01-01T00:10:00.000Z, for 9 min more.',
          runAt: Date.UTC(2026, 0, 1, 0, 10),
        },
      ],
      queueRank: null,
      queueRankText: null,
    })
  })

  test('that it is a retry which waits for its time', async () => {
    const work = defineJob({ type: 'work', run: () => Promise.reject(new Error('no')) })
    await using stage = await Stage.open([work])
    const job = await stage.scheduler.enqueue(work, null)
    await stage.worker.advance('1s')
    const retry = (await stage.scheduler.getChain(job.jobId)).items[1]
    expect.assert(retry !== undefined)
    expect((await stage.reason(retry, 'delayed')).message).toBe(
      'Delayed, as attempt 2 after a failure, until 2026-01-01T00:00:10.000Z, for 9 s more.',
    )
  })

  test('for which Job it waits, and how that one stands', async () => {
    const gate = newGate()
    const fetch = defineJob({ type: 'fetch', run: () => gate.passed })
    const work = defineJob({ type: 'work', run: () => null })
    await using stage = await Stage.open([fetch, work])
    const running = await stage.scheduler.enqueue(fetch, null)
    const delayed = await stage.scheduler.enqueue(fetch, null, { delayMs: 60_000 })
    const child = await stage.scheduler.enqueue(work, null, { dependsOn: [running.jobId, delayed.jobId] })
    const grandchild = await stage.scheduler.enqueue(work, null, { dependsOn: [child.jobId] })
    await stage.worker.runUntilIdle()

    const why = await stage.why(child)
    expect(why).toMatchObject({ queueRank: null, queueRankText: null })
    expect(why.summary).toBe(`Queued: waits for job ${running.jobId} (fetch), which is RUNNING.`)
    expect(why.reasons).toEqual([
      {
        code: 'waiting_for_parent',
        message: `Waits for job ${running.jobId} (fetch), which is RUNNING.`,
        groupId: null,
        parentId: running.jobId,
        jobId: running.jobId,
        type: 'fetch',
        status: 'RUNNING',
        hold: null,
        outcome: null,
        onParentFailure: 'cancel',
        count: 2,
      },
      expect.objectContaining({
        message: `Waits for job ${delayed.jobId} (fetch), which is QUEUED and delayed until 2026-01-01T00:01:00.000Z.`,
        jobId: delayed.jobId,
        hold: 'delayed',
      }),
    ])
    expect((await stage.reason(grandchild, 'waiting_for_parent')).message).toBe(
      `Waits for job ${child.jobId} (work), which is QUEUED and waits for jobs of its own.`,
    )
    gate.open()
    await stage.worker.advance('1m')
    await grandchild.settled()
  })

  test('that its parent is tried again, or that somebody must do that', async () => {
    const parent = defineJob({ type: 'parent', run: () => Promise.reject(new Error('no')) })
    const work = defineJob({ type: 'work', run: () => null })
    await using stage = await Stage.open([parent, work])
    const first = await stage.scheduler.enqueue(parent, null, { retry: { maxRetries: 1 } })
    const child = await stage.scheduler.enqueue(work, null, { dependsOn: [first.jobId], onParentFailure: 'wait' })
    await stage.worker.runUntilIdle()
    const [, retry] = (await stage.scheduler.getChain(first.jobId)).items
    expect(await stage.reason(child, 'waiting_for_parent')).toMatchObject({
      parentId: first.jobId,
      jobId: retry?.jobId,
      status: 'QUEUED',
      hold: 'delayed',
    })
    await stage.worker.advance('1m')
    const reason = await stage.reason(child, 'waiting_for_parent')
    expect(reason).toMatchObject({
      jobId: retry?.jobId,
      status: 'FINISHED',
      outcome: 'FAILED',
      onParentFailure: 'wait',
    })
    expect(reason.message).toBe(
      `Waits for job ${retry?.jobId} (parent), which ended FAILED: it goes on when somebody retries that one and it succeeds.`,
    )
  })

  test('of no more than ten parents by name', async () => {
    const gate = newGate()
    const work = defineJob({ type: 'work', run: () => gate.passed })
    await using stage = await Stage.open([work])
    const parents = await stage.scheduler.enqueueMany(Array.from({ length: 25 }, () => ({ type: work, params: null })))
    const dependsOn = parents.map(({ jobId }) => jobId)
    const child = await stage.scheduler.enqueue(work, null, { dependsOn })
    // The parents that there is room for execute by then: what is told of them must not change between two looks.
    await stage.worker.runUntilIdle()
    const named = (await stage.why(child)).reasons.filter(({ code }) => code === 'waiting_for_parent')
    expect(named).toHaveLength(11)
    expect(named.at(-1)).toMatchObject({ message: 'Waits for 15 more parents.', jobId: null, count: 25 })
    gate.open()
  })

  test('after whom it comes in its group', async () => {
    const gate = newGate()
    const step = defineJob({ type: 'step', run: () => gate.passed })
    await using stage = await Stage.open([step], { concurrency: 3 })
    const group = await stage.scheduler.groups.create({
      mode: 'sequential',
      jobs: Array.from({ length: 3 }, () => ({ type: step, params: null })),
    })
    await stage.worker.runUntilIdle()
    const [first, second, third] = group.jobs
    expect.assert(first !== undefined && second !== undefined && third !== undefined)
    expect(await stage.why(second)).toMatchObject({
      summary: `Queued: waits for its turn in the sequential group ${group.groupId}: job ${first.jobId} (step), which is RUNNING.`,
      reasons: [{ code: 'group_order', groupId: group.groupId, jobId: first.jobId, status: 'RUNNING' }],
    })
    expect((await stage.reason(third, 'group_order')).message).toMatch(
      /which is QUEUED and waits for its turn in the group\.$/,
    )
    gate.open()
    await group.settled()
  })

  test('that the body of its earlier attempt still holds its place', async () => {
    const gate = newGate()
    const deaf = defineJob({
      type: 'deaf',
      timeoutMs: 1_000,
      run: ({ attempt }) => (attempt === 1 ? gate.passed : null),
    })
    await using stage = await Stage.open([deaf], { concurrency: 2 })
    const job = await stage.scheduler.enqueue(deaf, null)
    await stage.worker.advance('30s')
    const retry = (await stage.scheduler.getChain(job.jobId)).items[1]
    expect.assert(retry !== undefined)
    const runId = await stage.runIdOf(job)
    expect(await stage.why(retry)).toMatchObject({ state: 'QUEUED', queueRank: null })
    expect(await stage.reason(retry, 'predecessor_executing')).toEqual({
      code: 'predecessor_executing',
      message: `The body of its earlier attempt still holds its place: run ${runId} of job ${job.jobId} (deaf) has been executing for 30 s on node attic, where its code has not ended although its outcome is known.`,
      runId,
      reservationId: null,
      jobId: job.jobId,
      nodeId: stage.scheduler.nodeId,
      nodeName: 'attic',
      startedAt: stage.clock.now() - 30_000,
    })
    // The attempt that failed knows both: what followed, and that its code goes on.
    expect(await stage.codes(job)).toEqual(['failed', 'retry_follows', 'body_still_executing'])
    gate.open()
    await job.settled()
  })
})

// Orders to many members are carried out in pages by a node. Here there is none, so that they stay under way.
describe('a member that an order to its group has not reached yet is told', () => {
  const step = defineJob({ type: 'step', run: () => null })
  const members = Array.from({ length: 300 }, () => ({ type: step, params: null }))

  test('that the group is cancelled', async () => {
    const store = newSharedStore()
    const clock = new SettableClock()
    await using scheduler = await openScheduler({ store, clock, jobs: [step] })
    const group = await scheduler.groups.create({ jobs: members })
    await group.cancel({ reason: 'enough' })
    const last = group.jobs[299]
    expect.assert(last !== undefined)
    expect((await scheduler.why(last.jobId)).reasons[0]).toEqual({
      code: 'cancel_requested',
      message: `Its group ${group.groupId} is being cancelled since 2026-01-01T00:00:00.000Z (enough): its turn comes in a moment.`,
      cancelRequestedAt: Date.UTC(2026, 0, 1),
      mode: 'graceful',
      reason: 'enough',
      groupId: group.groupId,
    })
    await using stage = await Stage.open([step], { store, clock })
    await stage.worker.runUntilIdle()
    expect(await stage.why(last)).toMatchObject({
      state: 'CANCELLED',
      reasons: [{ code: 'cancelled', groupId: group.groupId }, {}],
    })
  })

  test('that the group is stopped', async () => {
    await using scheduler = await openScheduler({ store: newSharedStore(), clock: new SettableClock(), jobs: [step] })
    const group = await scheduler.groups.create({ jobs: members })
    await scheduler.cancel(group.jobs[0]?.jobId ?? '')
    const last = group.jobs[299]
    expect.assert(last !== undefined)
    expect((await scheduler.why(last.jobId)).reasons[0]).toEqual({
      code: 'group_stopped',
      message: `Its group ${group.groupId} is being stopped (predecessor failed: job ${group.jobs[0]?.jobId} ended CANCELLED): it is cancelled in a moment.`,
      groupId: group.groupId,
      jobId: null,
    })
  })
})
