import assert from 'node:assert/strict'
import {
  applyAll,
  applyPage,
  childOf,
  childrenOf,
  idsOf,
  LATER,
  lastOf,
  MANY,
  PAGE,
  retried,
  settle,
  settled,
  startsLater,
  statesOf,
  tally,
} from './composition-steps.ts'
import { HOUR, NOW, newId, newJob } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

const WAITING = 'QUEUED dependencies'

/** What a settled chain means to many dependents is stored, and carried out page by page. */
export function testCascades({ test, testShared, testReopened }: Kit): void {
  test('of few dependents nothing is stored: all are released with the end itself', async (stage) => {
    const { childIds } = await end(stage, 'COMPLETED', 20)
    assert.equal(await stage.store.hasCascades(), false)
    assertSame(await tally(stage, childIds), { QUEUED: 20 })
  })

  test('of many dependents the rest is stored, and released page by page, oldest first', async (stage) => {
    const { childIds } = await end(stage, 'COMPLETED')
    assert.equal(await stage.store.hasCascades(), true)
    let released = await releasedOf(stage, childIds)
    while (await stage.store.hasCascades()) {
      assert.equal(await applyPage(stage), 'applied')
      const now = await releasedOf(stage, childIds)
      assert.ok(now.length - released.length <= PAGE, `a page releases ${now.length - released.length}`)
      assertSame(now.slice(0, released.length), released)
      released = now
    }
    assertSame(released, childIds)
  })

  test('many dependents of a failed chain are cancelled in the same way', async (stage) => {
    const { childIds } = await end(stage, 'FAILED')
    assert.equal(await stage.store.hasCascades(), true)
    await applyAll(stage)
    assertSame(await tally(stage, childIds), { CANCELLED: MANY })
  })

  test('a child that is not reached yet waits, and is claimed by nobody', async (stage) => {
    const { childIds } = await end(stage, 'COMPLETED')
    const claimed = await stage.claimIds({ limit: MANY, now: LATER })
    assert.ok(claimed.length < MANY)
    assertSame(claimed, childIds.slice(0, claimed.length))
    await applyAll(stage)
    assertSame(await stage.claimIds({ limit: MANY, now: LATER }), childIds.slice(claimed.length))
  })

  test('an end that finds no dependents stores nothing', async (stage) => {
    await end(stage, 'COMPLETED', 0)
    assert.equal(await stage.store.hasCascades(), false)
    assert.equal(await stage.changesNothing(() => applyPage(stage)), 'idle')
  })

  test('a node that has left, or was never registered, carries out nothing', async (stage) => {
    await end(stage, 'COMPLETED')
    const page = { newId, limit: PAGE, now: LATER }
    assert.equal(await stage.changesNothing(() => stage.store.applyCascade({ nodeId: newId(), ...page })), 'idle')
    await stage.store.removeNode(stage.nodeId, NOW)
    assert.equal(await applyPage(stage), 'idle')
    assert.equal(await stage.store.hasCascades(), true)
  })

  testShared('any node may take the next page', async (stage, other) => {
    const { childIds } = await end(stage, 'COMPLETED')
    for (let turn = 0; await stage.store.hasCascades(); turn++) {
      assert.ok(turn < MANY)
      assert.equal(await applyPage(turn % 2 === 0 ? other : stage), 'applied')
    }
    assertSame(await tally(other, childIds), { QUEUED: MANY })
  })

  testShared('nodes that carry it out at the same time release each child once', async (stage, other) => {
    const { childIds } = await end(stage, 'COMPLETED')
    const before = await stage.lastEventSeq()
    await Promise.all(Array.from({ length: 20 }, (_, turn) => applyPage(turn % 2 === 0 ? other : stage)))
    // Where nodes do not wait for each other, some of them found somebody else at work.
    await applyAll(stage)
    assert.equal(await stage.store.hasCascades(), false)
    const told = (await stage.readEvents(before, 1_000)).flatMap(({ transitions }) => transitions)
    assert.ok(told.every(({ kind }) => kind === 'job.released'))
    const releasedIds = told.map(({ jobId }) => jobId)
    assertSame(releasedIds, childIds.slice(MANY - releasedIds.length))
  })

  testReopened('what was not carried out when a process ended is carried out by the next', async (stage, reopen) => {
    const { childIds } = await end(stage, 'COMPLETED')
    await applyPage(stage)
    const released = (await releasedOf(stage, childIds)).length
    const next = await reopen()
    assert.equal((await releasedOf(next, childIds)).length, released)
    await applyAll(next)
    assertSame(await tally(next, childIds), { QUEUED: MANY })
  })

  test('a page decides by what the chain is then: a retry stops it', async (stage) => {
    const { parentId, childIds } = await end(stage, 'FAILED')
    const again = await retried(stage, parentId)
    const cancelled = (await tally(stage, childIds))['CANCELLED'] ?? 0
    assert.ok(cancelled > 0 && cancelled < MANY)
    await applyAll(stage)
    assertSame(await tally(stage, childIds), { CANCELLED: cancelled, [WAITING]: MANY - cancelled })
    await settle(stage, await startsLater(stage, again), 'COMPLETED')
    await applyAll(stage)
    assertSame(await tally(stage, childIds), { CANCELLED: cancelled, QUEUED: MANY - cancelled })
    assertSame(await statesOf(stage, childIds.slice(0, cancelled)), Array(cancelled).fill('CANCELLED'))
  })

  test('a page decides by what the chain is then: a retry that has succeeded releases the rest', async (stage) => {
    const { parentId, childIds } = await end(stage, 'FAILED')
    const cancelled = (await tally(stage, childIds))['CANCELLED'] ?? 0
    await settle(stage, await startsLater(stage, await retried(stage, parentId)), 'COMPLETED')
    await applyAll(stage)
    assertSame(await tally(stage, childIds), { CANCELLED: cancelled, QUEUED: MANY - cancelled })
  })

  test('many dependents come back with their parent, also those of a cascade that was under way', async (stage) => {
    const { parentId, childIds } = await end(stage, 'FAILED')
    const again = await retried(stage, parentId, { dependents: true })
    await applyAll(stage)
    assertSame(await tally(stage, childIds), { [WAITING]: MANY })
    await settle(stage, await startsLater(stage, again), 'COMPLETED')
    await applyAll(stage)
    assertSame(await tally(stage, childIds), { QUEUED: MANY })
  })

  test('the cascades of one chain are carried out in order', async (stage) => {
    const { parentId, childIds } = await end(stage, 'FAILED')
    await applyAll(stage)
    const second = await retried(stage, parentId, { dependents: true })
    await settle(stage, await startsLater(stage, second), 'FAILED')
    // Those who came back are cancelled again; whom the first cascade had not brought back stays as it was.
    await applyAll(stage)
    assertSame(await tally(stage, childIds), { CANCELLED: MANY })
    const third = await retried(stage, second, { dependents: true })
    await settle(stage, await startsLater(stage, third), 'COMPLETED')
    await applyAll(stage)
    assertSame(await tally(stage, childIds), { QUEUED: MANY })
  })

  test('a cascade that brings children back waits for the one before it, and then finds the chain as it is', async (stage) => {
    const { parentId, childIds } = await end(stage, 'FAILED')
    const again = await retried(stage, parentId, { dependents: true })
    await settle(stage, await startsLater(stage, again), 'FAILED')
    await applyAll(stage)
    assertSame(await tally(stage, childIds), { CANCELLED: MANY })
    for (const chainId of childIds) assert.equal((await lastOf(stage, chainId)).attempt, 1)
  })

  test('a long cascade does not hold up a short one', async (stage) => {
    const long = await end(stage, 'COMPLETED', 3 * MANY)
    const short = await end(stage, 'COMPLETED', MANY, 'poem')
    for (let page = 0; page < (3 * MANY) / PAGE; page++) {
      if ((await releasedOf(stage, short.childIds)).length === MANY) break
      await applyPage(stage)
    }
    assert.equal((await releasedOf(stage, short.childIds)).length, MANY)
    assert.ok((await releasedOf(stage, long.childIds)).length < 3 * MANY)
    await applyAll(stage)
    assert.equal((await releasedOf(stage, long.childIds)).length, 3 * MANY)
  })

  test('a child that is accepted while a cascade is under way is weighed for itself', async (stage) => {
    const { parentId, childIds } = await end(stage, 'FAILED')
    const late = [childOf([parentId]), childOf([parentId], 'run'), childOf([parentId], 'wait')]
    await stage.enqueue(late)
    const expected = ['CANCELLED', 'QUEUED', WAITING]
    assertSame(await statesOf(stage, idsOf(late)), expected)
    await applyAll(stage)
    assertSame(await statesOf(stage, idsOf(late)), expected)
    assertSame(await tally(stage, childIds), { CANCELLED: MANY })
  })

  test('a child that somebody cancels before its page stays as that one left it', async (stage) => {
    const { childIds } = await end(stage, 'FAILED')
    const last = childIds.at(-1) as string
    await stage.cancel(last)
    await applyAll(stage)
    assert.equal((await stage.job(last)).cancelReason, 'no longer wanted')
  })

  test('a cancellation of many goes on to those that depend on them', async (stage) => {
    const parent = await stage.start()
    const children = childrenOf(parent.claim.jobId, MANY)
    const grandchildren = children.map((child, index) => childOf([child], index % 2 === 0 ? 'cancel' : 'run'))
    await stage.enqueue([...children, ...grandchildren])
    await settle(stage, parent, 'FAILED')
    for (let turn = 0; await stage.store.hasCascades(); turn++) {
      assert.ok(turn < 4 * MANY)
      await applyPage(stage)
    }
    assertSame(await tally(stage, idsOf(children)), { CANCELLED: MANY })
    assertSame(await tally(stage, idsOf(grandchildren)), { CANCELLED: MANY / 2, QUEUED: MANY / 2 })
  })

  test('a line of many dependents falls to its end', async (stage) => {
    const parent = await stage.start()
    const line = [childOf([parent.claim.jobId])]
    while (line.length < MANY) line.push(childOf([line.at(-1) as (typeof line)[number]]))
    await stage.enqueue(line)
    await settle(stage, parent, 'FAILED')
    await applyAll(stage)
    assertSame(await tally(stage, idsOf(line)), { CANCELLED: MANY })
    await retried(stage, parent.claim.jobId, { dependents: true })
    await applyAll(stage)
    assertSame(await tally(stage, idsOf(line)), { [WAITING]: MANY })
  })

  test('a Job with many parents that end in one transaction is released once', async (stage) => {
    const parents = Array.from({ length: 50 }, () => newJob())
    await stage.enqueue(parents)
    const claimed = await stage.claim()
    const [childId] = await stage.enqueue([childOf(parents)])
    await Promise.all(claimed.map((job) => settle(stage, job, 'COMPLETED')))
    await applyAll(stage)
    await startsLater(stage, childId)
  })

  test('a chain stays in the history while a cascade goes out from it', async (stage) => {
    const { parentId, childIds } = await end(stage, 'FAILED')
    const prune = () => stage.store.pruneChains({ endedBefore: NOW + HOUR, limit: 10 * MANY, cursor: null })
    await prune()
    assert.notEqual(await stage.store.findJob(parentId, NOW), null)
    await applyAll(stage)
    await prune()
    assert.equal(await stage.store.findJob(parentId, NOW), null)
    for (const jobId of childIds) assert.equal(await stage.store.findJob(jobId, NOW), null)
  })

  test('a chain stays in the history while a cascade goes out from it, though nobody waits for it any more', async (stage) => {
    const { parentId, childIds } = await end(stage, 'FAILED')
    await Promise.all(childIds.map((jobId) => stage.cancel(jobId)))
    assert.equal(await stage.store.hasCascades(), true)
    await stage.store.pruneChains({ endedBefore: NOW + HOUR, limit: 10 * MANY, cursor: null })
    assert.notEqual(await stage.store.findJob(parentId, NOW), null)
  })

  test('a chain stays in the history while the world has not been told of it', async (stage) => {
    await settled(stage, 'COMPLETED', newJob({ webhookUrl: 'https://example.com/hook' }))
    const page = await stage.changesNothing(() =>
      stage.store.pruneChains({ endedBefore: NOW + HOUR, limit: 10, cursor: null }),
    )
    assert.equal(page.jobsRemoved, 0)
  })

  test('a delayed child of a cascade waits for its instant', async (stage) => {
    const parent = await stage.start()
    const children = childrenOf(parent.claim.jobId, MANY)
    const late = childOf([parent.claim.jobId], 'cancel', { runAt: NOW + HOUR })
    await stage.enqueue([...children, late])
    await settle(stage, parent, 'COMPLETED')
    await applyAll(stage)
    assertSame(await statesOf(stage, [late.jobId]), ['QUEUED delayed'])
    assert.equal((await lastOf(stage, late.jobId)).runAt, NOW + HOUR)
  })
}

/** A chain that has ended so, with so many children that waited for it. */
async function end(
  stage: Stage,
  outcome: 'COMPLETED' | 'FAILED',
  count = MANY,
  type = 'story',
): Promise<{ readonly parentId: string; readonly childIds: readonly string[] }> {
  const parent = await stage.start(newJob({ type, priority: 9 }))
  const children = childrenOf(parent.claim.jobId, count)
  if (count > 0) await stage.enqueue(children)
  await settle(stage, parent, outcome)
  return { parentId: parent.claim.jobId, childIds: idsOf(children) }
}

/** Those that wait for nothing any more, in the given order. */
async function releasedOf(stage: Stage, childIds: readonly string[]): Promise<string[]> {
  const states = await statesOf(stage, childIds)
  return childIds.filter((_, index) => states[index] === 'QUEUED')
}
