import { describe, expect, test } from 'vitest'
import { defineJob, openScheduler } from '../../src/index.ts'
import { DOOR } from '../../src/library/door.ts'
import { newSharedStore } from '../stores/source-stores.ts'
import { newGate, Stage } from './stage.ts'

describe('a Job that waits for a place is told', () => {
  test('which Runs hold the places, and what comes before it', async () => {
    const gate = newGate()
    const work = defineJob({ type: 'work', run: () => gate.passed })
    await using stage = await Stage.open([work])
    const [running, next, last] = await stage.scheduler.enqueueMany([
      { type: work, params: null },
      { type: work, params: null, priority: 3 },
      { type: work, params: null },
    ])
    await stage.worker.runUntilIdle()
    await stage.worker.advance('5m')
    // The one of higher priority is the one that runs.
    const runId = await stage.runIdOf(next)

    const why = await stage.why(last)
    expect(why).toMatchObject({ queueRank: 2, queueRankText: '2' })
    expect(why.reasons).toEqual([
      {
        code: 'no_free_place',
        message: `No place is free on node attic (1 of 1 taken): run ${runId} of job ${next.jobId} (work) has been executing for 5 min on node attic.`,
        max: 1,
        taken: 1,
        nodes: [{ nodeId: stage.scheduler.nodeId, name: 'attic' }],
        holders: [expect.objectContaining({ runId, jobId: next.jobId })],
      },
      {
        code: 'jobs_ahead',
        message: `1 ready job comes before it in the queue; the next is job ${running.jobId} (work) with priority 0.`,
        count: 1,
        jobs: [{ jobId: running.jobId, type: 'work', priority: 0 }],
      },
    ])
    expect(await stage.codes(running)).toEqual(['no_free_place'])
    gate.open()
  })

  test('that no node handles its type', async () => {
    const work = defineJob({ type: 'work', run: () => null })
    const other = defineJob({ type: 'other', run: () => null })
    await using stage = await Stage.open([other])
    await using elsewhere = await openScheduler({ store: stage.store, jobs: [work], clock: stage.clock })
    const job = await elsewhere.enqueue(work, null)

    const why = await stage.why(job)
    expect(why).toMatchObject({ summary: 'Queued: no living node handles `work`.', queueRank: 1 })
    expect(why.reasons).toEqual([
      { code: 'no_node', message: 'No living node handles `work`.', type: 'work', dead: [] },
    ])
  })

  test('that the nodes which handle its type are stopped', async () => {
    const work = defineJob({ type: 'work', run: () => null })
    await using stage = await Stage.open([work])
    await stage.scheduler.stop()
    const [first, second] = await stage.scheduler.enqueueMany([
      { type: work, params: null },
      { type: work, params: null },
    ])
    expect(await stage.reason(first, 'nodes_stopped')).toEqual({
      code: 'nodes_stopped',
      message: 'No node that handles `work` claims: attic lives, but was not started or was stopped.',
      type: 'work',
      nodes: [{ nodeId: stage.scheduler.nodeId, name: 'attic' }],
    })
    expect(await stage.codes(second)).toEqual(['nodes_stopped', 'jobs_ahead'])
    await stage.scheduler.start()
    await second.settled()
  })

  test('that the node which handles its type is there, but was never started', async () => {
    const work = defineJob({ type: 'work', run: () => null })
    const store = newSharedStore()
    await using paused = await openScheduler({ store, jobs: [work], name: 'attic' })
    await using observer = await openScheduler({ store })
    const { jobId } = await paused.enqueue(work, null)
    expect((await observer.why(jobId)).reasons).toMatchObject([{ code: 'no_node' }])
    await paused[DOOR].node.join()
    for (const scheduler of [paused, observer]) {
      expect((await scheduler.why(jobId)).reasons).toMatchObject([
        { code: 'nodes_stopped', nodes: [{ nodeId: paused.nodeId, name: 'attic' }] },
      ])
    }
    await paused.start()
    expect((await paused.settled(jobId)).outcome).toBe('COMPLETED')
    await paused.close()
    expect(await observer.listNodes()).toEqual([])
  })

  test('that it is ready, when nothing keeps it', async () => {
    const work = defineJob({ type: 'work', run: () => null })
    // A node that is asked and never takes one keeps the moment before a claim.
    await using stage = await Stage.open([work], {
      concurrencyPolicy: { decideClaims: () => new Map() },
      concurrency: 2,
    })
    const [first, second, third] = await stage.scheduler.enqueueMany([
      { type: work, params: null },
      { type: work, params: null },
      { type: work, params: null },
    ])
    await stage.worker.runUntilIdle()
    const why = await stage.why(first)
    const message = 'It is ready and starts at the next claim of a node that handles its type.'
    expect(why).toEqual({
      jobId: first.jobId,
      state: 'QUEUED',
      summary: 'Queued: it is ready and starts at the next claim of a node that handles its type.',
      reasons: [{ code: 'ready', message }],
      queueRank: 1,
      queueRankText: '1',
    })
    expect(await stage.codes(second)).toEqual(['ready'])
    // Two places, and two before it.
    expect(await stage.codes(third)).toEqual(['jobs_ahead'])
  })

  test('nothing of Jobs before it that wait for a busy resource', async () => {
    const gate = newGate()
    const model = defineJob({ type: 'model', resources: ['model'], run: () => gate.passed })
    const quick = defineJob({ type: 'quick', run: () => null })
    await using stage = await Stage.open([model, quick], {
      concurrency: 2,
      resources: { model: 1 },
      // Takes one of the first type, and nothing else.
      concurrencyPolicy: { decideClaims: ({ executing }) => new Map(executing.size === 0 ? [['model', 1]] : []) },
    })
    await stage.scheduler.enqueue(model, null)
    await stage.worker.runUntilIdle()
    await stage.scheduler.enqueueMany(Array.from({ length: 5 }, () => ({ type: model, params: null })))
    const job = await stage.scheduler.enqueue(quick, null)
    expect(await stage.why(job)).toMatchObject({ queueRank: 6, reasons: [{ code: 'ready' }] })
    gate.open()
  })
})

describe('a Job that stands behind a direct execution is told', () => {
  test('whose ticket gets the next place', async () => {
    const gate = newGate()
    const work = defineJob({ type: 'work', run: () => gate.passed })
    await using stage = await Stage.open([work])
    await stage.scheduler.enqueue(work, null)
    await stage.worker.runUntilIdle()
    const job = await stage.scheduler.enqueue(work, null)
    const direct = stage.scheduler.runDirect(work, null, { createdBy: 'ada' })
    await stage.worker.advance('7s')

    expect(await stage.codes(job)).toEqual(['reservation_first', 'no_free_place'])
    const [reservation] = (await stage.scheduler.listReservations()).items
    const reason = await stage.reason(job, 'reservation_first')
    expect(reason).toEqual({
      code: 'reservation_first',
      message: `Direct executions are served first: ticket ${reservation?.reservationId} (work), asked for by ada, has waited for 7 s and gets the next free place.`,
      reservationId: reservation?.reservationId,
      type: 'work',
      createdBy: 'ada',
      callerNodeId: stage.scheduler.nodeId,
      callerName: 'attic',
      createdAt: stage.clock.now() - 7_000,
      name: null,
      count: 1,
    })
    gate.open()
    await direct
    await job.settled()
  })

  test('which permits a ticket holds back', async () => {
    const gate = newGate()
    const story = defineJob({ type: 'story', resources: ['model'], run: () => gate.passed })
    const poem = defineJob({ type: 'poem', resources: ['model'], run: () => gate.passed })
    await using stage = await Stage.open([story, poem], { concurrency: 4, resources: { model: 1 } })
    await stage.scheduler.enqueue(story, null)
    await stage.worker.runUntilIdle()
    const job = await stage.scheduler.enqueue(story, null)
    const directs = [stage.scheduler.runDirect(poem, null), stage.scheduler.runDirect(poem, null)]
    await stage.worker.runUntilIdle()

    expect(await stage.codes(job)).toEqual(['resource_limit', 'reservation_first'])
    const reason = await stage.reason(job, 'reservation_first')
    expect(reason).toMatchObject({ name: 'resource:model', type: 'poem', createdBy: null, count: 2 })
    expect(reason.message).toMatch(
      /asked for by node attic, has waited for 0 ms and gets the next permit of `resource:model`, then 1 more ticket\.$/,
    )
    gate.open()
    await Promise.all(directs)
  })

  test('nothing of a ticket that competes with it for nothing', async () => {
    const gate = newGate()
    const story = defineJob({ type: 'story', resources: ['model'], run: () => gate.passed })
    const quick = defineJob({ type: 'quick', run: () => gate.passed })
    await using stage = await Stage.open([story, quick], { concurrency: 2, resources: { model: 1 } })
    await stage.scheduler.enqueueMany([
      { type: story, params: null },
      { type: quick, params: null },
    ])
    await stage.worker.runUntilIdle()
    const job = await stage.scheduler.enqueue(quick, null)
    const direct = stage.scheduler.runDirect(story, null)
    await stage.worker.runUntilIdle()
    // The ticket waits for the model, so the next place is the Job's.
    expect(await stage.codes(job)).toEqual(['no_free_place'])
    gate.open()
    await direct
  })

  test('nothing of a ticket that lacks more than the permit to run at all', async () => {
    const gate = newGate()
    const story = defineJob({ type: 'story', resources: ['model'], run: () => gate.passed })
    const quick = defineJob({ type: 'quick', run: () => gate.passed })
    await using stage = await Stage.open([story, quick], {
      concurrency: 4,
      maxRunning: 2,
      resources: { model: 1 },
      // Takes one and no more.
      concurrencyPolicy: { decideClaims: ({ executing }) => new Map(executing.size === 0 ? [['story', 1]] : []) },
    })
    await stage.scheduler.enqueue(story, null)
    await stage.worker.runUntilIdle()
    const direct = stage.scheduler.runDirect(story, null)
    const job = await stage.scheduler.enqueue(quick, null)
    await stage.worker.runUntilIdle()
    // One of two may still run: the ticket cannot, for want of the model, so it is the Job's turn.
    expect(await stage.codes(job)).toEqual(['ready'])
    gate.open()
    await direct
  })
})
