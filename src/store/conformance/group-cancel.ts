import assert from 'node:assert/strict'
import {
  cancelGroup,
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
import { failed, HOUR, NOW, newId, newJobs, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

export function testGroupCancel({ test }: Kit): void {
  test('a group of which nothing executes is CANCELLED at once', async (stage) => {
    for (const mode of ['parallel', 'sequential'] as const) {
      for (const onFailure of ['stop', 'continue', 'skip'] as const) {
        const members = newJobs(3)
        const groupId = await createGroup(stage, members, { mode, onFailure })
        assert.equal(await cancelGroup(stage, groupId), 'requested')
        const group = await groupOf(stage, groupId)
        assertSame([group.status, group.counts], ['CANCELLED', counts({ cancelled: 3 })])
        assertSame([group.startedAt, group.finishedAt, group.cancelRequestedAt], [null, NOW + 2, NOW + 2])
        assert.equal(group.cancelReason, 'no longer wanted')
        assertSame(await stage.claim({ now: LATER }), [])
        assert.equal((await stage.job(idsOf(members)[0] as string)).cancelReason, 'no longer wanted')
      }
    }
  })

  test('graceful: members that execute come to their own end, and no retry follows', async (stage) => {
    const groupId = await createGroup(stage, newJobs(3))
    const [one, two] = await stage.claim({ limit: 2 })
    assert.ok(one && two)
    await cancelGroup(stage, groupId)
    assertSame(await stage.store.findCancelWishes(stage.nodeId), [
      { claim: one.claim, mode: 'graceful' },
      { claim: two.claim, mode: 'graceful' },
    ])
    const asked = await groupOf(stage, groupId)
    assertSame([asked.status, asked.counts], ['RUNNING', counts({ running: 2, cancelled: 1 })])
    await settle(stage, one, 'COMPLETED')
    await stage.finish(two, { outcome: failed(), retry: newRetry() })
    const ended = await groupOf(stage, groupId)
    assertSame([ended.status, ended.counts], ['CANCELLED', counts({ completed: 1, failed: 1, cancelled: 1 })])
    assert.equal(ended.finishedAt, NOW + SECOND)
  })

  test('abort: members that execute are to be interrupted', async (stage) => {
    const groupId = await createGroup(stage, newJobs(2))
    const [one] = await stage.claim({ limit: 1 })
    assert.ok(one)
    await cancelGroup(stage, groupId, 'abort')
    assertSame(await stage.store.findCancelWishes(stage.nodeId), [{ claim: one.claim, mode: 'abort' }])
    await settle(stage, one, 'CANCELLED')
    const { status, counts: ended } = await groupOf(stage, groupId)
    assertSame([status, ended], ['CANCELLED', counts({ cancelled: 2 })])
  })

  test('again with abort: what was graceful is interrupted; the first time and reason stand', async (stage) => {
    const groupId = await createGroup(stage, newJobs(1))
    const job = await stage.claimOne()
    await cancelGroup(stage, groupId)
    const again = { groupId, mode: 'abort', reason: 'at once', now: NOW + 3 } as const
    assert.equal(await stage.store.cancelGroup(again), 'requested')
    assertSame(await stage.store.findCancelWishes(stage.nodeId), [{ claim: job.claim, mode: 'abort' }])
    const { cancelRequestedAt, cancelReason } = await groupOf(stage, groupId)
    assertSame([cancelRequestedAt, cancelReason], [NOW + 2, 'no longer wanted'])
  })

  test('a waiting retry is cancelled with the others', async (stage) => {
    const groupId = await createGroup(stage, newJobs(2), { onFailure: 'continue' })
    const [one, two] = await stage.claim()
    assert.ok(one && two)
    await stage.finish(one, { outcome: failed(), retry: newRetry({ runAt: NOW + HOUR }) })
    await settle(stage, two, 'COMPLETED')
    await cancelGroup(stage, groupId)
    const { status, counts: ended } = await groupOf(stage, groupId)
    assertSame([status, ended], ['CANCELLED', counts({ completed: 1, cancelled: 1 })])
    assertSame(await stage.claim({ now: NOW + HOUR }), [])
  })

  test('a group whose members all complete all the same is COMPLETED', async (stage) => {
    const groupId = await createGroup(stage, newJobs(2))
    const claimed = await stage.claim()
    await cancelGroup(stage, groupId)
    for (const job of claimed) await settle(stage, job, 'COMPLETED')
    assertSame((await groupOf(stage, groupId)).status, 'COMPLETED')
  })

  test('a group that has settled cannot be cancelled', async (stage) => {
    const groupId = await createGroup(stage, newJobs(1))
    await settle(stage, await stage.claimOne(), 'FAILED')
    const ended = await groupOf(stage, groupId)
    assert.equal(await stage.changesNothing(() => cancelGroup(stage, groupId)), 'ended')
    assertSame(await groupOf(stage, groupId), ended)
    assert.equal(await stage.changesNothing(() => cancelGroup(stage, newId())), 'not-found')
  })

  test('a group that was cancelled cannot be cancelled again', async (stage) => {
    const groupId = await createGroup(stage, newJobs(2))
    await cancelGroup(stage, groupId)
    assert.equal(await stage.changesNothing(() => cancelGroup(stage, groupId)), 'ended')
  })

  test('children outside the group follow what became of the members', async (stage) => {
    const members = newJobs(2)
    const groupId = await createGroup(stage, members)
    const [first, second] = idsOf(members) as [string, string]
    const children = await stage.enqueue([childOf([first]), childOf([second]), childOf([second], 'run')])
    const [running] = await stage.claim({ limit: 1 })
    assert.ok(running)
    await cancelGroup(stage, groupId)
    assertSame(await statesOf(stage, children), ['QUEUED dependencies', 'CANCELLED', 'QUEUED'])
    await settle(stage, running, 'COMPLETED')
    assertSame(await statesOf(stage, children), ['QUEUED', 'CANCELLED', 'QUEUED'])
  })

  test('a member that is retried by hand after the cancellation runs in its group', async (stage) => {
    const members = newJobs(2)
    const groupId = await createGroup(stage, members)
    const [running] = await stage.claim({ limit: 1 })
    assert.ok(running)
    await cancelGroup(stage, groupId)
    const again = await retried(stage, idsOf(members)[1] as string)
    assertSame((await groupOf(stage, groupId)).counts, counts({ running: 1, queued: 1 }))
    await settle(stage, running, 'FAILED')
    assert.equal((await lastOf(stage, idsOf(members)[1] as string)).jobId, again)
    await settle(stage, await startsLater(stage, again), 'COMPLETED')
    const { status, counts: ended } = await groupOf(stage, groupId)
    assertSame([status, ended], ['CANCELLED', counts({ failed: 1, completed: 1 })])
  })
}
