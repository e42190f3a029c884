import assert from 'node:assert/strict'
import { NO_RETRIES_YET } from '../../domain/retry.ts'
import {
  childOf,
  createGroup,
  idsOf,
  LATER,
  lastOf,
  retried,
  retryByHand,
  settle,
  settled,
  startsLater,
  statesOf,
} from './composition-steps.ts'
import { failed, HOUR, NOW, newId, newJob, newJobs, newRetry } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

const WITH_DEPENDENTS = { dependents: true }

/** A retry by hand that also gives the children a new Job that were cancelled because this chain had failed. */
export function testDependents({ test }: Kit): void {
  test('children that were cancelled for a parent get a new Job that waits for its retry', async (stage) => {
    const parent = await stage.start()
    const child = childOf([parent.claim.jobId], 'cancel', { name: 'A sequel', tags: ['t'], runAt: NOW + 1 })
    await stage.enqueue([child])
    await settle(stage, parent, 'FAILED')
    const again = await retried(stage, parent.claim.jobId, WITH_DEPENDENTS)
    const revived = await lastOf(stage, child.jobId)
    const { status, hold, attempt, retryOf, chainId, name, tags, dependsOn, counts } = revived
    assertSame(
      { status, hold, attempt, retryOf, chainId, name, tags, dependsOn, counts },
      {
        status: 'QUEUED',
        hold: 'dependencies',
        attempt: 2,
        retryOf: child.jobId,
        chainId: child.jobId,
        name: 'A sequel',
        tags: ['t'],
        dependsOn: [parent.claim.jobId],
        counts: NO_RETRIES_YET,
      },
    )
    assertSame([revived.cancelReason, revived.cancelRequestedAt], [null, null])
    await settle(stage, await startsLater(stage, again), 'COMPLETED')
    await startsLater(stage, revived.jobId)
  })

  test('without being asked for, they stay cancelled, whatever becomes of the retry', async (stage) => {
    const parent = await stage.start()
    const [childId] = await stage.enqueue([childOf([parent.claim.jobId])])
    await settle(stage, parent, 'FAILED')
    await settle(stage, await startsLater(stage, await retried(stage, parent.claim.jobId)), 'COMPLETED')
    assertSame(await statesOf(stage, [childId]), ['CANCELLED'])
    assert.equal((await lastOf(stage, childId)).attempt, 1)
  })

  test('theirs get one too, and so on down the line', async (stage) => {
    const parent = await stage.start()
    const one = childOf([parent.claim.jobId])
    const two = childOf([one])
    const three = childOf([two])
    const ids = await stage.enqueue([one, two, three])
    await settle(stage, parent, 'CANCELLED')
    assertSame(await statesOf(stage, ids), ['CANCELLED', 'CANCELLED', 'CANCELLED'])
    let next = await retried(stage, parent.claim.jobId, WITH_DEPENDENTS)
    for (const chainId of ids) {
      await settle(stage, await startsLater(stage, next), 'COMPLETED')
      next = (await lastOf(stage, chainId)).jobId
    }
    await startsLater(stage, next)
  })

  test('a child that was cancelled at its acceptance gets one too', async (stage) => {
    const parentId = await settled(stage, 'FAILED')
    const [childId] = await stage.enqueue([childOf([parentId])])
    const again = await retried(stage, parentId, WITH_DEPENDENTS)
    await settle(stage, await startsLater(stage, again), 'SKIPPED')
    await startsLater(stage, (await lastOf(stage, childId)).jobId)
  })

  test('a child that somebody cancelled, or that waits, or that ran, is left as it is', async (stage) => {
    const parent = await stage.start()
    const { jobId } = parent.claim
    const [unwanted, waiting, ran] = await stage.enqueue([
      childOf([jobId]),
      childOf([jobId], 'wait'),
      childOf([jobId], 'run', { type: 'poem' }),
    ])
    await stage.cancel(unwanted)
    await settle(stage, parent, 'FAILED')
    await settle(stage, await startsLater(stage, ran), 'FAILED')
    await retried(stage, jobId, WITH_DEPENDENTS)
    assertSame(await statesOf(stage, [unwanted, waiting, ran]), ['CANCELLED', 'QUEUED dependencies', 'FINISHED FAILED'])
    for (const chainId of [unwanted, waiting, ran]) assert.equal((await lastOf(stage, chainId)).attempt, 1)
  })

  test('a child that another failed parent forbids stays cancelled', async (stage) => {
    const [one, two] = [await stage.start(), await stage.start()]
    const child = childOf([one.claim.jobId, two.claim.jobId])
    const grandchild = childOf([child])
    const ids = await stage.enqueue([child, grandchild])
    await settle(stage, one, 'FAILED')
    await settle(stage, two, 'FAILED')
    await retried(stage, one.claim.jobId, WITH_DEPENDENTS)
    assertSame(await statesOf(stage, ids), ['CANCELLED', 'CANCELLED'])
  })

  test('a child of two failed parents gets its Job when both are tried again, whichever comes first', async (stage) => {
    for (const order of [
      [0, 1],
      [1, 0],
    ] as const) {
      const parents = [await stage.start(), await stage.start()] as const
      const [childId] = await stage.enqueue([childOf(parents.map(({ claim }) => claim.jobId))])
      for (const parent of parents) await settle(stage, parent, 'FAILED')
      const again: string[] = []
      for (const which of order) again.push(await retried(stage, parents[which].claim.jobId, WITH_DEPENDENTS))
      assertSame(await statesOf(stage, [childId]), ['QUEUED dependencies'])
      for (const job of await stage.claim({ now: LATER })) await settle(stage, job, 'COMPLETED')
      await settle(stage, await startsLater(stage, (await lastOf(stage, childId)).jobId), 'COMPLETED')
    }
  })

  test('a child waits for those of its other parents that live', async (stage) => {
    const [one, two] = [await stage.start(), await stage.start()]
    const [childId] = await stage.enqueue([childOf([one.claim.jobId, two.claim.jobId])])
    await settle(stage, one, 'FAILED')
    await settle(stage, await startsLater(stage, await retried(stage, one.claim.jobId, WITH_DEPENDENTS)), 'COMPLETED')
    assertSame(await statesOf(stage, [childId]), ['QUEUED dependencies'])
    await settle(stage, two, 'COMPLETED')
    await startsLater(stage, (await lastOf(stage, childId)).jobId)
  })

  test('a child whose business key is taken meanwhile stays cancelled; the others go on', async (stage) => {
    const parent = await stage.start()
    const keyed = childOf([parent.claim.jobId], 'cancel', { businessKey: 'b' })
    const [keyedId, behind, free] = await stage.enqueue([keyed, childOf([keyed]), childOf([parent.claim.jobId])])
    await settle(stage, parent, 'FAILED')
    const [holder] = await stage.enqueue([newJob({ businessKey: 'b', runAt: NOW + HOUR })])
    await retried(stage, parent.claim.jobId, WITH_DEPENDENTS)
    assertSame(await statesOf(stage, [keyedId, behind, free]), ['CANCELLED', 'CANCELLED', 'QUEUED dependencies'])
    assertSame(await statesOf(stage, [holder]), ['QUEUED delayed'])
  })

  test('a child that gets a new Job holds its business key again', async (stage) => {
    const parent = await stage.start()
    const [childId] = await stage.enqueue([childOf([parent.claim.jobId], 'cancel', { businessKey: 'b' })])
    await settle(stage, parent, 'FAILED')
    await retried(stage, parent.claim.jobId, WITH_DEPENDENTS)
    const refused = await stage.store.enqueueJobs([newJob({ businessKey: 'b' })], NOW)
    assertSame(refused, { kind: 'refused', conflict: { kind: 'business-key-taken', index: 0, jobId: childId } })
  })

  test('a parent that fails again cancels them again, and another retry gives them one more Job', async (stage) => {
    const parent = await stage.start()
    const [childId] = await stage.enqueue([childOf([parent.claim.jobId])])
    await settle(stage, parent, 'FAILED')
    const second = await retried(stage, parent.claim.jobId, WITH_DEPENDENTS)
    await settle(stage, await startsLater(stage, second), 'FAILED')
    assertSame(await statesOf(stage, [childId]), ['CANCELLED'])
    const third = await retried(stage, second, WITH_DEPENDENTS)
    await settle(stage, await startsLater(stage, third), 'COMPLETED')
    const last = await lastOf(stage, childId)
    assert.equal(last.attempt, 3)
    await startsLater(stage, last.jobId)
  })

  test('a diamond that was cancelled gets one new Job each', async (stage) => {
    const top = await stage.start()
    const [left, right] = [childOf([top.claim.jobId]), childOf([top.claim.jobId])]
    const bottom = childOf([left, right])
    const ids = await stage.enqueue([left, right, bottom])
    await settle(stage, top, 'FAILED')
    const again = await retried(stage, top.claim.jobId, WITH_DEPENDENTS)
    await settle(stage, await startsLater(stage, again), 'COMPLETED')
    assertSame(await statesOf(stage, ids), ['QUEUED', 'QUEUED', 'QUEUED dependencies'])
    for (const job of await stage.claim({ now: LATER })) await settle(stage, job, 'COMPLETED')
    const last = await lastOf(stage, bottom.jobId)
    assert.equal(last.attempt, 2)
    await startsLater(stage, last.jobId)
  })

  test('they come last at their own priority, in the order in which they were accepted', async (stage) => {
    const parent = await stage.start()
    const children = [0, 5, 0].map((priority) => childOf([parent.claim.jobId], 'cancel', { priority }))
    await stage.enqueue(children)
    await settle(stage, parent, 'FAILED')
    const [other] = await stage.enqueue([newJob()])
    const again = await retried(stage, parent.claim.jobId, WITH_DEPENDENTS)
    const [low, high, lower] = await Promise.all(idsOf(children).map(async (id) => (await lastOf(stage, id)).jobId))
    assertSame(await stage.queue(), [high, other, again, low, lower])
  })

  test('a waiting automatic retry that is made due brings them back too', async (stage) => {
    const parent = await stage.start()
    const [childId] = await stage.enqueue([childOf([parent.claim.jobId])])
    await settle(stage, parent, 'FAILED')
    const second = await startsLater(stage, await retried(stage, parent.claim.jobId))
    const automatic = newRetry({ runAt: NOW + HOUR })
    await stage.finish(second, { outcome: failed(), retry: automatic })
    const result = await retryByHand(stage, second.claim.jobId, WITH_DEPENDENTS)
    assertSame(result, { kind: 'made-due', jobId: automatic.jobId })
    assertSame(await statesOf(stage, [childId]), ['QUEUED dependencies'])
  })

  test('a refused retry brings nobody back', async (stage) => {
    const parent = await stage.start(newJob({ businessKey: 'b' }))
    const [childId] = await stage.enqueue([childOf([parent.claim.jobId])])
    await settle(stage, parent, 'FAILED')
    await stage.enqueue([newJob({ businessKey: 'b' })])
    const result = await stage.changesNothing(() => retryByHand(stage, parent.claim.jobId, WITH_DEPENDENTS))
    assert.equal(result.kind, 'business-key-taken')
    assertSame(await statesOf(stage, [childId]), ['CANCELLED'])
    const unknown = await stage.changesNothing(() => retryByHand(stage, newId(), WITH_DEPENDENTS))
    assert.equal(unknown.kind, 'not-found')
  })

  test('a child that its group has stopped because of this parent comes back too', async (stage) => {
    for (const mode of ['parallel', 'sequential'] as const) {
      const first = newJob()
      const members = [first, childOf([first])]
      await createGroup(stage, members, { mode })
      await settle(stage, await startsLater(stage, first.jobId), 'FAILED')
      const second = idsOf(members)[1] as string
      assertSame(await statesOf(stage, [second]), ['CANCELLED'])
      const again = await retried(stage, first.jobId, WITH_DEPENDENTS)
      assertSame(await statesOf(stage, [second]), ['QUEUED dependencies'])
      await settle(stage, await startsLater(stage, again), 'COMPLETED')
      await settle(stage, await startsLater(stage, (await lastOf(stage, second)).jobId), 'COMPLETED')
    }
  })

  test('the members of a sequential group come back one after the other', async (stage) => {
    const members = newJobs(3)
    await createGroup(stage, members, { mode: 'sequential' })
    const [first, ...others] = idsOf(members) as [string, string, string]
    await settle(stage, await startsLater(stage, first), 'FAILED')
    let next = await retried(stage, first, WITH_DEPENDENTS)
    for (const chainId of others) {
      await settle(stage, await startsLater(stage, next), 'COMPLETED')
      next = (await lastOf(stage, chainId)).jobId
    }
    await startsLater(stage, next)
  })

  test('a child that comes back does not wait for a member before it that does not', async (stage) => {
    const first = newJob()
    const members = [first, newJob(), childOf([first])]
    await createGroup(stage, members, { mode: 'sequential' })
    const running = await startsLater(stage, first.jobId)
    await stage.cancel(idsOf(members)[1] as string)
    await settle(stage, running, 'FAILED')
    const again = await retried(stage, first.jobId, WITH_DEPENDENTS)
    await settle(stage, await startsLater(stage, again), 'COMPLETED')
    for (const job of await stage.claim({ now: LATER })) await settle(stage, job, 'COMPLETED')
    assert.notEqual((await lastOf(stage, idsOf(members)[2] as string)).status, 'QUEUED')
  })

  test('what they did is told with the retry', async (stage) => {
    const parent = await stage.start()
    const [childId] = await stage.enqueue([childOf([parent.claim.jobId])])
    await settle(stage, parent, 'FAILED')
    const before = await stage.lastEventSeq()
    const again = await retried(stage, parent.claim.jobId, WITH_DEPENDENTS)
    const rows = await stage.readEvents(before, 10)
    const told = rows.map(({ transitions }) => transitions.map(({ kind, jobId, attempt }) => [kind, jobId, attempt]))
    assertSame(told, [
      [
        ['job.queued', again, 2],
        ['job.queued', (await lastOf(stage, childId)).jobId, 2],
      ],
    ])
  })
}
