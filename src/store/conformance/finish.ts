import assert from 'node:assert/strict'
import { RESULT_BYTES_MAX } from '../../domain/json.ts'
import type { ClaimedJob } from '../runs.ts'
import { completed, endOf, failed, NOW, newId, newJobs, SECOND, skipped } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

export function testFinish({ test, testReopened }: Kit): void {
  test('COMPLETED ends the Run and the Job and frees the place', async (stage) => {
    const job = await stage.start()
    const [before, running] = [await stage.job(job.claim.jobId), await stage.run(job.claim.runId)]
    const outcome = { ...completed({ pages: [1, { two: 'ü' }], done: true }), exitCode: 0 }
    const result = await stage.finish(job, { outcome, finishedAt: NOW + 7 * SECOND })
    assertSame(result, { kind: 'finished', retryJobId: null, followUps: [] })
    assertSame(await stage.job(job.claim.jobId), {
      ...before,
      status: 'FINISHED',
      outcome: 'COMPLETED',
      finishedAt: NOW + 7 * SECOND,
    })
    assertSame(await stage.run(job.claim.runId), {
      ...running,
      status: 'COMPLETED',
      finishedAt: NOW + 7 * SECOND,
      durationMs: 7 * SECOND,
      result: { pages: [1, { two: 'ü' }], done: true },
      exitCode: 0,
    })
    assertSame(await stage.occupants(), [])
  })

  test('FAILED keeps reason, error and stack', async (stage) => {
    const job = await stage.start()
    const [before, running] = [await stage.job(job.claim.jobId), await stage.run(job.claim.runId)]
    const outcome = { ...failed('result-too-large'), exitCode: 3 }
    assertSame(await stage.finish(job, { outcome }), { kind: 'finished', retryJobId: null, followUps: [] })
    assertSame(await stage.job(job.claim.jobId), {
      ...before,
      status: 'FINISHED',
      outcome: 'FAILED',
      finishedAt: NOW + SECOND,
    })
    const { error, stack, exitCode } = outcome
    assertSame(await stage.run(job.claim.runId), {
      ...running,
      status: 'FAILED',
      reason: 'result-too-large',
      finishedAt: NOW + SECOND,
      durationMs: SECOND,
      error,
      stack,
      exitCode,
    })
    assertSame(await stage.occupants(), [])
  })

  test('FAILED as `cancelled` makes the Job CANCELLED', async (stage) => {
    const job = await stage.start()
    const before = await stage.job(job.claim.jobId)
    await stage.finish(job, { outcome: failed('cancelled') })
    assertSame(await stage.job(job.claim.jobId), {
      ...before,
      status: 'CANCELLED',
      outcome: 'FAILED',
      finishedAt: NOW + SECOND,
    })
    const run = await stage.run(job.claim.runId)
    assert.equal(run.status, 'FAILED')
    assert.equal(run.reason, 'cancelled')
  })

  test('SKIPPED ends the Job without a failure', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: skipped('no news') })
    const { status, outcome } = await stage.job(job.claim.jobId)
    assertSame({ status, outcome }, { status: 'FINISHED', outcome: 'SKIPPED' })
    const run = await stage.run(job.claim.runId)
    assert.equal(run.status, 'SKIPPED')
    assert.equal(run.reason, null)
    assert.equal(run.result, null)
    assert.equal(run.finishedAt, NOW + SECOND)
  })

  test('each of a list is answered in its place', async (stage) => {
    const jobs = [await stage.start(), await stage.start(), await stage.start()] as const
    await stage.finish(jobs[1], { outcome: failed() })
    const results = await stage.store.finishRuns(
      jobs.map((job) => endOf(job)),
      newId,
    )
    assertSame(results, [
      { kind: 'finished', retryJobId: null, followUps: [] },
      { kind: 'already-finished', status: 'FAILED', reason: 'error' },
      { kind: 'finished', retryJobId: null, followUps: [] },
    ])
    for (const job of [jobs[0], jobs[2]]) assert.equal((await stage.run(job.claim.runId)).status, 'COMPLETED')
    assertSame(await stage.occupants(), [])
  })

  test('of a long list, those that had ended before keep their word, and the others end with theirs', async (stage) => {
    await stage.enqueue(newJobs(40))
    const jobs = await stage.claim()
    assert.equal(jobs.length, 40)
    const resultOf = (index: number) => (index % 3 === 0 ? null : `${index % 3}`)
    const [late, told] = [jobs[7] as ClaimedJob, jobs[23] as ClaimedJob]
    await stage.finish(late, { outcome: failed() })
    const ends = jobs.map((job, index) => endOf(job, { outcome: completed(resultOf(index)) }))
    // The same one twice, as after a lost reply.
    const results = await stage.store.finishRuns([...ends, endOf(told, { outcome: completed(resultOf(23)) })], newId)
    for (const [index, { kind }] of results.entries())
      assert.equal(kind, index === 7 ? 'already-finished' : 'finished', `number ${index}`)
    for (const [index, { claim }] of jobs.entries()) {
      const run = await stage.run(claim.runId)
      if (index === 7) assert.equal(run.status, 'FAILED')
      else assertSame([run.status, run.result], ['COMPLETED', resultOf(index)])
    }
    assertSame(await stage.occupants(), [])
  })

  test('many of those that started together end together, whatever their order, and nobody beside them', async (stage) => {
    await stage.enqueue(newJobs(30))
    const jobs = await stage.claim()
    const [before, others, after] = [jobs.slice(0, 5), jobs.slice(5, 25).reverse(), jobs.slice(25)]
    const results = await stage.store.finishRuns(
      others.map((job) => endOf(job)),
      newId,
    )
    assert.ok(results.every(({ kind }) => kind === 'finished'))
    for (const { claim } of others) assert.equal((await stage.run(claim.runId)).status, 'COMPLETED')
    for (const { claim } of [...before, ...after]) assert.equal((await stage.run(claim.runId)).status, null)
    assert.equal((await stage.occupants()).length, 10)
  })

  test('of many that started together, one that has ended before keeps its word', async (stage) => {
    await stage.enqueue(newJobs(20))
    const jobs = await stage.claim()
    const ended = jobs[12] as ClaimedJob
    await stage.finish(ended, { outcome: failed('timeout'), body: 'executing' })
    const results = await stage.store.finishRuns(
      jobs.map((job) => endOf(job)),
      newId,
    )
    for (const [index, { kind }] of results.entries())
      assert.equal(kind, index === 12 ? 'already-finished' : 'finished', `number ${index}`)
    assert.equal((await stage.run(ended.claim.runId)).status, 'FAILED')
    // Its body still executes: only its own end gives its place back.
    assert.equal((await stage.occupants()).length, 1)
  })

  test('concurrent finishes all count', async (stage) => {
    await stage.enqueue(newJobs(30))
    const jobs = await stage.claim()
    const results = await Promise.all(jobs.map((job) => stage.finish(job)))
    assert.ok(results.every(({ kind }) => kind === 'finished'))
    assertSame(await stage.occupants(), [])
    const { items } = await stage.store.listRuns({ limit: 100, status: 'COMPLETED' })
    assert.equal(items.length, 30)
  })

  test('an empty list ends nothing', async (stage) => {
    await stage.start()
    assertSame(await stage.changesNothing(() => stage.store.finishRuns([], newId)), [])
  })

  test('a result as large as allowed is kept', async (stage) => {
    const job = await stage.start()
    const text = 'ä'.repeat((RESULT_BYTES_MAX - 2) / 2)
    await stage.finish(job, { outcome: completed(text) })
    assert.equal((await stage.run(job.claim.runId)).result, text)
  })

  test('the result null is a result', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: completed(null) })
    const { status, result } = await stage.run(job.claim.runId)
    assertSame({ status, result }, { status: 'COMPLETED', result: null })
  })

  testReopened('what was finished is finished after the store was closed and opened again', async (stage, reopen) => {
    const job = await stage.start()
    await stage.finish(job)
    const [ended, run] = [await stage.job(job.claim.jobId), await stage.run(job.claim.runId)]
    const reopened = await reopen()
    assertSame(await reopened.job(job.claim.jobId), ended)
    assertSame(await reopened.run(job.claim.runId), run)
  })
}
