import assert from 'node:assert/strict'
import {
  childOf,
  LATER,
  lastOf,
  retried,
  retryByHand,
  settle,
  settled,
  startsLater,
  statesOf,
} from './composition-steps.ts'
import { failed, HOUR, NOW, newJob, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

/** What else can happen to a Job while it waits for its parents, and to its parents meanwhile. */
export function testWaitingJobs({ test }: Kit): void {
  test('a released Job that is delayed starts when it is due, and not before', async (stage) => {
    const parent = await stage.start()
    const [childId] = await stage.enqueue([childOf([parent.claim.jobId], 'cancel', { runAt: NOW + HOUR })])
    assertSame(await statesOf(stage, [childId]), ['QUEUED dependencies'])
    assert.equal(await stage.store.nextDueAt(), null)
    await settle(stage, parent, 'COMPLETED')
    assertSame(await statesOf(stage, [childId]), ['QUEUED delayed'])
    assert.equal(await stage.store.nextDueAt(), NOW + HOUR)
    assertSame(await stage.claim({ now: LATER }), [])
    assertSame(await stage.claimIds({ now: NOW + HOUR }), [childId])
  })

  test('a delayed Job that has become due still waits for its parent', async (stage) => {
    const parent = await stage.start()
    const [childId] = await stage.enqueue([childOf([parent.claim.jobId], 'cancel', { runAt: NOW + SECOND })])
    assertSame(await stage.claim({ now: NOW + HOUR }), [])
    await stage.finish(parent, { finishedAt: NOW + HOUR })
    assertSame(await stage.claimIds({ now: NOW + HOUR }), [childId])
  })

  test('a waiting Job keeps its place, or that to which it is moved', async (stage) => {
    const parent = await stage.start()
    const [early, waiting, late] = await stage.enqueue([newJob(), childOf([parent.claim.jobId]), newJob()])
    assertSame(await stage.queue(), [early, waiting, late])
    const moved = await stage.store.moveJob({ jobId: waiting, target: { to: 'front' }, now: NOW })
    assert.equal(moved.kind, 'moved')
    assertSame(await stage.queue(), [waiting, early, late])
    assertSame(await stage.claimIds({ limit: 1 }), [early])
    await settle(stage, parent, 'COMPLETED')
    assertSame(await stage.claimIds({ now: LATER }), [waiting, late])
  })

  test('a waiting Job that gets another priority or a new place still waits', async (stage) => {
    const parent = await stage.start()
    const [other, waiting] = await stage.enqueue([newJob(), childOf([parent.claim.jobId])])
    await stage.store.reprioritiseJob({ jobId: waiting, priority: 9, now: NOW })
    await stage.store.normalisePositions(9)
    assertSame(await statesOf(stage, [waiting]), ['QUEUED dependencies'])
    assertSame(await stage.claimIds({ limit: 1, now: LATER }), [other])
    await settle(stage, parent, 'COMPLETED')
    await startsLater(stage, waiting)
  })

  test('a waiting Job can be cancelled, and stays so when its parent settles', async (stage) => {
    const parent = await stage.start()
    const [childId] = await stage.enqueue([childOf([parent.claim.jobId])])
    assertSame(await stage.cancel(childId), { kind: 'cancelled', jobId: childId })
    await settle(stage, parent, 'FAILED')
    const child = await stage.job(childId)
    assertSame([child.status, child.cancelReason], ['CANCELLED', 'no longer wanted'])
    assertSame(await stage.claim({ now: LATER }), [])
  })

  test('while a parent is retried by itself, its children wait', async (stage) => {
    const first = await stage.start()
    const childIds = await stage.enqueue([childOf([first.claim.jobId]), childOf([first.claim.jobId], 'run')])
    const retry = newRetry()
    await stage.finish(first, { outcome: failed(), retry })
    assertSame(await statesOf(stage, childIds), ['QUEUED dependencies', 'QUEUED dependencies'])
    await settle(stage, await startsLater(stage, retry.jobId), 'FAILED')
    assertSame(await statesOf(stage, childIds), ['CANCELLED', 'QUEUED'])
  })

  test('with `wait`, children wait until a retry by hand succeeds', async (stage) => {
    const parent = await stage.start()
    const { jobId } = parent.claim
    const [early] = await stage.enqueue([childOf([jobId], 'wait')])
    await settle(stage, parent, 'FAILED')
    const [late] = await stage.enqueue([childOf([jobId], 'wait')])
    await settle(stage, await startsLater(stage, await retried(stage, jobId)), 'CANCELLED')
    assertSame(await statesOf(stage, [early, late]), ['QUEUED dependencies', 'QUEUED dependencies'])
    const third = await retried(stage, (await lastOf(stage, jobId)).jobId)
    await settle(stage, await startsLater(stage, third), 'COMPLETED')
    assertSame(await stage.claimIds({ now: LATER }), [early, late])
  })

  test('children follow the true outcome of a parent whose cancellation was asked for', async (stage) => {
    const [ending, aborted] = [await stage.start(), await stage.start()]
    const childIds = await stage.enqueue([childOf([ending.claim.jobId]), childOf([aborted.claim.jobId])])
    await stage.cancel(ending.claim.jobId, 'graceful')
    await stage.cancel(aborted.claim.jobId, 'abort')
    assertSame(await statesOf(stage, childIds), ['QUEUED dependencies', 'QUEUED dependencies'])
    await settle(stage, ending, 'COMPLETED')
    await settle(stage, aborted, 'CANCELLED')
    assertSame(await statesOf(stage, childIds), ['QUEUED', 'CANCELLED'])
  })

  test('the children of a QUEUED parent that is cancelled follow at once', async (stage) => {
    const parent = newJob({ runAt: NOW + HOUR })
    const [parentId, ...childIds] = await stage.enqueue([parent, childOf([parent]), childOf([parent], 'run')])
    await stage.cancel(parentId)
    assertSame(await statesOf(stage, childIds), ['CANCELLED', 'QUEUED'])
  })

  test('a parent has settled when its outcome is known, though its body still executes', async (stage) => {
    const parent = await stage.start()
    const [childId] = await stage.enqueue([childOf([parent.claim.jobId], 'run')])
    await stage.finish(parent, { outcome: failed('timeout'), body: 'executing' })
    await startsLater(stage, childId)
  })

  test('a retry of a child waits for no parent again', async (stage) => {
    const parentId = await settled(stage, 'COMPLETED')
    const child = await stage.start(childOf([parentId]))
    const retry = newRetry()
    await stage.finish(child, { outcome: failed(), retry })
    assertSame((await stage.job(retry.jobId)).dependsOn, [parentId])
    const second = await startsLater(stage, retry.jobId)
    assert.equal(second.hasParents, true)
    await settle(stage, second, 'FAILED')
    await startsLater(stage, await retried(stage, retry.jobId))
  })

  test('a cancelled child that is retried by hand runs without the parent that failed', async (stage) => {
    const parentId = await settled(stage, 'FAILED')
    const live = await stage.start()
    const [childId] = await stage.enqueue([childOf([parentId, live.claim.jobId])])
    assertSame(await statesOf(stage, [childId]), ['CANCELLED'])
    const again = await retried(stage, childId)
    // It still waits for those of its parents that live.
    assertSame(await statesOf(stage, [childId]), ['QUEUED dependencies'])
    await settle(stage, live, 'COMPLETED')
    await startsLater(stage, again)
  })

  test('a cancelled child that is retried by hand is cancelled again when another parent fails', async (stage) => {
    const parentId = await settled(stage, 'FAILED')
    const live = await stage.start()
    const [childId] = await stage.enqueue([childOf([parentId, live.claim.jobId])])
    await retried(stage, childId)
    await settle(stage, live, 'FAILED')
    const last = await lastOf(stage, childId)
    assertSame([last.attempt, last.status], [2, 'CANCELLED'])
    assert.match(last.cancelReason ?? '', new RegExp(live.claim.jobId))
    // By now both have failed, and one more try waits for neither.
    await startsLater(stage, await retried(stage, last.jobId))
  })

  test('a cancelled child that is retried by hand waits for a parent that is tried again', async (stage) => {
    const parent = await stage.start()
    const [childId] = await stage.enqueue([childOf([parent.claim.jobId])])
    await settle(stage, parent, 'FAILED')
    const parentAgain = await retried(stage, parent.claim.jobId)
    const childAgain = await retried(stage, childId)
    assertSame(await statesOf(stage, [childId]), ['QUEUED dependencies'])
    await settle(stage, await startsLater(stage, parentAgain), 'COMPLETED')
    await startsLater(stage, childAgain)
  })

  test('a retry that waits for a parent still does when somebody asks for it again', async (stage) => {
    const parentId = await settled(stage, 'FAILED')
    const live = await stage.start()
    const [childId] = await stage.enqueue([childOf([parentId, live.claim.jobId])])
    const again = await retried(stage, childId)
    assertSame(await retryByHand(stage, childId), { kind: 'made-due', jobId: again })
    assertSame(await statesOf(stage, [childId]), ['QUEUED dependencies'])
    assertSame(await stage.claim({ now: LATER }), [])
  })

  test('a waiting Job cannot be retried by hand', async (stage) => {
    const [childId] = await stage.enqueue([childOf([await settled(stage, 'FAILED')], 'wait')])
    const result = await stage.changesNothing(() => retryByHand(stage, childId))
    assertSame(result, { kind: 'not-retryable', status: 'QUEUED', outcome: null })
  })
}
