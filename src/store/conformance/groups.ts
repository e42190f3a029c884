import assert from 'node:assert/strict'
import type { PrunePage } from '../maintenance.ts'
import {
  childOf,
  counts,
  createGroup,
  groupOf,
  idsOf,
  LATER,
  lastOf,
  newGroup,
  retried,
  settle,
  settled,
  startsLater,
  statesOf,
} from './composition-steps.ts'
import { failed, HOUR, NOW, newId, newJob, newJobs, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

export function testGroups({ test, testShared }: Kit): void {
  test('a new group is QUEUED with all its members', async (stage) => {
    const members = newJobs(3)
    const group = newGroup({ name: 'A trilogy', createdBy: 'mary', onFailure: 'skip' })
    await createGroup(stage, members, group)
    assertSame(await groupOf(stage, group.groupId), {
      ...group,
      status: 'QUEUED',
      counts: counts({ queued: 3 }),
      createdAt: NOW,
      startedAt: null,
      finishedAt: null,
      cancelRequestedAt: null,
      cancelReason: null,
    })
    for (const { jobId } of members) {
      const { groupId, hold } = await stage.job(jobId)
      assertSame([groupId, hold], [group.groupId, null])
    }
    const { items } = await stage.store.listJobs({ groupId: group.groupId, limit: 10 }, NOW)
    assertSame(items.map(({ jobId }) => jobId).sort(), idsOf(members))
  })

  test('there is no group that nobody made', async (stage) => {
    await createGroup(stage, newJobs(1))
    assert.equal(await stage.store.findGroup(newId()), null)
    assert.equal((await stage.job((await stage.enqueue([newJob()]))[0])).groupId, null)
  })

  test('a refused member refuses the group, and nothing is stored', async (stage) => {
    await stage.enqueue([newJob({ businessKey: 'taken' })])
    const unknown = newId()
    const refusals = [
      [childOf([unknown]), { kind: 'parent-not-found', index: 1, jobId: unknown }],
      [newJob({ businessKey: 'own' }), { kind: 'business-key-taken', index: 2 }],
    ] as const
    for (const [wrong, conflict] of refusals) {
      const group = newGroup({ mode: 'sequential' })
      const members = [newJob(), wrong, newJob({ businessKey: 'own' })]
      const result = await stage.changesNothing(() => stage.store.createGroup(group, members, NOW))
      assert.ok(result.kind === 'refused')
      const { kind, index } = result.conflict
      assertSame([kind, index], [conflict.kind, conflict.index])
      assert.equal(await stage.store.findGroup(group.groupId), null)
    }
    assertSame((await stage.store.listGroups({ limit: 10 })).items, [])
  })

  test('the members of a parallel group can all start at once', async (stage) => {
    const members = newJobs(3)
    await createGroup(stage, members)
    assertSame(await stage.claimIds(), idsOf(members))
  })

  test('the members of a sequential group start one after the other, in the given order', async (stage) => {
    const members = [newJob({ priority: 1 }), newJob({ priority: 9 }), newJob({ priority: 5 })]
    await createGroup(stage, members, { mode: 'sequential' })
    assertSame(await statesOf(stage, idsOf(members)), ['QUEUED', 'QUEUED group', 'QUEUED group'])
    for (const { jobId } of members) await settle(stage, await startsLater(stage, jobId), 'COMPLETED')
    assertSame(await stage.claim({ now: LATER }), [])
    // Their order is no dependency that anybody named.
    for (const { jobId } of members) assertSame((await stage.job(jobId)).dependsOn, [])
  })

  test('in a sequential group, a member that is SKIPPED or waits for its retry keeps the order', async (stage) => {
    const members = newJobs(3)
    const groupId = await createGroup(stage, members, { mode: 'sequential' })
    const [first, second, third] = idsOf(members) as [string, string, string]
    await settle(stage, await startsLater(stage, first), 'SKIPPED')
    const retry = newRetry({ runAt: LATER })
    await stage.finish(await startsLater(stage, second), { outcome: failed(), retry })
    assertSame(await statesOf(stage, [third]), ['QUEUED group'])
    assertSame((await groupOf(stage, groupId)).counts, counts({ skipped: 1, queued: 2 }))
    await settle(stage, await startsLater(stage, retry.jobId), 'COMPLETED')
    await settle(stage, await startsLater(stage, third), 'COMPLETED')
    const { status, counts: ended } = await groupOf(stage, groupId)
    assertSame([status, ended], ['COMPLETED', counts({ skipped: 1, completed: 2 })])
  })

  test('a member may depend on others, of its group and outside', async (stage) => {
    const outside = await stage.start()
    const first = childOf([outside.claim.jobId])
    const second = childOf([first])
    const third = newJob()
    await createGroup(stage, [second, first, third])
    assertSame(await stage.claimIds({ now: LATER }), [third.jobId])
    await settle(stage, outside, 'COMPLETED')
    await settle(stage, await startsLater(stage, first.jobId), 'COMPLETED')
    await startsLater(stage, second.jobId)
  })

  test('a sequential member with parents of its own waits for both, and names the parents first', async (stage) => {
    const outside = await stage.start()
    const [first, second] = [newJob(), childOf([outside.claim.jobId])]
    await createGroup(stage, [first, second], { mode: 'sequential' })
    assertSame(await statesOf(stage, [second.jobId]), ['QUEUED dependencies'])
    await settle(stage, outside, 'COMPLETED')
    assertSame(await statesOf(stage, [second.jobId]), ['QUEUED group'])
    assertSame((await stage.job(second.jobId)).dependsOn, [outside.claim.jobId])
    await settle(stage, await startsLater(stage, first.jobId), 'COMPLETED')
    await startsLater(stage, second.jobId)
  })

  test('a sequential member may name the one before it, and has its result', async (stage) => {
    const first = newJob()
    const second = childOf([first])
    await createGroup(stage, [first, second], { mode: 'sequential' })
    await settle(stage, await startsLater(stage, first.jobId), 'COMPLETED')
    await startsLater(stage, second.jobId)
    assertSame(await stage.store.findParentResults(second.jobId), new Map([[first.jobId, '{"pages":7}']]))
  })

  test('in a sequential group, the result of the member before it is found as that of a parent', async (stage) => {
    const members = newJobs(2)
    await createGroup(stage, members, { mode: 'sequential' })
    const [first, second] = idsOf(members) as [string, string]
    await settle(stage, await startsLater(stage, first), 'COMPLETED')
    const job = await startsLater(stage, second)
    assert.equal(job.hasParents, true)
    assertSame(await stage.store.findParentResults(second), new Map([[first, '{"pages":7}']]))
  })

  test('it is RUNNING from the first start on, and COMPLETED when the last member is', async (stage) => {
    const groupId = await createGroup(stage, newJobs(3))
    const seen = async () => {
      const { status, startedAt, finishedAt, counts: now } = await groupOf(stage, groupId)
      return [status, startedAt, finishedAt, now]
    }
    const [one] = await stage.claim({ limit: 1, now: NOW + 5 })
    assert.ok(one)
    assertSame(await seen(), ['RUNNING', NOW + 5, null, counts({ queued: 2, running: 1 })])
    await settle(stage, one, 'COMPLETED')
    // Nothing of it executes, but it has begun.
    assertSame(await seen(), ['RUNNING', NOW + 5, null, counts({ queued: 2, completed: 1 })])
    const [two, three] = await stage.claim({ now: NOW + 6 })
    assert.ok(two && three)
    assertSame(await seen(), ['RUNNING', NOW + 5, null, counts({ running: 2, completed: 1 })])
    await settle(stage, two, 'SKIPPED')
    await stage.finish(three, { finishedAt: NOW + HOUR })
    assertSame(await seen(), ['COMPLETED', NOW + 5, NOW + HOUR, counts({ completed: 2, skipped: 1 })])
  })

  test('a member that failed and then succeeded on its retry is COMPLETED', async (stage) => {
    const groupId = await createGroup(stage, newJobs(1))
    const first = await stage.claimOne()
    const retry = newRetry()
    await stage.finish(first, { outcome: failed(), retry })
    assert.equal((await stage.job(retry.jobId)).groupId, groupId)
    const { status, counts: waiting, finishedAt } = await groupOf(stage, groupId)
    assertSame([status, waiting, finishedAt], ['RUNNING', counts({ queued: 1 }), null])
    await settle(stage, await startsLater(stage, retry.jobId), 'COMPLETED')
    const ended = await groupOf(stage, groupId)
    assertSame([ended.status, ended.counts], ['COMPLETED', counts({ completed: 1 })])
  })

  test('a member whose body outlives its timeout counts by its outcome', async (stage) => {
    const groupId = await createGroup(stage, newJobs(2), { onFailure: 'continue' })
    const [one] = await stage.claim({ limit: 1 })
    assert.ok(one)
    await stage.finish(one, { outcome: failed('timeout'), body: 'executing' })
    assertSame((await groupOf(stage, groupId)).counts, counts({ failed: 1, queued: 1 }))
    await stage.release(one.claim)
    assertSame((await groupOf(stage, groupId)).counts, counts({ failed: 1, queued: 1 }))
  })

  test('a member that had to be cancelled at its acceptance counts, and stops the others', async (stage) => {
    const failedId = await settled(stage, 'FAILED')
    const members = [newJob(), childOf([failedId]), newJob()]
    const groupId = await createGroup(stage, members)
    const { status, counts: ended, startedAt, finishedAt } = await groupOf(stage, groupId)
    assertSame([status, ended], ['PARTIAL', counts({ cancelled: 3 })])
    assertSame([startedAt, finishedAt], [null, NOW])
    assertSame(await stage.claim({ now: LATER }), [])
  })

  test('with `continue`, the others run all the same', async (stage) => {
    const failedId = await settled(stage, 'FAILED')
    const members = [childOf([failedId]), newJob()]
    const groupId = await createGroup(stage, members, { onFailure: 'continue', mode: 'sequential' })
    assertSame((await groupOf(stage, groupId)).counts, counts({ cancelled: 1, queued: 1 }))
    await settle(stage, await startsLater(stage, idsOf(members)[1] as string), 'COMPLETED')
    assertSame((await groupOf(stage, groupId)).status, 'PARTIAL')
  })

  test('a retry by hand of a member of a live group counts in it again', async (stage) => {
    const groupId = await createGroup(stage, newJobs(2), { onFailure: 'continue' })
    const [one, two] = await stage.claim()
    assert.ok(one && two)
    await settle(stage, one, 'FAILED')
    assertSame((await groupOf(stage, groupId)).counts, counts({ failed: 1, running: 1 }))
    const again = await retried(stage, one.claim.jobId)
    assertSame((await groupOf(stage, groupId)).counts, counts({ queued: 1, running: 1 }))
    await settle(stage, two, 'COMPLETED')
    assert.equal((await groupOf(stage, groupId)).finishedAt, null)
    await settle(stage, await startsLater(stage, again), 'COMPLETED')
    const { status, counts: ended } = await groupOf(stage, groupId)
    assertSame([status, ended], ['COMPLETED', counts({ completed: 2 })])
  })

  test('a member that was stopped can be retried by hand while the group lives', async (stage) => {
    const members = newJobs(3)
    const groupId = await createGroup(stage, members)
    const [one, two] = await stage.claim({ limit: 2 })
    assert.ok(one && two)
    await settle(stage, one, 'FAILED')
    assertSame((await groupOf(stage, groupId)).counts, counts({ failed: 1, running: 1, cancelled: 1 }))
    const again = [await retried(stage, one.claim.jobId), await retried(stage, idsOf(members)[2] as string)]
    assertSame((await groupOf(stage, groupId)).counts, counts({ running: 1, queued: 2 }))
    await settle(stage, two, 'COMPLETED')
    for (const job of await stage.claim({ now: LATER })) {
      assert.ok(again.includes(job.claim.jobId))
      await settle(stage, job, 'COMPLETED')
    }
    assertSame((await groupOf(stage, groupId)).status, 'COMPLETED')
  })

  test('a settled group stays as it is: a retry by hand leaves it', async (stage) => {
    const members = newJobs(2)
    const groupId = await createGroup(stage, members, { mode: 'sequential' })
    await settle(stage, (await stage.claim({ limit: 1 }))[0] as never, 'FAILED')
    const ended = await groupOf(stage, groupId)
    assertSame([ended.status, ended.finishedAt], ['PARTIAL', NOW + SECOND])
    const before = await Promise.all(idsOf(members).map((jobId) => stage.job(jobId)))
    for (const chainId of idsOf(members)) {
      const again = await startsLater(stage, await retried(stage, chainId))
      // What it waited for was the order of the group. Nobody has named it.
      const { groupId: group, dependsOn, onParentFailure } = await stage.job(again.claim.jobId)
      assertSame([group, dependsOn, onParentFailure], [null, [], null])
      const automatic = newRetry()
      await stage.finish(again, { outcome: failed(), retry: automatic })
      assert.equal((await stage.job(automatic.jobId)).groupId, null)
      await settle(stage, await startsLater(stage, automatic.jobId), 'COMPLETED')
    }
    assertSame(await groupOf(stage, groupId), ended)
    // What they did in the group still reads so.
    assertSame(await Promise.all(idsOf(members).map((jobId) => stage.job(jobId))), before)
    assertSame(
      before.map((job) => job.groupId),
      [groupId, groupId],
    )
  })

  test('a chain that has left its group still waits for a member before it that is tried again', async (stage) => {
    const members = newJobs(2)
    await createGroup(stage, members, { mode: 'sequential' })
    const [first, second] = idsOf(members) as [string, string]
    await settle(stage, (await stage.claim({ limit: 1 }))[0] as never, 'FAILED')
    const before = await stage.job(second)
    const again = await startsLater(stage, await retried(stage, first))
    const waiting = await stage.job(await retried(stage, second))
    assertSame([waiting.groupId, waiting.dependsOn, waiting.onParentFailure], [null, [], null])
    assertSame(await stage.claim({ now: waiting.runAt }), [])
    await settle(stage, again, 'FAILED')
    assert.equal((await stage.job(waiting.jobId)).status, 'CANCELLED')
    assertSame(await stage.job(second), before)
  })

  test('a child that comes back with its parent counts in its live group again', async (stage) => {
    const parent = await stage.start()
    const members = [childOf([parent.claim.jobId]), newJob()]
    const groupId = await createGroup(stage, members, { onFailure: 'continue' })
    await settle(stage, parent, 'FAILED')
    assertSame((await groupOf(stage, groupId)).counts, counts({ cancelled: 1, queued: 1 }))
    await retried(stage, parent.claim.jobId, { dependents: true })
    assertSame((await groupOf(stage, groupId)).counts, counts({ queued: 2 }))
    assert.equal((await lastOf(stage, idsOf(members)[0] as string)).groupId, groupId)
  })

  test('children outside the group follow the chain of a member, not the group', async (stage) => {
    const members = newJobs(2)
    await createGroup(stage, members)
    const [first, second] = idsOf(members) as [string, string]
    const children = await stage.enqueue([childOf([first]), childOf([second], 'run'), childOf([second])])
    await settle(stage, (await stage.claim({ limit: 1 }))[0] as never, 'FAILED')
    assertSame(await statesOf(stage, [second, ...children]), ['CANCELLED', 'CANCELLED', 'QUEUED', 'CANCELLED'])
  })

  test('of some groups it can be asked which are live no more', async (stage) => {
    const [live, ended] = [await createGroup(stage, newJobs(1)), await createGroup(stage, newJobs(1))]
    const unknown = newId()
    const jobs = await stage.claim()
    const last = jobs.find(({ groupId }) => groupId === ended)
    assert.ok(last)
    assertSame(await stage.store.findSettledGroups([live, ended]), [])
    await settle(stage, last, 'FAILED')
    assertSame(await stage.store.findSettledGroups([unknown, live, ended]), [unknown, ended])
    assertSame(await stage.store.findSettledGroups([]), [])
  })

  test('groups are listed newest first, page by page', async (stage) => {
    const ids: string[] = []
    for (let index = 0; index < 5; index++) ids.push(await createGroup(stage, newJobs(1)))
    const listed: string[] = []
    let cursor: string | null = null
    for (let page = 0; page < 4; page++) {
      const answer = await stage.store.listGroups({ limit: 2, cursor })
      listed.push(...answer.items.map(({ groupId }) => groupId))
      cursor = answer.nextCursor
      if (cursor === null) break
    }
    assert.equal(cursor, null)
    assertSame(listed, ids.toReversed())
  })

  test('members stay in the history while their group lives, and the group goes with the last of them', async (stage) => {
    const groupId = await createGroup(stage, newJobs(2))
    const [one, two] = await stage.claim()
    assert.ok(one && two)
    await settle(stage, one, 'COMPLETED')
    assertSame(await prune(stage), { jobsRemoved: 0, groupsRemoved: 0 })
    await stage.finish(two, { finishedAt: NOW + HOUR })
    assertSame(await prune(stage), { jobsRemoved: 1, groupsRemoved: 0 })
    // A member is left, and so the group stays with the counts it had.
    assertSame((await groupOf(stage, groupId)).counts, counts({ completed: 2 }))
    assertSame(await prune(stage, NOW + 2 * HOUR), { jobsRemoved: 1, groupsRemoved: 1 })
    assert.equal(await stage.store.findGroup(groupId), null)
  })

  test('groups that would go are counted beforehand, in pages of any size', async (stage) => {
    const sizes = [1, 3, 2, 1]
    for (const size of sizes) await createGroup(stage, newJobs(size))
    await stage.enqueue([newJob()])
    for (const [index, job] of (await stage.claim()).entries()) {
      // The last member of the second group ends too late to go, and the group stays with it.
      await stage.finish(job, { finishedAt: index === 3 ? LATER : NOW + 1 })
    }
    for (let limit = 1; limit <= 8; limit++) {
      assertSame(await stage.changesNothing(() => countPrunable(stage, limit)), { jobs: 7, groups: 3 })
    }
    assertSame(await prune(stage), { jobsRemoved: 7, groupsRemoved: 3 })
    assertSame(await countPrunable(stage, 8), { jobs: 0, groups: 0 })
  })

  testShared('another store on the same database sees the group and its members', async (stage, other) => {
    const members = newJobs(2)
    const groupId = await createGroup(stage, members)
    const [job] = await other.claim({ limit: 1 })
    assert.ok(job)
    assertSame(await groupOf(stage, groupId), await groupOf(other, groupId))
    await settle(other, job, 'FAILED')
    assertSame((await groupOf(stage, groupId)).status, 'PARTIAL')
  })

  testShared('two stores that end members at once lose no count', async (stage, other) => {
    const groupId = await createGroup(stage, newJobs(20))
    const [mine, theirs] = [await stage.claim({ limit: 10 }), await other.claim({ limit: 10 })]
    await Promise.all([
      ...mine.map((job) => settle(stage, job, 'COMPLETED')),
      ...theirs.map((job) => settle(other, job, 'SKIPPED')),
    ])
    const { status, counts: ended } = await groupOf(stage, groupId)
    assertSame([status, ended], ['COMPLETED', counts({ completed: 10, skipped: 10 })])
  })
}

async function prune(stage: Stage, endedBefore = LATER): Promise<Pick<PrunePage, 'jobsRemoved' | 'groupsRemoved'>> {
  const page = await stage.store.pruneChains({ endedBefore, limit: 100, cursor: null })
  assert.equal(page.nextCursor, null)
  const { jobsRemoved, groupsRemoved } = page
  return { jobsRemoved, groupsRemoved }
}

const PAGES_MAX = 50

async function countPrunable(stage: Stage, limit: number): Promise<{ readonly jobs: number; readonly groups: number }> {
  let [jobs, groups] = [0, 0]
  let cursor: string | null = null
  for (let page = 0; page < PAGES_MAX; page++) {
    const counted = await stage.store.countPrunableChains({ endedBefore: LATER, limit, cursor })
    jobs += counted.jobs
    groups += counted.groups
    cursor = counted.nextCursor
    if (cursor === null) return { jobs, groups }
  }
  assert.fail(`counting does not end within ${PAGES_MAX} pages`)
}
