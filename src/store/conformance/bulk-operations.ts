import assert from 'node:assert/strict'
import type { NewBulkOperation } from '../bulk-operations.ts'
import { childOf, createGroup } from './composition-steps.ts'
import { failed, HOUR, NOW, newId, newJob, newJobs, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

const LATER = NOW + SECOND

export function testBulkOperations({ test, testShared, testReopened, testDamage }: Kit): void {
  test('one that was started reads as it was given, and nothing is changed yet', async (stage) => {
    const [jobId] = await stage.enqueue([newJob()])
    const given = newOperation({ reason: 'wrong genre', createdBy: 'mary' })
    await stage.store.startOperation(given, NOW)
    assertSame(await stage.store.findOperation(given.operationId), {
      operationId: given.operationId,
      kind: 'cancel',
      filter: '{"type":"story"}',
      jobIds: null,
      mode: 'graceful',
      reason: 'wrong genre',
      createdBy: 'mary',
      status: 'RUNNING',
      matched: 7,
      isMatchedCapped: false,
      done: 0,
      changed: 0,
      skipped: 0,
      failed: 0,
      skipReasons: {},
      createdAt: NOW,
      updatedAt: NOW,
      endedAt: null,
    })
    assert.equal((await stage.job(jobId)).status, 'QUEUED')
    assert.equal(await stage.store.findOperation(newId()), null)
  })

  test('a page cancels its Jobs and notes how many there were and where the next begins', async (stage) => {
    const [a, b, c] = await stage.enqueue([newJob(), newJob(), newJob()])
    const operationId = await start(stage)
    await stage.cancel(b)
    const next = { walk: 1, cursor: '5' }
    assert.equal(await apply(stage, operationId, 0, [a, b, newId()], { next, failed: 2 }), 'applied')
    const [running] = await stage.store.findRunningOperations(10)
    assertSame([running?.pages, running?.place, running?.filter], [1, next, { type: 'story' }])
    const { done, changed, skipped, failed: failures, skipReasons, updatedAt } = await operation(stage, operationId)
    assertSame(
      { done, changed, skipped, failures, skipReasons, updatedAt },
      {
        done: 5,
        changed: 1,
        skipped: 2,
        failures: 2,
        skipReasons: { already_cancelled: 1, job_not_found: 1 },
        updatedAt: LATER,
      },
    )
    assertSame([(await stage.job(a)).status, (await stage.job(c)).status], ['CANCELLED', 'QUEUED'])
  })

  test('a page cancels Jobs that others wait for, members and holders of keys with all that follows', async (stage) => {
    const failing = await stage.start()
    await stage.finish(failing, { outcome: failed(), retry: newRetry({ runAt: NOW + HOUR }) })
    const [plain, delayed, keyed, parent] = await stage.enqueue([
      newJob(),
      newJob({ runAt: NOW + HOUR }),
      newJob({ businessKey: 'held' }),
      newJob(),
    ])
    const [child] = await stage.enqueue([childOf([parent])])
    const members = newJobs(3)
    await createGroup(stage, members, { onFailure: 'stop' })
    const member = members[0]?.jobId ?? ''
    const running = await stage.claimOne({ limit: 1 })
    assert.equal(running.claim.jobId, plain)
    const [late] = await stage.enqueue([newJob()])
    const operationId = await start(stage, { mode: 'abort', reason: 'all of it' })
    const page = [late, plain, delayed, keyed, child, parent, member, failing.claim.jobId, late]
    await apply(stage, operationId, 0, page)
    const { done, changed, skipped: passed, skipReasons } = await operation(stage, operationId)
    assertSame([done, changed, passed, skipReasons], [9, 8, 1, { already_cancelled: 1 }])
    for (const jobId of [late, delayed, keyed, child, parent, ...members.map((each) => each.jobId)]) {
      assert.equal((await stage.job(jobId)).status, 'CANCELLED')
    }
    const { cancelMode, cancelReason } = await stage.job(late)
    assertSame([cancelMode, cancelReason], ['abort', 'all of it'])
    assertSame((await stage.job(running.claim.jobId)).status, 'RUNNING')
    assertSame(
      (await stage.store.findChain(failing.claim.jobId, NOW))?.items.map(({ status }) => status),
      ['FINISHED', 'CANCELLED'],
    )
    // The key is free again.
    await stage.enqueue([newJob({ businessKey: 'held' })])
    assert.equal((await stage.store.readTotals()).cancelled, 9)
  })

  test('a Job that executes is asked to end, and what has ended is skipped', async (stage) => {
    const ended = await stage.start()
    await stage.finish(ended)
    const running = await stage.start()
    const operationId = await start(stage, { mode: 'abort', reason: 'fire' })
    await apply(stage, operationId, 0, [running.claim.jobId, ended.claim.jobId])
    const { cancelMode, cancelReason } = await stage.job(running.claim.jobId)
    assertSame([cancelMode, cancelReason], ['abort', 'fire'])
    const { changed, skipReasons } = await operation(stage, operationId)
    assertSame([changed, skipReasons], [1, { job_ended: 1 }])
  })

  test('who meant QUEUED Jobs leaves one that has started meanwhile', async (stage) => {
    const running = await stage.start()
    const operationId = await start(stage, { mode: 'only-queued' })
    await apply(stage, operationId, 0, [running.claim.jobId])
    assert.equal((await stage.job(running.claim.jobId)).cancelRequestedAt, null)
    assertSame((await operation(stage, operationId)).skipReasons, { job_not_queued: 1 })
  })

  test('a retry follows the rules of a retry by hand', async (stage) => {
    const broken = await stage.start()
    await stage.finish(broken, { outcome: failed() })
    const fine = await stage.start()
    await stage.finish(fine)
    const [cancelled] = await stage.enqueue([newJob()])
    await stage.cancel(cancelled)
    const keyed = await stage.start(newJob({ businessKey: 'k' }))
    await stage.finish(keyed, { outcome: failed() })
    await stage.enqueue([newJob({ businessKey: 'k' })])
    const operationId = await start(stage, { kind: 'retry', mode: null })
    await apply(stage, operationId, 0, [broken.claim.jobId, fine.claim.jobId, cancelled, keyed.claim.jobId])
    const { changed, skipReasons } = await operation(stage, operationId)
    assertSame([changed, skipReasons], [2, { not_retryable: 1, business_key_taken: 1 }])
    for (const jobId of [broken.claim.jobId, cancelled]) {
      const chain = await stage.store.findChain(jobId, LATER)
      assertSame(
        chain?.items.map(({ attempt, retryOf }) => [attempt, retryOf]),
        [
          [1, null],
          [2, jobId],
        ],
      )
    }
  })

  test('the last page completes it, and then it is known how many matched', async (stage) => {
    const ids = await stage.enqueue(newJobs(3))
    const operationId = await start(stage, { matched: { matched: 2, isMatchedCapped: true } })
    await apply(stage, operationId, 0, ids, { next: null })
    const { status, matched, isMatchedCapped, endedAt } = await operation(stage, operationId)
    assertSame([status, matched, isMatchedCapped, endedAt], ['COMPLETED', 3, false, LATER])
    assertSame(await stage.store.findRunningOperations(10), [])
  })

  test('a page that somebody else has applied changes nothing', async (stage) => {
    const [a, b] = await stage.enqueue([newJob(), newJob()])
    const operationId = await start(stage)
    await apply(stage, operationId, 0, [a])
    for (const pages of [0, 2]) {
      assert.equal(await stage.changesNothing(() => apply(stage, operationId, pages, [b])), 'lost')
    }
    assert.equal(await stage.changesNothing(() => apply(stage, newId(), 0, [b])), 'lost')
    assert.equal((await operation(stage, operationId)).done, 1)
  })

  testShared('of two who apply the same page at once, one does', async (stage, other) => {
    const ids = await stage.enqueue(newJobs(20))
    const operationId = await start(stage)
    const results = await Promise.all([stage, other].map((each) => apply(each, operationId, 0, ids)))
    assertSame(results.toSorted(), ['applied', 'lost'])
    const { done, changed } = await operation(stage, operationId)
    assertSame([done, changed], [20, 20])
  })

  testShared('pages go on while others claim and end the same Jobs', async (stage, other) => {
    const ids = await stage.enqueue(newJobs(40))
    const operationId = await start(stage)
    const work = async () => {
      for (const job of await other.claim({ limit: 8 })) await other.finish(job, { outcome: failed() })
    }
    const pages = async () => {
      for (let page = 0; page < 4; page++) {
        const next = page === 3 ? null : { walk: 0, cursor: null }
        assert.equal(await apply(stage, operationId, page, ids.slice(page * 10, page * 10 + 10), { next }), 'applied')
      }
    }
    await Promise.all([pages(), work(), work()])
    const { status, done, changed, skipped } = await operation(stage, operationId)
    assertSame([status, done, changed + skipped], ['COMPLETED', 40, 40])
  })

  test('one that is aborted does nothing more, and what was done stays', async (stage) => {
    const [a, b] = await stage.enqueue([newJob(), newJob()])
    const operationId = await start(stage)
    await apply(stage, operationId, 0, [a])
    assert.equal(await stage.store.abortOperation(operationId, LATER + 1), 'aborted')
    assert.equal(await stage.changesNothing(() => apply(stage, operationId, 1, [b])), 'lost')
    const { status, done, endedAt } = await operation(stage, operationId)
    assertSame([status, done, endedAt], ['ABORTED', 1, LATER + 1])
    assert.equal((await stage.job(b)).status, 'QUEUED')
    assert.equal(await stage.changesNothing(() => stage.store.abortOperation(operationId, LATER + 2)), 'ended')
    assert.equal(await stage.changesNothing(() => stage.store.abortOperation(newId(), LATER)), 'not-found')
  })

  testReopened('it is there after the store was closed, with its place', async (stage, reopen) => {
    const [a] = await stage.enqueue([newJob(), newJob()])
    const operationId = await start(stage)
    await apply(stage, operationId, 0, [a], { next: { walk: 2, cursor: '0:1:2:3' } })
    const again = await reopen()
    const [running] = await again.store.findRunningOperations(10)
    assertSame([running?.operation.operationId, running?.pages], [operationId, 1])
    assertSame(running?.place, { walk: 2, cursor: '0:1:2:3' })
  })

  test('named Jobs are kept as they were given', async (stage) => {
    const ids = [newId(), newId()]
    const operationId = await start(stage, { filter: null, jobIds: ids })
    assertSame((await operation(stage, operationId)).jobIds, ids)
    assertSame((await stage.store.findRunningOperations(10))[0]?.filter, null)
  })

  test('they are listed newest first, page by page, also by status', async (stage) => {
    const ids = [await start(stage), await start(stage), await start(stage)]
    await stage.store.abortOperation(ids[1] ?? '', LATER)
    const newest = ids.toReversed()
    const first = await stage.store.listOperations({ limit: 2 })
    assertSame(
      first.items.map(({ operationId }) => operationId),
      newest.slice(0, 2),
    )
    const second = await stage.store.listOperations({ limit: 2, cursor: first.nextCursor })
    assertSame([second.items.map(({ operationId }) => operationId), second.nextCursor], [newest.slice(2), null])
    const aborted = await stage.store.listOperations({ status: 'ABORTED', limit: 2 })
    assertSame(
      aborted.items.map(({ operationId }) => operationId),
      [ids[1]],
    )
    const running = await stage.store.findRunningOperations(10)
    assertSame(
      running.map((each) => each.operation.operationId),
      [ids[0], ids[2]],
    )
  })

  test('each step of it is told', async (stage) => {
    const [a] = await stage.enqueue([newJob()])
    const before = await stage.lastEventSeq()
    const operationId = await start(stage)
    await apply(stage, operationId, 0, [a], { next: null })
    const rows = await stage.readEvents(before, 10)
    assertSame(
      rows.flatMap(({ transitions }) =>
        transitions.map(({ kind, operation: told }) => [kind, told?.status, told?.done]),
      ),
      [
        ['operation.progress', 'RUNNING', 0],
        ['job.cancelled', undefined, undefined],
        ['operation.progress', 'COMPLETED', 1],
      ],
    )
  })

  test('those that ended long ago are pruned, the running ones never', async (stage) => {
    const [old, recent, running] = [await start(stage), await start(stage), await start(stage)]
    await stage.store.abortOperation(old, NOW)
    await stage.store.abortOperation(recent, NOW + HOUR)
    assert.equal(await stage.store.countPrunableOperations(NOW + HOUR), 1)
    assert.equal(await stage.store.pruneOperations(NOW + HOUR, 10), 1)
    assert.equal(await stage.store.findOperation(old), null)
    assert.equal(await stage.store.countPrunableOperations(NOW + 2 * HOUR), 1)
    for (const id of [recent, running]) assert.notEqual(await stage.store.findOperation(id), null)
  })

  testDamage('a page with a damaged Job fails as a whole, and can be applied without it', async (stage, damage) => {
    const { claim } = await stage.start()
    const [sound] = await stage.enqueue([newJob()])
    await damage('run-missing', claim.jobId)
    const operationId = await start(stage)
    // Whether it can be cancelled at all is the store's to say; what counts is that the page is all or nothing.
    const result = await apply(stage, operationId, 0, [sound, claim.jobId]).catch(() => 'failed')
    const { done } = await operation(stage, operationId)
    const { status } = await stage.job(sound)
    assertSame([done, status], result === 'applied' ? [2, 'CANCELLED'] : [0, 'QUEUED'])
    if (result === 'applied') return
    assert.equal(await apply(stage, operationId, 0, [sound], { failed: 1 }), 'applied')
  })
}

function newOperation(overrides: Partial<NewBulkOperation> = {}): NewBulkOperation {
  return {
    operationId: newId(),
    kind: 'cancel',
    filter: { type: 'story' },
    jobIds: null,
    mode: 'graceful',
    reason: null,
    createdBy: null,
    matched: { matched: 7, isMatchedCapped: false },
    ...overrides,
  }
}

async function start(stage: Stage, overrides: Partial<NewBulkOperation> = {}): Promise<string> {
  const given = newOperation(overrides)
  await stage.store.startOperation(given, NOW)
  return given.operationId
}

type Next = { readonly next?: { walk: number; cursor: string | null } | null; readonly failed?: number }

function apply(
  stage: Stage,
  operationId: string,
  pages: number,
  jobIds: readonly string[],
  { next = { walk: 0, cursor: null }, failed: failures = 0 }: Next = {},
): Promise<'applied' | 'lost'> {
  return stage.store.applyOperationPage({ operationId, pages, jobIds, failed: failures, next, newId, now: LATER })
}

async function operation(stage: Stage, operationId: string) {
  const found = await stage.store.findOperation(operationId)
  assert.ok(found !== null)
  return found
}
