import { describe, expect, test } from 'vitest'
import { predecessorFailedReason } from '../../src/domain/group.ts'
import { defineJob, NonRetryableError } from '../../src/index.ts'
import { newGate, Stage } from './stage.ts'

const failing = defineJob({ type: 'failing', run: () => Promise.reject(new Error('the ink\nran out')) })
const quick = defineJob({ type: 'quick', run: () => null })

describe('of a Job that has ended it is told', () => {
  test('that it completed', async () => {
    const slow = defineJob({ type: 'slow', run: () => gate.passed })
    const gate = newGate()
    await using stage = await Stage.open([slow])
    const job = await stage.scheduler.enqueue(slow, null)
    await stage.worker.advance('90s')
    gate.open()
    await job.settled()
    expect(await stage.why(job)).toEqual({
      jobId: job.jobId,
      state: 'FINISHED',
      summary:
        'Completed at 2026-01-01T00:01:30.000Z after 1 min 30 s on node attic; the chain has settled COMPLETED: nothing more follows by itself.',
      reasons: [
        {
          code: 'completed',
          message: 'Completed at 2026-01-01T00:01:30.000Z after 1 min 30 s on node attic.',
          runId: await stage.runIdOf(job),
          nodeId: stage.scheduler.nodeId,
          nodeName: 'attic',
          startedAt: Date.UTC(2026, 0, 1),
          finishedAt: Date.UTC(2026, 0, 1, 0, 1, 30),
        },
        {
          code: 'settled',
          message: 'The chain has settled COMPLETED: nothing more follows by itself.',
          chainId: job.jobId,
          jobId: job.jobId,
          outcome: 'COMPLETED',
          attempts: 1,
        },
      ],
      queueRank: null,
      queueRankText: null,
    })
  })

  test('why it failed, that a retry follows, and when the retries are used up', async () => {
    await using stage = await Stage.open([failing])
    const job = await stage.scheduler.enqueue(failing, null, { retry: { maxRetries: 1 } })
    await stage.worker.runUntilIdle()
    const [, retry] = (await stage.scheduler.getChain(job.jobId)).items
    expect.assert(retry !== undefined)

    expect(await stage.codes(job)).toEqual(['failed', 'retry_follows'])
    expect(await stage.reason(job, 'failed')).toMatchObject({
      message: 'Failed at 2026-01-01T00:00:00.000Z after 0 ms on node attic with reason `error`: the ink ran out.',
      reason: 'error',
      error: 'the ink\nran out',
    })
    expect(await stage.reason(job, 'retry_follows')).toEqual({
      code: 'retry_follows',
      message: `It was tried again: attempt 2 is job ${retry.jobId} (failing), which is QUEUED and delayed until 2026-01-01T00:00:10.000Z.`,
      jobId: retry.jobId,
      attempt: 2,
      status: 'QUEUED',
      hold: 'delayed',
      outcome: null,
      runAt: Date.UTC(2026, 0, 1, 0, 0, 10),
      byHand: false,
    })

    await stage.worker.advance('1m')
    expect(await stage.codes(job)).toEqual(['failed', 'retry_follows', 'settled'])
    expect((await stage.why(job)).summary).toMatch(/; it was tried again: attempt 2 is .* which ended FAILED\.$/)
    expect(await stage.codes(retry)).toEqual(['failed', 'retries_exhausted', 'settled'])
    expect(await stage.reason(retry, 'retries_exhausted')).toEqual({
      code: 'retries_exhausted',
      message: 'No retry follows: 1 of 1 after a failure were used.',
      retries: 1,
      max: 1,
    })
    expect(await stage.reason(retry, 'settled')).toMatchObject({
      message: 'The chain has settled FAILED after 2 attempts: nothing more follows by itself.',
      chainId: job.jobId,
      attempts: 2,
    })

    const { jobId } = await stage.scheduler.retry(retry.jobId)
    await stage.worker.runUntilIdle()
    expect(await stage.reason(retry, 'retry_follows')).toMatchObject({
      message: expect.stringMatching(/^Somebody had it tried again: attempt 3 is job /),
      jobId,
      byHand: true,
    })
  })

  test('that no retry was allowed', async () => {
    await using stage = await Stage.open([failing])
    const job = await stage.scheduler.enqueue(failing, null, { retry: { maxRetries: 0 } })
    await stage.worker.runUntilIdle()
    expect(await stage.reason(job, 'retries_exhausted')).toMatchObject({
      message: 'No retry follows: none after a failure is allowed.',
      retries: 0,
      max: 0,
    })
  })

  test('that trying again cannot help', async () => {
    const hopeless = defineJob({ type: 'hopeless', run: () => Promise.reject(new NonRetryableError('no such file')) })
    const endless = defineJob({ type: 'endless', run: () => 'x'.repeat(300_000) })
    await using stage = await Stage.open([hopeless, endless])
    const [vetoed, large] = await stage.scheduler.enqueueMany([
      { type: hopeless, params: null },
      { type: endless, params: null },
    ])
    await stage.worker.runUntilIdle()
    expect(await stage.reason(vetoed, 'not_retryable')).toEqual({
      code: 'not_retryable',
      message: 'No retry follows, though some were left: the handler or its type said that trying again cannot help.',
      reason: 'error',
    })
    expect(await stage.reason(large, 'not_retryable')).toEqual({
      code: 'not_retryable',
      message: 'No retry follows: after `result-too-large` trying again cannot help.',
      reason: 'result-too-large',
    })
  })

  test('that no retry follows because somebody asked to cancel it', async () => {
    const gate = newGate()
    const work = defineJob({
      type: 'work',
      run: async () => {
        await gate.passed
        throw new Error('late')
      },
    })
    await using stage = await Stage.open([work])
    const job = await stage.scheduler.enqueue(work, null)
    await stage.worker.runUntilIdle()
    await job.cancel()
    gate.open()
    await stage.worker.runUntilIdle()
    expect(await stage.codes(job)).toEqual(['failed', 'cancel_requested', 'settled'])
    expect((await stage.reason(job, 'cancel_requested')).message).toBe(
      'No retry follows: somebody asked at 2026-01-01T00:00:00.000Z to cancel it.',
    )
  })

  test('that it was skipped', async () => {
    const work = defineJob({ type: 'work', run: ({ skip }) => skip('nothing new') })
    await using stage = await Stage.open([work])
    const job = await stage.scheduler.enqueue(work, null)
    await stage.worker.runUntilIdle()
    expect(await stage.codes(job)).toEqual(['skipped', 'settled'])
    expect(await stage.reason(job, 'skipped')).toMatchObject({
      message: 'Skipped at 2026-01-01T00:00:00.000Z: nothing new.',
      reason: 'nothing new',
    })
  })

  test('that it was cancelled: before it started, or while it ran', async () => {
    const listening = defineJob({
      type: 'listening',
      run: ({ signal }) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
    })
    await using stage = await Stage.open([listening])
    const [running, waiting] = await stage.scheduler.enqueueMany([
      { type: listening, params: null },
      { type: listening, params: null },
    ])
    await stage.worker.runUntilIdle()
    await waiting.cancel({ reason: 'not needed' })
    expect(await stage.why(waiting)).toMatchObject({
      state: 'CANCELLED',
      reasons: [
        {
          code: 'cancelled',
          message: 'Cancelled at 2026-01-01T00:00:00.000Z before it started (not needed).',
          mode: 'graceful',
          reason: 'not needed',
          runId: null,
          groupId: null,
          finishedAt: Date.UTC(2026, 0, 1),
        },
        { code: 'settled', outcome: 'CANCELLED' },
      ],
    })
    await running.cancel({ mode: 'abort' })
    await stage.worker.advance('2s')
    expect(await stage.reason(running, 'cancelled')).toMatchObject({
      message: 'Cancelled at 2026-01-01T00:00:00.000Z while it ran on node attic: its body was aborted.',
      mode: 'abort',
      runId: await stage.runIdOf(running),
    })
  })

  test('that its code still executes after its timeout', async () => {
    const gate = newGate()
    const deaf = defineJob({ type: 'deaf', timeoutMs: 1_000, retry: { maxRetries: 0 }, run: () => gate.passed })
    await using stage = await Stage.open([deaf])
    const job = await stage.scheduler.enqueue(deaf, null)
    await stage.worker.advance('10s')
    expect(await stage.codes(job)).toEqual(['failed', 'retries_exhausted', 'body_still_executing', 'settled'])
    const runId = await stage.runIdOf(job)
    expect(await stage.reason(job, 'body_still_executing')).toMatchObject({
      message: `Its code has not ended and still holds its place and its permits: run ${runId} of job ${job.jobId} (deaf) has been executing for 10 s on node attic.`,
      runId,
      nodeName: 'attic',
    })
    gate.open()
    await stage.worker.runUntilIdle()
    expect(await stage.codes(job)).toEqual(['failed', 'retries_exhausted', 'settled'])
  })
})

describe('of Jobs that depend on each other it is told', () => {
  test('for which parent one was cancelled, and what became of the dependents of the other', async () => {
    await using stage = await Stage.open([failing, quick])
    const parent = await stage.scheduler.enqueue(failing, null, { retry: { maxRetries: 0 } })
    const dependsOn = [parent.jobId]
    const [child, patient, careless] = await stage.scheduler.enqueueMany([
      { type: quick, params: null, dependsOn },
      { type: quick, params: null, dependsOn, onParentFailure: 'wait' },
      { type: quick, params: null, dependsOn, onParentFailure: 'run' },
    ])
    await stage.worker.runUntilIdle()

    expect(await stage.codes(child)).toEqual(['cancelled', 'cancelled_for_parent', 'settled'])
    expect(await stage.reason(child, 'cancelled_for_parent')).toEqual({
      code: 'cancelled_for_parent',
      message: `It was not to run without its parent: job ${parent.jobId} (failing), which ended FAILED.`,
      parentId: parent.jobId,
      jobId: parent.jobId,
      type: 'failing',
      status: 'FINISHED',
      outcome: 'FAILED',
    })
    expect(await stage.codes(parent)).toEqual(['failed', 'retries_exhausted', 'dependents', 'settled'])
    const reason = await stage.reason(parent, 'dependents')
    expect(reason).toMatchObject({
      message: 'Of the jobs that depend on it: 1 released, 1 cancelled, 1 still waiting.',
      waiting: 1,
      released: 1,
      cancelled: 1,
    })
    expect(new Map(reason.jobs.map(({ jobId, status }) => [jobId, status]))).toEqual(
      new Map([
        [child.jobId, 'CANCELLED'],
        [patient.jobId, 'QUEUED'],
        [careless.jobId, 'FINISHED'],
      ]),
    )
  })

  test('which member stopped the group', async () => {
    await using stage = await Stage.open([failing, quick])
    for (const onFailure of ['stop', 'skip'] as const) {
      const group = await stage.scheduler.groups.create({
        mode: 'sequential',
        onFailure,
        jobs: [
          { type: failing, params: null, retry: { maxRetries: 0 } },
          { type: quick, params: null },
        ],
      })
      await stage.worker.runUntilIdle()
      const [first, second] = group.jobs
      expect.assert(first !== undefined && second !== undefined)
      const ended = onFailure === 'stop' ? 'cancelled' : 'skipped'
      expect(await stage.codes(second)).toEqual([ended, 'group_stopped', 'settled'])
      expect(await stage.reason(second, 'group_stopped')).toEqual({
        code: 'group_stopped',
        message: `Job ${first.jobId} of its group ${group.groupId} did not succeed, so the members that had not started were stopped.`,
        groupId: group.groupId,
        jobId: first.jobId,
      })
      // The words are read back from the history, so they must be the words that are written there.
      const reason = predecessorFailedReason(first.jobId, 'FAILED')
      expect(await stage.reason(second, ended)).toMatchObject({ reason })
    }
  })
})

test('a Job that does not exist is refused by name', async () => {
  await using stage = await Stage.open([quick])
  await expect(stage.scheduler.why('nobody')).rejects.toMatchObject({ code: 'job_not_found' })
})
