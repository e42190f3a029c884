import assert from 'node:assert/strict'
import type { ChainOutcome } from '../../domain/chain.ts'
import type { OnParentFailure } from '../../domain/dependency.ts'
import { childOf, idsOf, LATER, lastOf, retried, settle, settled, startsLater, statesOf } from './composition-steps.ts'
import { completed, failed, HOUR, NOW, newId, newJob, newNode, newRetry } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

/** What becomes of a child when its parent's chain settles so. */
const RULES: readonly (readonly [ChainOutcome, OnParentFailure, string])[] = [
  ['COMPLETED', 'cancel', 'QUEUED'],
  ['COMPLETED', 'run', 'QUEUED'],
  ['COMPLETED', 'wait', 'QUEUED'],
  ['SKIPPED', 'cancel', 'QUEUED'],
  ['SKIPPED', 'run', 'QUEUED'],
  ['SKIPPED', 'wait', 'QUEUED'],
  ['FAILED', 'cancel', 'CANCELLED'],
  ['FAILED', 'run', 'QUEUED'],
  ['FAILED', 'wait', 'QUEUED dependencies'],
  ['CANCELLED', 'cancel', 'CANCELLED'],
  ['CANCELLED', 'run', 'QUEUED'],
  ['CANCELLED', 'wait', 'QUEUED dependencies'],
]

export function testDependencies({ test, testShared, testTransaction }: Kit): void {
  test('a Job waits for its parent, and starts when that one is COMPLETED', async (stage) => {
    const parent = await stage.start()
    const child = childOf([parent.claim.jobId])
    await stage.enqueue([child])
    const { status, hold, dependsOn } = await stage.job(child.jobId)
    assertSame([status, hold, dependsOn], ['QUEUED', 'dependencies', [parent.claim.jobId]])
    assertSame(await stage.claim({ now: LATER }), [])
    // Only its parent can let it start; no instant can.
    assert.equal(await stage.store.nextDueAt(), null)
    await settle(stage, parent, 'COMPLETED')
    assert.equal((await stage.job(child.jobId)).hold, null)
    const claimed = await startsLater(stage, child.jobId)
    assert.equal(claimed.hasParents, true)
  })

  test('a Job tells what becomes of it when a parent fails, if it has one', async (stage) => {
    const [parent] = await stage.enqueue([newJob()])
    for (const onParentFailure of ['cancel', 'run', 'wait'] as const) {
      const [child] = await stage.enqueue([newJob({ dependsOn: [parent], onParentFailure })])
      assert.equal((await stage.job(child)).onParentFailure, onParentFailure)
    }
    assert.equal((await stage.job(parent)).onParentFailure, null)
  })

  test('a Job that depends on nobody says so', async (stage) => {
    const job = await stage.start()
    assert.equal(job.hasParents, false)
    assertSame((await stage.job(job.claim.jobId)).dependsOn, [])
  })

  for (const [outcome, onFailure, state] of RULES) {
    test(`a parent that settles ${outcome} means to a Job with \`${onFailure}\`: ${state}`, async (stage) => {
      const parent = await stage.start()
      const [childId] = await stage.enqueue([childOf([parent.claim.jobId], onFailure)])
      await settle(stage, parent, outcome)
      assertSame(await statesOf(stage, [childId]), [state])
      assertSame(await stage.claimIds({ now: LATER }), state === 'QUEUED' ? [childId] : [])
    })

    test(`a parent that had settled ${outcome} before means the same with \`${onFailure}\``, async (stage) => {
      const parentId = await settled(stage, outcome)
      const [childId] = await stage.enqueue([childOf([parentId], onFailure)])
      assertSame(await statesOf(stage, [childId]), [state])
      assertSame(await stage.claimIds({ now: LATER }), state === 'QUEUED' ? [childId] : [])
    })
  }

  test('the reason of a cancelled child names its parent', async (stage) => {
    const parentId = await settled(stage, 'FAILED')
    const live = await stage.start()
    const children = [childOf([parentId]), childOf([live.claim.jobId])] as const
    await stage.enqueue(children)
    await settle(stage, live, 'CANCELLED')
    const reasons = await Promise.all(children.map(async ({ jobId }) => (await stage.job(jobId)).cancelReason))
    assert.match(reasons[0] ?? '', new RegExp(parentId))
    assert.match(reasons[1] ?? '', new RegExp(live.claim.jobId))
    assertSame(
      (await stage.store.findChainEnds(idsOf(children))).map(({ outcome, runId }) => [outcome, runId]),
      [
        ['CANCELLED', null],
        ['CANCELLED', null],
      ],
    )
  })

  test('an unknown parent is refused, and nothing of the list is stored', async (stage) => {
    const known = await stage.start()
    const unknown = newId()
    const jobs = [newJob({ businessKey: 'b' }), childOf([known.claim.jobId, unknown])]
    const result = await stage.changesNothing(() => stage.store.enqueueJobs(jobs, NOW))
    assertSame(result, { kind: 'refused', conflict: { kind: 'parent-not-found', index: 1, jobId: unknown } })
    await stage.enqueue([newJob({ businessKey: 'b' })])
  })

  test('a parent that was pruned is unknown', async (stage) => {
    const parentId = await settled(stage, 'COMPLETED')
    await stage.store.pruneChains({ endedBefore: LATER, limit: 10, cursor: null })
    const result = await stage.store.enqueueJobs([childOf([parentId])], NOW)
    assertSame(result, { kind: 'refused', conflict: { kind: 'parent-not-found', index: 0, jobId: parentId } })
  })

  test('a conflict between other calls of the same moment touches neither parent nor child', async (stage) => {
    const parent = await stage.start()
    const [child, doomed] = [childOf([parent.claim.jobId]), childOf([newId()])]
    const [ended, accepted, refused] = await Promise.all([
      stage.finish(parent),
      stage.store.enqueueJobs([child], NOW),
      stage.store.enqueueJobs([doomed], NOW),
    ])
    assertSame([ended.kind, accepted.kind, refused.kind], ['finished', 'enqueued', 'refused'])
    assertSame(await stage.claimIds({ now: LATER }), [child.jobId])
  })

  test('any id of a chain stands for the chain', async (stage) => {
    const first = await stage.start()
    const retry = newRetry()
    await stage.finish(first, { outcome: failed(), retry })
    const children = [childOf([first.claim.jobId]), childOf([retry.jobId])] as const
    const childIds = await stage.enqueue(children)
    const second = await startsLater(stage, retry.jobId)
    assertSame(await statesOf(stage, childIds), ['QUEUED dependencies', 'QUEUED dependencies'])
    await settle(stage, second, 'COMPLETED')
    assertSame(await stage.claimIds({ now: LATER }), childIds)
    assertSame((await stage.job(children[1].jobId)).dependsOn, [retry.jobId])
    // The chain has settled, so the failed first attempt means nothing any more.
    const [late] = await stage.enqueue([childOf([first.claim.jobId])])
    assertSame(await statesOf(stage, [late]), ['QUEUED'])
  })

  test('several ids of one chain are met together', async (stage) => {
    const first = await stage.start()
    const retry = newRetry()
    await stage.finish(first, { outcome: failed(), retry })
    const second = await startsLater(stage, retry.jobId)
    const other = await stage.start()
    const [childId] = await stage.enqueue([childOf([first.claim.jobId, retry.jobId, other.claim.jobId])])
    await settle(stage, second, 'COMPLETED')
    assertSame(await statesOf(stage, [childId]), ['QUEUED dependencies'])
    await settle(stage, other, 'COMPLETED')
    assertSame(await stage.claimIds({ now: LATER }), [childId])
  })

  test('a parent that is named twice is one parent', async (stage) => {
    const parent = await stage.start()
    const { jobId } = parent.claim
    const [childId] = await stage.enqueue([childOf([jobId, jobId])])
    assertSame((await stage.job(childId)).dependsOn, [jobId])
    await settle(stage, parent, 'COMPLETED')
    await startsLater(stage, childId)
  })

  test('the parents of a Job read in the order in which they were named', async (stage) => {
    const [one, two, three] = await stage.enqueue([newJob(), newJob(), newJob()])
    const [childId] = await stage.enqueue([childOf([two, three, one])])
    assertSame((await stage.job(childId)).dependsOn, [two, three, one])
  })

  test('each parent is met once, and the last one releases the Job', async (stage) => {
    const [one, two, three] = [await stage.start(), await stage.start(), await stage.start()]
    const [childId] = await stage.enqueue([childOf([one, two, three].map(({ claim }) => claim.jobId))])
    await settle(stage, one, 'COMPLETED')
    // The reply was lost, and the node says it again.
    await settle(stage, one, 'COMPLETED')
    await settle(stage, two, 'SKIPPED')
    assertSame(await statesOf(stage, [childId]), ['QUEUED dependencies'])
    await settle(stage, three, 'COMPLETED')
    await startsLater(stage, childId)
  })

  test('of several parents, one that fails cancels the Job, whatever the others do', async (stage) => {
    const [one, two] = [await stage.start(), await stage.start()]
    const [childId] = await stage.enqueue([childOf([one.claim.jobId, two.claim.jobId])])
    await settle(stage, two, 'FAILED')
    assertSame(await statesOf(stage, [childId]), ['CANCELLED'])
    await stage.finish(one)
    assertSame(await stage.claim({ now: LATER }), [])
    assert.equal((await lastOf(stage, childId)).attempt, 1)
  })

  test('the Jobs of a list may depend on each other in any order', async (stage) => {
    const top = newJob()
    const [left, right] = [childOf([top]), childOf([top])]
    const bottom = childOf([left, right])
    await stage.enqueue([bottom, right, top, left])
    const executed: string[] = []
    for (let round = 0; round < 3; round++) {
      const claimed = await stage.claim({ now: LATER })
      executed.push(...claimed.map(({ claim }) => claim.jobId))
      for (const job of claimed) await settle(stage, job, 'COMPLETED')
    }
    // A diamond runs once, each Job after those it depends on, and equals in the order of the list.
    assertSame(executed, idsOf([top, right, left, bottom]))
    assertSame(await stage.claim({ now: LATER }), [])
  })

  test('in a list, a Job whose parent cannot run is cancelled with all that depends on it', async (stage) => {
    const failedId = await settled(stage, 'FAILED')
    const child = childOf([failedId])
    const grandchild = childOf([child])
    const stubborn = childOf([child], 'run')
    const ids = await stage.enqueue([grandchild, stubborn, child])
    assertSame(await statesOf(stage, ids), ['CANCELLED', 'QUEUED', 'CANCELLED'])
    assert.match((await stage.job(grandchild.jobId)).cancelReason ?? '', new RegExp(child.jobId))
    assertSame(await stage.claimIds({ now: LATER }), [stubborn.jobId])
  })

  test('a cancellation goes down a line of dependents, and stops at one that runs all the same', async (stage) => {
    const parent = await stage.start()
    const one = childOf([parent.claim.jobId])
    const two = childOf([one])
    const three = childOf([two], 'run')
    const four = childOf([three])
    const ids = await stage.enqueue([one, two, three, four])
    await settle(stage, parent, 'FAILED')
    assertSame(await statesOf(stage, ids), ['CANCELLED', 'CANCELLED', 'QUEUED', 'QUEUED dependencies'])
    assertSame(await stage.claimIds({ now: LATER }), [three.jobId])
  })

  test('a list may depend on the Job that a used idempotency key stands for', async (stage) => {
    const idempotency = { key: 'k', fingerprint: 'f' }
    const first = await stage.start(newJob({ idempotency }))
    const repeated = newJob({ idempotency })
    const child = childOf([repeated])
    const result = await stage.store.enqueueJobs([repeated, child], NOW)
    assert.equal(result.kind, 'enqueued')
    assertSame(
      result.items.map(({ kind, jobId }) => [kind, jobId]),
      [
        ['existing', first.claim.jobId],
        ['created', child.jobId],
      ],
    )
    assertSame(await statesOf(stage, [child.jobId]), ['QUEUED dependencies'])
    await settle(stage, first, 'COMPLETED')
    await startsLater(stage, child.jobId)
    // The other id was never stored, so nobody could follow it.
    assertSame((await stage.job(child.jobId)).dependsOn, [first.claim.jobId])
    assertSame([...(await stage.store.findParentResults(child.jobId)).keys()], [first.claim.jobId])
  })

  test('a list may depend on a Job that has the idempotency key of another one of the list', async (stage) => {
    const idempotency = { key: 'k', fingerprint: 'f' }
    const [first, repeated] = [newJob({ idempotency }), newJob({ idempotency })]
    const child = childOf([repeated])
    const result = await stage.store.enqueueJobs([first, repeated, child], NOW)
    assert.equal(result.kind, 'enqueued')
    assertSame((await stage.job(child.jobId)).dependsOn, [first.jobId])
    await settle(stage, await startsLater(stage, first.jobId), 'COMPLETED')
    await startsLater(stage, child.jobId)
  })

  test('the results of the parents are found under the ids by which they were named', async (stage) => {
    const one = await stage.start()
    await stage.finish(one, { outcome: completed({ one: 1 }) })
    const first = await stage.start()
    const retry = newRetry()
    await stage.finish(first, { outcome: failed(), retry })
    await stage.finish(await startsLater(stage, retry.jobId), { outcome: completed({ two: 2 }) })
    const skippedId = await settled(stage, 'SKIPPED')
    const failedId = await settled(stage, 'FAILED')
    const parents = [one.claim.jobId, first.claim.jobId, skippedId, failedId]
    const child = await stage.start(childOf(parents, 'run'))
    const expected = new Map([
      [one.claim.jobId, '{"one":1}'],
      // Of a chain, the result of the Job that ended it.
      [first.claim.jobId, '{"two":2}'],
      [skippedId, null],
      [failedId, null],
    ])
    assertSame(await stage.store.findParentResults(child.claim.jobId), expected)
    const again = newRetry()
    await stage.finish(child, { outcome: failed(), retry: again })
    assertSame(await stage.store.findParentResults(again.jobId), expected)
    assertSame(await stage.store.findParentResults(one.claim.jobId), new Map())
    assertSame(await stage.store.findParentResults(newId()), new Map())
  })

  test('a follow-up may depend on the Job that asks for it; one with an unknown parent is dropped', async (stage) => {
    const live = await stage.start()
    const job = await stage.start()
    const own = childOf([job.claim.jobId])
    const waiting = childOf([job.claim.jobId, live.claim.jobId])
    const dropped = childOf([newId()])
    const result = await stage.finish(job, { followUps: [own, waiting, dropped] })
    assertSame(result, {
      kind: 'finished',
      retryJobId: null,
      followUps: [
        { kind: 'created', jobId: own.jobId },
        { kind: 'created', jobId: waiting.jobId },
        { kind: 'dropped', jobId: dropped.jobId },
      ],
    })
    assertSame(await stage.claimIds({ now: LATER }), [own.jobId])
    await settle(stage, live, 'COMPLETED')
    await startsLater(stage, waiting.jobId)
  })

  test('the end of a Run that recovery writes releases its children too', async (stage) => {
    const parent = await stage.start()
    const [childId] = await stage.enqueue([childOf([parent.claim.jobId], 'run')])
    const other = newNode()
    await stage.store.registerNode(other)
    await stage.finish(parent, { by: other.nodeId, outcome: failed('crash') })
    await startsLater(stage, childId)
  })

  test('what a parent’s end does to its children is told in the same row of events', async (stage) => {
    const [good, bad] = [await stage.start(), await stage.start()]
    const [both, released, cancelled] = await stage.enqueue([
      childOf([good.claim.jobId, bad.claim.jobId], 'run'),
      childOf([good.claim.jobId]),
      childOf([bad.claim.jobId]),
    ])
    const before = await stage.lastEventSeq()
    await settle(stage, good, 'COMPLETED')
    await settle(stage, bad, 'FAILED')
    const rows = await stage.readEvents(before, 10)
    const told = rows.map(({ transitions }) => transitions.map(({ kind, jobId, status }) => [kind, jobId, status]))
    assertSame(told, [
      [
        ['job.finished', good.claim.jobId, 'FINISHED'],
        ['job.released', released, 'QUEUED'],
      ],
      [
        ['job.finished', bad.claim.jobId, 'FINISHED'],
        ['job.released', both, 'QUEUED'],
        ['job.cancelled', cancelled, 'CANCELLED'],
      ],
    ])
  })

  test('a parent stays in the history while a child of it lives', async (stage) => {
    const parent = await stage.start()
    const [waiting] = await stage.enqueue([childOf([parent.claim.jobId], 'wait')])
    await settle(stage, parent, 'FAILED')
    const prune = () => stage.store.pruneChains({ endedBefore: LATER, limit: 10, cursor: null })
    assert.equal((await prune()).jobsRemoved, 0)
    await stage.cancel(waiting)
    assert.equal((await prune()).jobsRemoved, 2)
  })

  test('a child outlives its pruned parent, and can be retried by hand', async (stage) => {
    const parentId = await settled(stage, 'COMPLETED')
    const failedId = await settled(stage, 'FAILED')
    const child = await stage.start(childOf([parentId]))
    await stage.finish(child, { outcome: failed(), finishedAt: NOW + HOUR })
    const [cancelled] = await stage.enqueue([childOf([failedId])], NOW + HOUR)
    const page = await stage.store.pruneChains({ endedBefore: LATER, limit: 10, cursor: null })
    assert.equal(page.jobsRemoved, 2)
    assertSame((await stage.job(child.claim.jobId)).dependsOn, [parentId])
    assertSame(await stage.store.findParentResults(child.claim.jobId), new Map([[parentId, null]]))
    const again = [await retried(stage, child.claim.jobId), await retried(stage, cancelled)]
    assertSame(await stage.claimIds({ now: LATER }), again)
  })

  testTransaction(
    'a Job of the caller’s transaction may depend on others, in the list and outside',
    async (stage, within) => {
      const live = await stage.start()
      const failedId = await settled(stage, 'FAILED')
      const first = childOf([live.claim.jobId])
      const second = childOf([first])
      const doomed = childOf([failedId])
      const afterDoomed = childOf([doomed])
      await within('commit', async (transaction) => {
        await stage.store.enqueueJobsWithin(transaction, [second, first, afterDoomed, doomed], NOW)
      })
      assertSame(await statesOf(stage, idsOf([first, second, doomed, afterDoomed])), [
        'QUEUED dependencies',
        'QUEUED dependencies',
        'CANCELLED',
        'CANCELLED',
      ])
      await settle(stage, live, 'COMPLETED')
      await settle(stage, await startsLater(stage, first.jobId), 'COMPLETED')
      await startsLater(stage, second.jobId)
    },
  )

  testShared('whoever comes first, a child never waits for a parent that has settled', async (stage, other) => {
    for (let round = 0; round < 20; round++) {
      const parent = await stage.start()
      const child = childOf([parent.claim.jobId], 'cancel', { type: 'poem' })
      await Promise.all([stage.finish(parent), other.enqueue([child])])
      const claimed = await stage.claim({ now: LATER, types: new Map([['poem', 1]]) })
      assertSame(
        claimed.map(({ claim }) => claim.jobId),
        [child.jobId],
      )
    }
  })
}
