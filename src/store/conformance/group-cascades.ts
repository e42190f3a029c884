import assert from 'node:assert/strict'
import {
  applyAll,
  applyPage,
  cancelGroup,
  childOf,
  childrenOf,
  counts,
  createGroup,
  groupOf,
  idsOf,
  LATER,
  MANY,
  retried,
  settle,
  startsLater,
  tally,
} from './composition-steps.ts'
import { failed, newJob, newJobs, newRetry } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

/** Smaller than what a store does at once: what follows from a page may be done with it. */
const SMALL_PAGE = 10

/** What concerns many members of a group is stored, and carried out page by page. */
export function testGroupCascades({ test, testReopened }: Kit): void {
  for (const mode of ['parallel', 'sequential'] as const) {
    for (const onFailure of ['stop', 'skip'] as const) {
      const word = onFailure === 'stop' ? 'cancelled' : 'skipped'
      test(`${mode} with \`${onFailure}\`: many members that have not started are ${word} page by page`, async (stage) => {
        const groupId = await createGroup(stage, newJobs(MANY), { mode, onFailure })
        const [first] = await stage.claim({ limit: 1 })
        assert.ok(first)
        await settle(stage, first, 'FAILED')
        assert.equal(await stage.store.hasCascades(), true)
        const under = await groupOf(stage, groupId)
        assertSame([under.status, under.finishedAt], ['RUNNING', null])
        for (let turn = 0; await stage.store.hasCascades(); turn++) {
          assert.ok(turn < 2 * MANY)
          await applyPage(stage)
        }
        const { status, counts: ended } = await groupOf(stage, groupId)
        assertSame([status, ended], ['PARTIAL', counts({ failed: 1, [word]: MANY - 1 })])
      })

      test(`${mode} with \`${onFailure}\`: it takes pages, not one transaction for each member`, async (stage) => {
        await createGroup(stage, newJobs(MANY), { mode, onFailure })
        const [first] = await stage.claim({ limit: 1 })
        assert.ok(first)
        await settle(stage, first, 'FAILED')
        let pages = 0
        for (; pages <= 20 && (await stage.store.hasCascades()); pages++) await applyPage(stage)
        assert.ok(pages <= 20, `${MANY} members take more than ${pages} pages of 100`)
      })
    }
  }

  test('a member that is claimed before the cascade reaches it has started', async (stage) => {
    const groupId = await createGroup(stage, newJobs(MANY))
    const [first] = await stage.claim({ limit: 1 })
    assert.ok(first)
    await settle(stage, first, 'FAILED')
    const [early] = await stage.claim({ limit: 1, now: LATER })
    assert.ok(early)
    await applyAll(stage)
    assertSame((await groupOf(stage, groupId)).counts, counts({ failed: 1, running: 1, cancelled: MANY - 2 }))
    await settle(stage, early, 'COMPLETED')
    const { status, counts: ended } = await groupOf(stage, groupId)
    assertSame([status, ended], ['PARTIAL', counts({ failed: 1, completed: 1, cancelled: MANY - 2 })])
  })

  for (const onFailure of ['stop', 'skip'] as const) {
    test(`sequential with \`${onFailure}\`: nobody starts between two pages, because somebody before him failed`, async (stage) => {
      const members = newJobs(MANY)
      await createGroup(stage, members, { mode: 'sequential', onFailure })
      // Who depends on a member by name is told of its end, and only he.
      await stage.enqueue(idsOf(members).map((jobId) => childOf([jobId], 'run', { type: 'poem' })))
      await settle(stage, await startsLater(stage, idsOf(members)[0] as string), 'FAILED')
      for (let turn = 0; turn < 4 * MANY; turn++) {
        assertSame(await stage.claim({ now: LATER, types: new Map([['story', MANY]]) }), [])
        if (!(await stage.store.hasCascades())) return
        await applyPage(stage, SMALL_PAGE)
      }
    })
  }

  for (const mode of ['parallel', 'sequential'] as const) {
    for (const onFailure of ['stop', 'continue', 'skip'] as const) {
      test(`${mode} with \`${onFailure}\`: many members are cancelled page by page`, async (stage) => {
        const members = newJobs(MANY)
        const groupId = await createGroup(stage, members, { mode, onFailure })
        const [first] = await stage.claim({ limit: 1 })
        assert.ok(first)
        assert.equal(await cancelGroup(stage, groupId), 'requested')
        assert.equal((await groupOf(stage, groupId)).status, 'RUNNING')
        await applyAll(stage)
        assertSame((await groupOf(stage, groupId)).counts, counts({ running: 1, cancelled: MANY - 1 }))
        await settle(stage, first, 'FAILED')
        const { status, counts: ended } = await groupOf(stage, groupId)
        assertSame([status, ended], ['CANCELLED', counts({ failed: 1, cancelled: MANY - 1 })])
        assert.equal(await stage.store.hasCascades(), false)
      })
    }
  }

  test('sequential: a cancelled group starts nobody between two pages', async (stage) => {
    for (const onFailure of ['stop', 'continue', 'skip'] as const) {
      const members = newJobs(MANY)
      const groupId = await createGroup(stage, members, { mode: 'sequential', onFailure })
      await cancelGroup(stage, groupId)
      for (let turn = 0; turn < 2 * MANY; turn++) {
        assertSame(await stage.claim({ now: LATER }), [])
        if (!(await stage.store.hasCascades())) break
        await applyPage(stage, SMALL_PAGE)
      }
      assertSame((await groupOf(stage, groupId)).counts, counts({ cancelled: MANY }))
    }
  })

  test('members that execute when a page reaches them are asked to end', async (stage) => {
    const groupId = await createGroup(stage, newJobs(MANY))
    await cancelGroup(stage, groupId, 'abort')
    const claimed = await stage.claim({ limit: 3, now: LATER })
    assert.equal(claimed.length, 3)
    await applyAll(stage)
    assertSame(
      (await stage.store.findCancelWishes(stage.nodeId)).map(({ claim, mode }) => [claim.jobId, mode]),
      claimed.map(({ claim }) => [claim.jobId, 'abort']),
    )
    assertSame((await groupOf(stage, groupId)).counts, counts({ running: 3, cancelled: MANY - 3 }))
  })

  test('no retry follows for a member of a cancelled group, though the order has not reached it yet', async (stage) => {
    const groupId = await createGroup(stage, newJobs(MANY))
    const last = (await stage.claim({ limit: MANY })).at(-1)
    assert.ok(last)
    await cancelGroup(stage, groupId)
    assert.equal(await stage.store.hasCascades(), true)
    const result = await stage.finish(last, { outcome: failed(), retry: newRetry() })
    assertSame(result, { kind: 'finished', retryJobId: null, followUps: [] })
    assertSame((await groupOf(stage, groupId)).counts, counts({ running: MANY - 1, failed: 1 }))
  })

  test('a group is RUNNING when an order is stored of which nothing has been carried out', async (stage) => {
    const parent = await stage.start(newJob({ priority: 9 }))
    await stage.enqueue(childrenOf(parent.claim.jobId, MANY))
    const groupId = await createGroup(stage, newJobs(3))
    // Where both share a commit, the children of the parent leave no room for the members.
    await Promise.all([settle(stage, parent, 'COMPLETED'), cancelGroup(stage, groupId)])
    const { status, counts: now } = await groupOf(stage, groupId)
    assert.equal(status, now.cancelled === 3 ? 'CANCELLED' : 'RUNNING')
    await applyAll(stage)
    assertSame((await groupOf(stage, groupId)).status, 'CANCELLED')
  })

  testReopened('what was not carried out when a process ended is carried out by the next', async (stage, reopen) => {
    const members = newJobs(MANY)
    const groupId = await createGroup(stage, members, { onFailure: 'skip' })
    const [first] = await stage.claim({ limit: 1 })
    assert.ok(first)
    await settle(stage, first, 'FAILED')
    await applyPage(stage)
    const before = await groupOf(stage, groupId)
    const next = await reopen()
    assertSame(await groupOf(next, groupId), before)
    await applyAll(next)
    assertSame(await tally(next, idsOf(members)), { 'FINISHED FAILED': 1, 'FINISHED SKIPPED': MANY - 1 })
    assertSame((await groupOf(next, groupId)).status, 'PARTIAL')
  })

  test('a sequential group whose first failure is tried again with all behind it is not stopped any further', async (stage) => {
    const members = newJobs(MANY)
    const groupId = await createGroup(stage, members, { mode: 'sequential' })
    const [first] = await stage.claim({ limit: 1 })
    assert.ok(first)
    await settle(stage, first, 'FAILED')
    assert.equal(await stage.store.hasCascades(), true)
    const again = await retried(stage, first.claim.jobId, { dependents: true })
    await applyAll(stage)
    assertSame((await groupOf(stage, groupId)).counts, counts({ queued: MANY }))
    await settle(stage, await startsLater(stage, again), 'COMPLETED')
    assert.equal((await stage.claim({ now: LATER })).length, 1)
  })

  test('nobody waits for ever where a line of members that come back breaks off', async (stage) => {
    const members = newJobs(MANY)
    const groupId = await createGroup(stage, members, { mode: 'sequential' })
    const [first, second] = idsOf(members) as [string, string]
    const running = await startsLater(stage, first)
    // Whoever asks for the first again does not want this one back.
    await stage.cancel(second)
    await settle(stage, running, 'FAILED')
    assert.equal(await stage.store.hasCascades(), true)
    const again = await retried(stage, first, { dependents: true })
    await settle(stage, await startsLater(stage, again), 'COMPLETED')
    await applyAll(stage)
    assertSame(await stage.claim({ now: LATER }), [])
    assertSame(await tally(stage, idsOf(members)), { 'FINISHED COMPLETED': 1, CANCELLED: MANY - 1 })
    assert.notEqual((await groupOf(stage, groupId)).finishedAt, null)
  })

  test('the counts of a group whose members come back while it is stopped add up', async (stage) => {
    const members = newJobs(MANY)
    const groupId = await createGroup(stage, members)
    const [first, second] = await stage.claim({ limit: 2 })
    assert.ok(first && second)
    await settle(stage, first, 'FAILED')
    await retried(stage, first.claim.jobId)
    await applyAll(stage)
    const { counts: now, finishedAt } = await groupOf(stage, groupId)
    const states = await tally(stage, idsOf(members))
    assertSame(
      [now.queued, now.running, now.cancelled, finishedAt],
      [states['QUEUED'], states['RUNNING'], states['CANCELLED'] ?? 0, null],
    )
  })
}
