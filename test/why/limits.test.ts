import { describe, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { newGate, Stage } from './stage.ts'

// Bodies hold permits and places for real: each waits at a gate until the test lets it go.

describe('a Job that waits for a limit is told', () => {
  test('which resource, how much of it is taken, and by whom since when', async () => {
    const gate = newGate()
    const story = defineJob({ type: 'story', resources: ['model'], run: () => gate.passed })
    await using stage = await Stage.open([story], { concurrency: 4, resources: { model: 1 } })
    const first = await stage.scheduler.enqueue(story, null)
    await stage.worker.runUntilIdle()
    const second = await stage.scheduler.enqueue(story, null)
    await stage.worker.advance('42s')

    const why = await stage.why(second)
    const runId = await stage.runIdOf(first)
    const held = `run ${runId} of job ${first.jobId} (story) has held it for 42 s on node attic`
    expect(why).toEqual({
      jobId: second.jobId,
      state: 'QUEUED',
      summary: `Queued: waits for resource \`model\` (1 of 1 taken): ${held}.`,
      reasons: [
        {
          code: 'resource_limit',
          message: `Waits for resource \`model\` (1 of 1 taken): ${held}.`,
          name: 'resource:model',
          max: 1,
          taken: 1,
          holders: [
            {
              runId,
              reservationId: null,
              jobId: first.jobId,
              type: 'story',
              nodeId: stage.scheduler.nodeId,
              nodeName: 'attic',
              nodeAlive: true,
              startedAt: stage.clock.now() - 42_000,
              hasEnded: false,
            },
          ],
        },
      ],
      queueRank: 1,
      queueRankText: '1',
    })

    gate.open()
    await second.settled()
    expect(await stage.codes(second)).toEqual(['completed', 'settled'])
  })

  test('that a direct execution holds the resource', async () => {
    const gate = newGate()
    const story = defineJob({ type: 'story', resources: ['model'], run: () => gate.passed })
    await using stage = await Stage.open([story], { concurrency: 4, resources: { model: 1 } })
    const direct = stage.scheduler.runDirect(story, null)
    await stage.worker.runUntilIdle()
    const job = await stage.scheduler.enqueue(story, null)
    await stage.worker.runUntilIdle()

    const reason = await stage.reason(job, 'resource_limit')
    const [reservationId] = stage.scheduler.executingDirect
    expect(reason.holders).toMatchObject([{ runId: null, jobId: null, reservationId, type: 'story' }])
    expect(reason.message).toContain(`direct execution ${reservationId} (story) has held it for 0 ms on node attic`)
    gate.open()
    await direct
  })

  test('that a resource nobody gave a limit is exclusive', async () => {
    const gate = newGate()
    const print = defineJob({ type: 'print', resources: ['printer'], run: () => gate.passed })
    await using stage = await Stage.open([print], { concurrency: 4, resources: { printer: 1 } })
    await stage.scheduler.setLimit('resource:printer', null)
    await stage.scheduler.enqueue(print, null)
    await stage.worker.runUntilIdle()
    const job = await stage.scheduler.enqueue(print, null)
    expect(await stage.reason(job, 'resource_limit')).toMatchObject({ name: 'resource:printer', max: 1, taken: 1 })
    gate.open()
  })

  test('that a body whose timeout has passed still holds the resource', async () => {
    const gate = newGate()
    const deaf = defineJob({
      type: 'deaf',
      resources: ['model'],
      timeoutMs: 1_000,
      retry: { maxRetries: 0 },
      run: () => gate.passed,
    })
    await using stage = await Stage.open([deaf], { concurrency: 4, resources: { model: 1 } })
    const first = await stage.scheduler.enqueue(deaf, null)
    await stage.worker.advance('2s')
    const second = await stage.scheduler.enqueue(deaf, null)
    const reason = await stage.reason(second, 'resource_limit')
    expect(reason.holders).toMatchObject([{ jobId: first.jobId, hasEnded: true }])
    expect(reason.message).toContain('on node attic, where its code has not ended although its outcome is known')
    gate.open()
  })

  test('that as many of its type run as may', async () => {
    const gate = newGate()
    const scan = defineJob({ type: 'scan', concurrency: 2, run: () => gate.passed })
    await using stage = await Stage.open([scan], { concurrency: 4 })
    const [a, b, c, d] = await stage.scheduler.enqueueMany([
      { type: scan, params: null },
      { type: scan, params: null },
      { type: scan, params: null },
      { type: scan, params: null, delayMs: 60_000 },
    ])
    await stage.worker.runUntilIdle()
    const reason = await stage.reason(c, 'type_limit')
    expect(reason).toMatchObject({
      name: 'type:scan',
      max: 2,
      taken: 2,
      holders: [{ jobId: a.jobId }, { jobId: b.jobId }],
    })
    expect(reason.message).toMatch(
      /^Waits for the limit of type `scan` \(2 of 2 taken\): run .*; run .* on node attic\.$/,
    )

    // Who will hold what it needs when its time comes, nobody knows.
    expect(await stage.codes(d)).toEqual(['delayed'])
    gate.open()
  })

  test('that the store is full', async () => {
    const gate = newGate()
    const work = defineJob({ type: 'work', run: () => gate.passed })
    await using stage = await Stage.open([work], { concurrency: 4, maxRunning: 1 })
    await stage.scheduler.enqueue(work, null)
    await stage.worker.runUntilIdle()
    const job = await stage.scheduler.enqueue(work, null)
    const reason = await stage.reason(job, 'running_limit')
    expect(reason).toMatchObject({ name: 'running', max: 1, taken: 1 })
    expect(reason.message).toMatch(/^Waits for the store's `maxRunning` \(1 of 1 taken\): run /)
    gate.open()
  })

  test('of no more than ten holders, and how many more there are', async () => {
    const gate = newGate()
    const work = defineJob({ type: 'work', resources: ['desk'], run: () => gate.passed })
    await using stage = await Stage.open([work], { concurrency: 20, resources: { desk: 12 } })
    await stage.scheduler.enqueueMany(Array.from({ length: 12 }, () => ({ type: work, params: null })))
    await stage.worker.runUntilIdle()
    const job = await stage.scheduler.enqueue(work, null)
    const reason = await stage.reason(job, 'resource_limit')
    expect(reason).toMatchObject({ max: 12, taken: 12 })
    expect(reason.holders).toHaveLength(10)
    expect(reason.message).toMatch(/; and 2 more\.$/)
    gate.open()
  })
})
