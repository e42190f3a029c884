import assert from 'node:assert/strict'
import { jobVersion } from '../../domain/job.ts'
import type { TransitionKind } from '../events.ts'
import type { EditResult, JobEdit } from '../jobs.ts'
import { failed, HOUR, NOW, newId, newJob, newJobs, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

export function testEdit({ test, testShared }: Kit): void {
  test('another priority puts it last there, and changes nothing else', async (stage) => {
    const [a, b, c] = await stage.enqueue([newJob(), newJob(), newJob({ priority: 5 })])
    const before = await stage.job(a)
    await edit(stage, a, { priority: 5 })
    const { position } = await stage.job(a)
    assertSame(await stage.job(a), { ...before, priority: 5, position })
    assertSame(await stage.queue(), [c, a, b])
    assertSame(await stage.claimIds(), [c, a, b])
  })

  test('other params are those it is executed with', async (stage) => {
    const [jobId] = await stage.enqueue([newJob()])
    const before = await stage.job(jobId)
    await edit(stage, jobId, { params: '{"genre":"gothic","pages":[1,2]}' })
    const params = { genre: 'gothic', pages: [1, 2] }
    assertSame(await stage.job(jobId), { ...before, params })
    const claimed = await stage.claimOne()
    assertSame(JSON.parse(claimed.params), params)
    assertSame((await stage.run(claimed.claim.runId)).paramsSnapshot, params)
  })

  test('a later instant delays a Job that was ready, until then', async (stage) => {
    const [jobId, next] = await stage.enqueue([newJob(), newJob()])
    await edit(stage, jobId, { runAt: NOW + HOUR })
    const { runAt, hold } = await stage.job(jobId)
    assertSame({ runAt, hold }, { runAt: NOW + HOUR, hold: 'delayed' })
    assertSame(await stage.claimIds(), [next])
    assert.equal(await stage.store.nextDueAt(), NOW + HOUR)
    assertSame(await stage.claimIds({ now: NOW + HOUR - 1 }), [])
    assertSame(await stage.claimIds({ now: NOW + HOUR }), [jobId])
  })

  test('null makes a delayed Job due now, and one that was due keeps the instant since which it waits', async (stage) => {
    const [delayed, due] = await stage.enqueue([newJob({ runAt: NOW + HOUR }), newJob({ runAt: NOW - HOUR })])
    for (const jobId of [delayed, due]) await edit(stage, jobId, { runAt: null }, NOW + 1)
    assert.equal((await stage.job(delayed)).runAt, NOW + 1)
    assert.equal((await stage.job(due)).runAt, NOW - HOUR)
    assert.equal(await stage.store.nextDueAt(), null)
    assertSame(await stage.claimIds({ now: NOW + 1 }), [delayed, due])
  })

  test('an instant can be brought forward and put off', async (stage) => {
    const [jobId] = await stage.enqueue([newJob({ runAt: NOW + HOUR })])
    await edit(stage, jobId, { runAt: NOW + SECOND })
    assert.equal(await stage.store.nextDueAt(), NOW + SECOND)
    await edit(stage, jobId, { runAt: NOW + 2 * HOUR })
    assert.equal(await stage.store.nextDueAt(), NOW + 2 * HOUR)
    assertSame(await stage.claimIds({ now: NOW + HOUR }), [])
    await edit(stage, jobId, { runAt: NOW - 1 })
    assertSame(await stage.claimIds(), [jobId])
  })

  test('all of it changes at once', async (stage) => {
    const [a, b] = await stage.enqueue([newJob({ runAt: NOW + HOUR }), newJob({ priority: 2 })])
    await edit(stage, a, { priority: 2, params: '"new"', runAt: null })
    const { priority, params, runAt, hold } = await stage.job(a)
    assertSame({ priority, params, runAt, hold }, { priority: 2, params: 'new', runAt: NOW, hold: null })
    assertSame(await stage.claimIds(), [b, a])
  })

  test('what waits for a parent waits on, with the new instant', async (stage) => {
    const [parent] = await stage.enqueue([newJob()])
    const [child] = await stage.enqueue([newJob({ dependsOn: [parent], runAt: NOW + HOUR })])
    await edit(stage, child, { priority: 3, runAt: null, params: '1' })
    assert.equal((await stage.job(child)).hold, 'dependencies')
    assert.equal(await stage.store.nextDueAt(), null)
    const claimed = await stage.claimOne()
    assert.equal(claimed.claim.jobId, parent)
    await stage.finish(claimed)
    assertSame(await stage.claimIds(), [child])
  })

  test('what waits for its predecessor waits on', async (stage) => {
    const job = await stage.start()
    const retry = newRetry({ runAt: NOW + HOUR })
    await stage.finish(job, { outcome: failed('timeout'), retry, body: 'executing' })
    await edit(stage, retry.jobId, { priority: 3, runAt: null })
    assert.equal((await stage.job(retry.jobId)).hold, 'predecessor')
    assertSame(await stage.claimIds(), [])
    await stage.release(job.claim)
    assertSame(await stage.claimIds({ now: NOW + 1 }), [retry.jobId])
  })

  test('a retry has params of its own then, and those of the Run before stay', async (stage) => {
    const job = await stage.start(newJob({ params: '{"n":1}' }))
    const retry = newRetry({ runAt: NOW })
    await stage.finish(job, { outcome: failed(), retry })
    await edit(stage, retry.jobId, { params: '{"n":2}' })
    const second = await stage.claimOne({ now: NOW + SECOND })
    const third = newRetry({ runAt: NOW })
    await stage.finish(second, { outcome: failed(), retry: third })
    assertSame((await stage.run(job.claim.runId)).paramsSnapshot, { n: 1 })
    assertSame((await stage.run(second.claim.runId)).paramsSnapshot, { n: 2 })
    assertSame((await stage.job(third.jobId)).params, { n: 2 })
  })

  test('its idempotency key goes on meaning the first request', async (stage) => {
    const idempotency = { key: 'k', fingerprint: 'of the first params' }
    const [jobId] = await stage.enqueue([newJob({ idempotency })])
    await edit(stage, jobId, { params: '"other"' })
    const same = await stage.store.enqueueJobs([newJob({ idempotency })], NOW)
    assertSame(same, { kind: 'enqueued', items: [{ kind: 'existing', jobId, pruned: false }] })
    const other = await stage.store.enqueueJobs([newJob({ idempotency: { key: 'k', fingerprint: 'x' } })], NOW)
    assert.equal(other.kind, 'refused')
  })

  test('an edit that says what is so already changes nothing', async (stage) => {
    const job = newJob({ runAt: NOW + HOUR, priority: 3 })
    await stage.enqueue([job, newJob({ priority: 3 })])
    const same = { priority: 3, params: job.params, runAt: NOW + HOUR }
    assertSame(await stage.changesNothing(() => ask(stage, job.jobId, same)), { kind: 'edited' })
  })

  test('only a QUEUED Job can be edited', async (stage) => {
    const running = (await stage.start()).claim.jobId
    const ended = await stage.start(newJob({ type: 'poem' }))
    await stage.finish(ended)
    const [cancelled] = await stage.enqueue([newJob()])
    await stage.cancel(cancelled)
    await refuses(stage, running, { kind: 'not-queued', status: 'RUNNING' })
    await refuses(stage, ended.claim.jobId, { kind: 'not-queued', status: 'FINISHED' })
    await refuses(stage, cancelled, { kind: 'not-queued', status: 'CANCELLED' })
    await refuses(stage, newId(), { kind: 'not-found' })
  })

  test('with a version it changes only what is still so', async (stage) => {
    const [jobId, other] = await stage.enqueue([newJob({ params: '{"b":1,"a":{"d":[],"c":null}}' }), newJob()])
    const version = jobVersion(await stage.job(jobId))
    assert.equal(version, jobVersion(await stage.job(jobId, NOW + HOUR)), 'time does not change a version')
    await stage.store.moveJob({ jobId, target: { after: other }, now: NOW })
    assertSame(await stage.changesNothing(() => ask(stage, jobId, { priority: 1 }, version)), { kind: 'stale' })
    const present = jobVersion(await stage.job(jobId))
    assertSame(await ask(stage, jobId, { priority: 1 }, present), { kind: 'edited' })
    assertSame(await stage.changesNothing(() => ask(stage, jobId, { params: '2' }, present)), { kind: 'stale' })
    await stage.claim()
    const late = await stage.changesNothing(() => ask(stage, jobId, { params: '2' }, present))
    assertSame(late, { kind: 'not-queued', status: 'RUNNING' })
  })

  test('each edit is told by one event: a mere change of place is a move', async (stage) => {
    const cases: readonly (readonly [JobEdit, TransitionKind | null])[] = [
      [{ priority: 4 }, 'job.moved'],
      [{ params: '1' }, 'job.edited'],
      [{ runAt: NOW + HOUR }, 'job.edited'],
      [{ priority: 5, params: '2', runAt: null }, 'job.edited'],
      [{ priority: 5 }, null],
    ]
    const [jobId] = await stage.enqueue([newJob()])
    for (const [index, [change, kind]] of cases.entries()) {
      const seq = await stage.lastEventSeq()
      const at = NOW + index
      await edit(stage, jobId, change, at)
      const rows = await stage.readEvents(seq, 10)
      const step = { kind, jobId, runId: null, chainId: jobId, type: 'story', status: 'QUEUED' }
      const expected = kind === null ? [] : [{ ...step, outcome: null, reason: null, attempt: 1, at }]
      assertSame(
        rows.flatMap(({ transitions }) => transitions),
        expected,
      )
    }
  })

  test('edits keep the order in which they were acknowledged', async (stage) => {
    const jobs = newJobs(5)
    await stage.enqueue(jobs)
    const ids = jobs.map(({ jobId }) => jobId).toReversed()
    for (const jobId of ids) await edit(stage, jobId, { priority: 1 })
    assertSame(await stage.queue(), ids)
  })

  testShared('an edit and a claim of the same Job: one of them comes first', async (stage, other) => {
    const jobs = newJobs(20)
    await stage.enqueue(jobs)
    const [claimed, answers] = await Promise.all([
      Promise.all(jobs.map(() => stage.claim({ limit: 1 }))),
      Promise.all(jobs.map(({ jobId }) => ask(other, jobId, { params: '"edited"' }))),
    ])
    // A store may pass over what somebody changes at that moment: it is claimed afterwards.
    const passedOver = await stage.claim()
    const started = new Map([...claimed.flat(), ...passedOver].map((job) => [job.claim.jobId, job]))
    assert.equal(started.size, 20)
    for (const [index, { jobId }] of jobs.entries()) {
      const answer = answers[index]
      const job = started.get(jobId)
      assert.ok(job && (answer?.kind === 'edited' || answer?.kind === 'not-queued'))
      const { paramsSnapshot } = await stage.run(job.claim.runId)
      assertSame(paramsSnapshot, answer.kind === 'edited' ? 'edited' : { genre: 'horror' })
      assertSame(JSON.parse(job.params), paramsSnapshot)
    }
  })

  testShared('of edits from the same version one succeeds, whoever asks', async (stage, other) => {
    const [jobId] = await stage.enqueue([newJob()])
    const version = jobVersion(await stage.job(jobId))
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => ask(n % 2 ? stage : other, jobId, { params: `${n}` }, version)),
    )
    const winner = answers.findIndex(({ kind }) => kind === 'edited')
    assertSame(answers.filter(({ kind }) => kind === 'stale').length, 9)
    assertSame((await stage.job(jobId)).params, winner)
  })
}

function ask(
  stage: Stage,
  jobId: string,
  change: JobEdit,
  expected: string | null = null,
  now = NOW,
): Promise<EditResult> {
  return stage.store.editJob({ jobId, edit: change, expected, now })
}

async function edit(stage: Stage, jobId: string, change: JobEdit, now = NOW): Promise<void> {
  assertSame(await ask(stage, jobId, change, null, now), { kind: 'edited' })
}

async function refuses(stage: Stage, jobId: string, expected: EditResult): Promise<void> {
  const change = { priority: 9, params: '"other"', runAt: NOW + HOUR }
  assertSame(await stage.changesNothing(() => ask(stage, jobId, change)), expected)
}
