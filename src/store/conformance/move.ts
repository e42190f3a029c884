import assert from 'node:assert/strict'
import { jobVersion } from '../../domain/job.ts'
import type { MoveResult, MoveTarget } from '../jobs.ts'
import { HOUR, NOW, newId, newJob, newJobs } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

export function testMove({ test }: Kit): void {
  test('to the front and to the back', async (stage) => {
    const [a, b, c] = await enqueueThree(stage)
    await move(stage, c, { to: 'front' })
    assertSame(await stage.queue(), [c, a, b])
    await move(stage, a, { to: 'back' })
    assertSame(await stage.queue(), [c, b, a])
    await move(stage, b, { to: 'front' })
    assertSame(await stage.queue(), [b, c, a])
    assertSame(await stage.claimIds(), [b, c, a])
  })

  test('front and back are those of the Job’s own priority', async (stage) => {
    const [a, b] = await stage.enqueue([newJob(), newJob()])
    const [high, low] = await stage.enqueue([newJob({ priority: 1 }), newJob({ priority: -1 })])
    await move(stage, b, { to: 'front' })
    assertSame(await stage.queue(), [high, b, a, low])
    await move(stage, b, { to: 'back' })
    assertSame(await stage.queue(), [high, a, b, low])
  })

  test('before and after another Job', async (stage) => {
    const [a, b, c] = await enqueueThree(stage)
    await move(stage, c, { before: b })
    assertSame(await stage.queue(), [a, c, b])
    await move(stage, a, { after: c })
    assertSame(await stage.queue(), [c, a, b])
    await move(stage, b, { before: c })
    assertSame(await stage.queue(), [b, c, a])
    await move(stage, b, { after: a })
    assertSame(await stage.queue(), [c, a, b])
    assertSame(await stage.claimIds(), [c, a, b])
  })

  test('a move changes nothing but the place', async (stage) => {
    const [a, b, c] = await enqueueThree(stage)
    const before = await stage.job(c)
    const result = await move(stage, c, { before: a })
    const { position } = await stage.job(c)
    assertSame(result, { kind: 'moved', priority: 0, position })
    assertSame(await stage.job(c), { ...before, position })
    assertSame(await stage.queue(), [c, a, b])
  })

  test('next to a Job of another priority it takes that priority', async (stage) => {
    const [a, b, c] = await enqueueThree(stage)
    const [high] = await stage.enqueue([newJob({ priority: 5 })])
    const result = await move(stage, c, { after: high })
    assert.equal(result.kind === 'moved' && result.priority, 5)
    assert.equal((await stage.job(c)).priority, 5)
    assertSame(await stage.queue(), [high, c, a, b])
    await move(stage, c, { before: b })
    assert.equal((await stage.job(c)).priority, 0)
    assertSame(await stage.queue(), [high, a, c, b])
  })

  test('a delayed Job can be moved and stays delayed', async (stage) => {
    const [a, delayed] = await stage.enqueue([newJob(), newJob({ runAt: NOW + HOUR })])
    await move(stage, delayed, { to: 'front' })
    assertSame(await stage.queue(), [delayed, a])
    assertSame(await stage.claimIds({ limit: 1 }), [a])
    assert.equal((await stage.job(delayed)).hold, 'delayed')
  })

  test('any number of moves into the same gap finds room, or says so and finds it once normalised', async (stage) => {
    const [head, ...others] = await stage.enqueue([newJob(), ...newJobs(11)])
    let expected = [head, ...others]
    for (let round = 0; round < 60; round++) {
      const last = others[others.length - 1 - (round % others.length)] ?? head
      const target = { after: head }
      const result = await stage.store.moveJob({ jobId: last, target, now: NOW })
      if (result.kind === 'no-room') {
        await stage.store.normalisePositions(result.priority)
        await move(stage, last, target)
      }
      expected = [head, last, ...expected.filter((id) => id !== head && id !== last)]
      assertSame(await stage.queue(), expected)
    }
    assertSame(await stage.claimIds(), expected)
  })

  test('with a version it moves only what is still so', async (stage) => {
    const [a, b] = await stage.enqueue([newJob(), newJob()])
    const expected = jobVersion(await stage.job(b))
    const request = { jobId: b, target: { to: 'front' }, expected, now: NOW } as const
    assert.equal((await stage.store.moveJob(request)).kind, 'moved')
    assertSame(await stage.queue(), [b, a])
    const back = { ...request, target: { to: 'back' } } as const
    assertSame(await stage.changesNothing(() => stage.store.moveJob(back)), { kind: 'stale' })
  })

  test('only a QUEUED Job moves', async (stage) => {
    const target = { to: 'front' } as const
    const running = await stage.start()
    const ended = await stage.start(newJob({ type: 'poem' }))
    await stage.finish(ended)
    const [cancelled] = await stage.enqueue([newJob(), newJob(), newJob()])
    await stage.cancel(cancelled)
    await refuses(stage, running.claim.jobId, target, { kind: 'not-queued', status: 'RUNNING' })
    await refuses(stage, ended.claim.jobId, target, { kind: 'not-queued', status: 'FINISHED' })
    await refuses(stage, cancelled, target, { kind: 'not-queued', status: 'CANCELLED' })
    await refuses(stage, newId(), target, { kind: 'not-found' })
  })

  test('only a QUEUED Job gets another priority', async (stage) => {
    const { jobId } = (await stage.start()).claim
    await stage.enqueue(newJobs(1))
    const again = (id: string) =>
      stage.changesNothing(() => stage.store.reprioritiseJob({ jobId: id, priority: 9, now: NOW }))
    assertSame(await again(jobId), { kind: 'not-queued', status: 'RUNNING' })
    assertSame(await again(newId()), { kind: 'not-found' })
  })

  test('a target that is not in the queue refuses the move', async (stage) => {
    const { jobId: running } = (await stage.start()).claim
    const [jobId] = await stage.enqueue([newJob(), newJob()])
    const unknown = newId()
    await refuses(stage, jobId, { before: running }, { kind: 'target-not-queued', jobId: running })
    await refuses(stage, jobId, { after: running }, { kind: 'target-not-queued', jobId: running })
    await refuses(stage, jobId, { after: unknown }, { kind: 'target-not-queued', jobId: unknown })
  })
}

async function enqueueThree(stage: Stage): Promise<[string, string, string]> {
  return stage.enqueue([newJob(), newJob(), newJob()])
}

async function move(stage: Stage, jobId: string, target: MoveTarget): Promise<MoveResult> {
  const result = await stage.store.moveJob({ jobId, target, now: NOW })
  assert.equal(result.kind, 'moved')
  return result
}

async function refuses(stage: Stage, jobId: string, target: MoveTarget, expected: MoveResult): Promise<void> {
  const result = await stage.changesNothing(() => stage.store.moveJob({ jobId, target, now: NOW }))
  assertSame(result, expected)
}
