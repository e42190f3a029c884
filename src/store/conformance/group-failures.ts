import assert from 'node:assert/strict'
import type { ChainOutcome } from '../../domain/chain.ts'
import type { GroupCounts, GroupMode, GroupStatus, OnMemberFailure } from '../../domain/group.ts'
import {
  applyAll,
  childOf,
  counts,
  createGroup,
  groupOf,
  idsOf,
  LATER,
  lastOf,
  retried,
  settle,
  startsLater,
  statesOf,
} from './composition-steps.ts'
import { failed, HOUR, NOW, newJobs, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

/**
 * Groups of four. Of a parallel one, two members execute when the first ends so and the second completes afterwards; of a
 * sequential one, only the first does. Whoever can still start then completes.
 */
const RULES: readonly (readonly [GroupMode, OnMemberFailure, ChainOutcome, GroupStatus, Partial<GroupCounts>])[] = [
  ['parallel', 'stop', 'COMPLETED', 'COMPLETED', { completed: 4 }],
  ['parallel', 'stop', 'SKIPPED', 'COMPLETED', { skipped: 1, completed: 3 }],
  ['parallel', 'stop', 'FAILED', 'PARTIAL', { failed: 1, completed: 1, cancelled: 2 }],
  ['parallel', 'stop', 'CANCELLED', 'PARTIAL', { completed: 1, cancelled: 3 }],
  ['parallel', 'continue', 'FAILED', 'PARTIAL', { failed: 1, completed: 3 }],
  ['parallel', 'continue', 'CANCELLED', 'PARTIAL', { cancelled: 1, completed: 3 }],
  ['parallel', 'skip', 'FAILED', 'PARTIAL', { failed: 1, completed: 1, skipped: 2 }],
  ['parallel', 'skip', 'CANCELLED', 'PARTIAL', { cancelled: 1, completed: 1, skipped: 2 }],
  ['sequential', 'stop', 'COMPLETED', 'COMPLETED', { completed: 4 }],
  ['sequential', 'stop', 'SKIPPED', 'COMPLETED', { skipped: 1, completed: 3 }],
  ['sequential', 'stop', 'FAILED', 'PARTIAL', { failed: 1, cancelled: 3 }],
  ['sequential', 'stop', 'CANCELLED', 'PARTIAL', { cancelled: 4 }],
  ['sequential', 'continue', 'FAILED', 'PARTIAL', { failed: 1, completed: 3 }],
  ['sequential', 'continue', 'CANCELLED', 'PARTIAL', { cancelled: 1, completed: 3 }],
  ['sequential', 'skip', 'FAILED', 'PARTIAL', { failed: 1, skipped: 3 }],
  ['sequential', 'skip', 'CANCELLED', 'PARTIAL', { cancelled: 1, skipped: 3 }],
]

export function testGroupFailures({ test }: Kit): void {
  for (const [mode, onFailure, outcome, status, ended] of RULES) {
    test(`${mode} with \`${onFailure}\`: a member that ends ${outcome} makes the group ${status}`, async (stage) => {
      const groupId = await createGroup(stage, newJobs(4), { mode, onFailure })
      const [first, second] = await stage.claim({ limit: mode === 'parallel' ? 2 : 4 })
      assert.ok(first)
      await settle(stage, first, outcome)
      if (second !== undefined) await settle(stage, second, 'COMPLETED')
      await completeAll(stage)
      const group = await groupOf(stage, groupId)
      assertSame([group.status, group.counts], [status, counts(ended)])
      assertSame([group.startedAt, group.finishedAt], [NOW, NOW + SECOND])
      assert.equal(await stage.store.hasCascades(), false)
    })
  }

  test('a QUEUED member that somebody cancels stops the others too', async (stage) => {
    const members = newJobs(3)
    const groupId = await createGroup(stage, members)
    const running = (await stage.claim({ limit: 1 }))[0]
    assert.ok(running)
    await stage.cancel(idsOf(members)[2] as string)
    assertSame((await groupOf(stage, groupId)).counts, counts({ running: 1, cancelled: 2 }))
    await settle(stage, running, 'COMPLETED')
    const { status, counts: ended } = await groupOf(stage, groupId)
    assertSame([status, ended], ['PARTIAL', counts({ completed: 1, cancelled: 2 })])
  })

  test('what stops a member is in its reason', async (stage) => {
    const members = newJobs(2)
    await createGroup(stage, members)
    const [first] = await stage.claim({ limit: 1 })
    assert.ok(first)
    await settle(stage, first, 'FAILED')
    const { cancelReason } = await stage.job(idsOf(members)[1] as string)
    assert.match(cancelReason ?? '', /predecessor failed/)
    assert.match(cancelReason ?? '', new RegExp(first.claim.jobId))
  })

  test('a skipped member has a SKIPPED Run that says why', async (stage) => {
    const members = newJobs(2)
    await createGroup(stage, members, { onFailure: 'skip' })
    const before = await stage.lastEventSeq()
    const [first] = await stage.claim({ limit: 1 })
    assert.ok(first)
    await settle(stage, first, 'FAILED')
    const skippedId = idsOf(members)[1] as string
    const run = await stage.store.findRunOfJob(skippedId)
    assertSame([run?.status, run?.reason, run?.finishedAt], ['SKIPPED', null, NOW + SECOND])
    assert.match(run?.error ?? '', /predecessor failed/)
    assertSame(await statesOf(stage, [skippedId]), ['FINISHED SKIPPED'])
    assertSame(await stage.store.findDamage(10), [])
    assertSame(await stage.occupants(), [])
    const rows = await stage.readEvents(before, 10)
    const told = rows.at(-1)?.transitions.map(({ kind, jobId, outcome }) => [kind, jobId, outcome])
    assertSame(told, [
      ['job.finished', first.claim.jobId, 'FAILED'],
      ['job.finished', skippedId, 'SKIPPED'],
    ])
  })

  test('what a stop does is told in the same row of events', async (stage) => {
    const members = newJobs(3)
    await createGroup(stage, members)
    const [first] = await stage.claim({ limit: 1 })
    assert.ok(first)
    const before = await stage.lastEventSeq()
    await settle(stage, first, 'FAILED')
    const rows = await stage.readEvents(before, 10)
    const told = rows.map(({ transitions }) => transitions.map(({ kind, jobId }) => [kind, jobId]))
    const [one, two, three] = idsOf(members)
    assertSame(told, [
      [
        ['job.finished', one],
        ['job.cancelled', two],
        ['job.cancelled', three],
      ],
    ])
  })

  test('a waiting retry counts as started: a stop leaves it alone', async (stage) => {
    for (const onFailure of ['stop', 'skip'] as const) {
      const members = newJobs(3)
      const groupId = await createGroup(stage, members, { onFailure })
      const [one, two] = await stage.claim({ limit: 2 })
      assert.ok(one && two)
      const retry = newRetry({ runAt: NOW + HOUR })
      await stage.finish(one, { outcome: failed(), retry })
      await settle(stage, two, 'FAILED')
      const unstarted = onFailure === 'stop' ? { cancelled: 1 } : { skipped: 1 }
      assertSame((await groupOf(stage, groupId)).counts, counts({ failed: 1, queued: 1, ...unstarted }))
      const again = await stage.claimOne({ now: NOW + HOUR })
      assert.equal(again.claim.jobId, retry.jobId)
      await settle(stage, again, 'COMPLETED')
      const ended = await groupOf(stage, groupId)
      assertSame([ended.status, ended.counts], ['PARTIAL', counts({ failed: 1, completed: 1, ...unstarted })])
    }
  })

  test('a member that executes when the others are stopped keeps its retries', async (stage) => {
    const groupId = await createGroup(stage, newJobs(3))
    const [one, two] = await stage.claim({ limit: 2 })
    assert.ok(one && two)
    await settle(stage, one, 'FAILED')
    const retry = newRetry()
    await stage.finish(two, { outcome: failed(), retry })
    assertSame((await groupOf(stage, groupId)).counts, counts({ failed: 1, cancelled: 1, queued: 1 }))
    await settle(stage, await startsLater(stage, retry.jobId), 'COMPLETED')
    assertSame((await groupOf(stage, groupId)).counts, counts({ failed: 1, cancelled: 1, completed: 1 }))
  })

  test('members that are delayed or wait for parents are stopped too', async (stage) => {
    const outside = await stage.start()
    const members = [...newJobs(2), ...newJobs(1, { runAt: NOW + HOUR }), childOf([outside.claim.jobId], 'wait')]
    const groupId = await createGroup(stage, members)
    const [one, two] = await stage.claim({ limit: 2 })
    assert.ok(one && two)
    await settle(stage, one, 'FAILED')
    assertSame((await groupOf(stage, groupId)).counts, counts({ failed: 1, running: 1, cancelled: 2 }))
  })

  test('a member that fails for its own parent counts as any other that fails', async (stage) => {
    const outside = await stage.start()
    const members = [childOf([outside.claim.jobId]), ...newJobs(2)]
    const groupId = await createGroup(stage, members)
    const [running] = await stage.claim({ limit: 1 })
    assert.ok(running)
    await settle(stage, outside, 'FAILED')
    assertSame((await groupOf(stage, groupId)).counts, counts({ running: 1, cancelled: 2 }))
  })

  test('in a sequential group, a failure in the middle leaves those before it as they are', async (stage) => {
    for (const onFailure of ['stop', 'skip', 'continue'] as const) {
      const members = newJobs(3)
      const groupId = await createGroup(stage, members, { mode: 'sequential', onFailure })
      const [first, second, third] = idsOf(members) as [string, string, string]
      await settle(stage, await startsLater(stage, first), 'COMPLETED')
      await settle(stage, await startsLater(stage, second), 'FAILED')
      const [state] = await statesOf(stage, [third])
      const expected = { stop: 'CANCELLED', skip: 'FINISHED SKIPPED', continue: 'QUEUED' }
      assert.equal(state, expected[onFailure])
      await completeAll(stage)
      assertSame((await groupOf(stage, groupId)).status, 'PARTIAL')
    }
  })

  test('a sequential member that is retried by hand while an earlier one executes waits for it', async (stage) => {
    const members = newJobs(2)
    const groupId = await createGroup(stage, members, { mode: 'sequential' })
    const [first, second] = idsOf(members) as [string, string]
    const running = await startsLater(stage, first)
    await stage.cancel(second)
    const again = await retried(stage, second)
    assertSame(await statesOf(stage, [second]), ['QUEUED group'])
    await settle(stage, running, 'COMPLETED')
    await settle(stage, await startsLater(stage, again), 'COMPLETED')
    assertSame((await groupOf(stage, groupId)).status, 'COMPLETED')
  })

  test('a sequential member that waits again does not wait for ever when the one before it fails', async (stage) => {
    for (const onFailure of ['stop', 'skip', 'continue'] as const) {
      const members = newJobs(2)
      const groupId = await createGroup(stage, members, { mode: 'sequential', onFailure })
      const [first, second] = idsOf(members) as [string, string]
      const running = await startsLater(stage, first)
      await stage.cancel(second)
      await retried(stage, second)
      await settle(stage, running, 'FAILED')
      await completeAll(stage)
      // Whether it runs or is stopped is the store's to say; but it must not wait for what will never come.
      assert.notEqual((await lastOf(stage, second)).status, 'QUEUED')
      assert.notEqual((await groupOf(stage, groupId)).finishedAt, null)
    }
  })

  test('nor does one that left its settled group together with the one before it', async (stage) => {
    const members = newJobs(2)
    await createGroup(stage, members, { mode: 'sequential' })
    const [first, second] = idsOf(members) as [string, string]
    await settle(stage, await startsLater(stage, first), 'FAILED')
    const firstAgain = await retried(stage, first)
    await retried(stage, second)
    await settle(stage, await startsLater(stage, firstAgain), 'FAILED')
    await completeAll(stage)
    assert.notEqual((await lastOf(stage, second)).status, 'QUEUED')
  })
}

const ROUNDS_MAX = 10

/** Carries out what is ordered and completes whatever can start, until nothing can. */
async function completeAll(stage: Stage): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    await applyAll(stage)
    const claimed = await stage.claim({ now: LATER })
    if (claimed.length === 0) return
    for (const job of claimed) await settle(stage, job, 'COMPLETED')
  }
  assert.fail(`something can start even after ${ROUNDS_MAX} rounds`)
}
