import { describe, expect, test } from 'vitest'
import { decideWhy } from '../../src/domain/why.ts'
import { defineJob } from '../../src/index.ts'
import { newGate, Stage } from './stage.ts'

describe('of a Job that runs it is told', () => {
  test('who ends it when its node is dead: a living node, or the next one that starts', async () => {
    const gate = newGate()
    const story = defineJob({ type: 'story', run: () => gate.passed })
    await using stage = await Stage.open([story])
    const { jobId } = await stage.scheduler.enqueue(story, null)
    await stage.worker.runUntilIdle()
    const store = await stage.store.open()
    const standing = await store.findStanding(jobId, stage.clock.now())
    await store.close()
    if (standing === null) throw new Error('There is no such Job.')
    const dead = new Set([stage.scheduler.nodeId])
    const summaryWhen = (isAnyNodeAlive: boolean) => decideWhy(standing, { now: 0, dead, isAnyNodeAlive }).summary
    expect(summaryWhen(true)).toMatch(
      /node attic is dead: a living node is about to end the run with reason `crash`\.$/,
    )
    expect(summaryWhen(false)).toMatch(/node attic is dead: no node is alive, .* as soon as one starts, .*\.$/)
    gate.open()
  })

  test('where, since when, how far it is, and when its time is over', async () => {
    const gate = newGate()
    const story = defineJob({
      type: 'story',
      timeoutMs: 300_000,
      run: ({ progress }) => {
        progress(0.4, 'chapter 2\nof 5')
        return gate.passed
      },
    })
    await using stage = await Stage.open([story])
    const job = await stage.scheduler.enqueue(story, null)
    await stage.worker.advance('65s')
    const runId = await stage.runIdOf(job)
    const message =
      'Running on node attic for 1 min 5 s, 40 % done (chapter 2 of 5), its timeout is at 2026-01-01T00:05:00.000Z.'
    expect(await job.why()).toEqual(await stage.why(job))
    expect(await stage.why(job)).toEqual({
      jobId: job.jobId,
      state: 'RUNNING',
      summary: message,
      reasons: [
        {
          code: 'running',
          message,
          runId,
          nodeId: stage.scheduler.nodeId,
          nodeName: 'attic',
          startedAt: Date.UTC(2026, 0, 1),
          timeoutAt: Date.UTC(2026, 0, 1, 0, 5),
          progress: 0.4,
          progressMessage: 'chapter 2\nof 5',
        },
      ],
      queueRank: null,
      queueRankText: null,
    })
    gate.open()
  })

  test('that somebody wants it to end, and how', async () => {
    const gate = newGate()
    const deaf = defineJob({ type: 'deaf', run: () => gate.passed })
    await using stage = await Stage.open([deaf])
    const job = await stage.scheduler.enqueue(deaf, null)
    await stage.worker.runUntilIdle()
    await job.cancel({ reason: 'wrong genre' })

    expect(await stage.codes(job)).toEqual(['running', 'cancel_requested'])
    expect(await stage.reason(job, 'cancel_requested')).toEqual({
      code: 'cancel_requested',
      message:
        'Somebody asked at 2026-01-01T00:00:00.000Z to cancel it (wrong genre): its body may end, and no retry follows.',
      cancelRequestedAt: Date.UTC(2026, 0, 1),
      mode: 'graceful',
      reason: 'wrong genre',
      groupId: null,
    })
    expect((await stage.why(job)).summary).toBe(
      'Running on node attic for 0 ms; somebody asked at 2026-01-01T00:00:00.000Z to cancel it (wrong genre): its body may end, and no retry follows.',
    )
    gate.open()
    await stage.worker.runUntilIdle()
    // The wish came too late to matter: its true outcome stands.
    expect(await stage.codes(job)).toEqual(['completed', 'settled'])
  })
})
