import assert from 'node:assert/strict'
import type { PruneRequest } from '../maintenance.ts'
import { failed, HOUR, logLines, NO_REPORT, NOW, newId, newJob, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

/** Everything in these tests ends one second after NOW, if nothing else is said. */
const AFTER = NOW + HOUR

export function testPrune({ test }: Kit): void {
  test('a settled chain goes with all that belongs to it', async (stage) => {
    const first = await stage.start()
    await stage.finish(first, { outcome: failed(), retry: newRetry() })
    const second = await stage.claimOne({ now: NOW + SECOND })
    await stage.finish(second, { report: { ...NO_REPORT, logs: logLines(2) } })
    const kept = await stage.start()
    assert.equal(await prune(stage), 2)
    for (const { claim } of [first, second]) {
      assert.equal(await stage.store.findJob(claim.jobId, NOW), null)
      assert.equal(await stage.store.findRun(claim.runId), null)
      assert.equal(await stage.store.findChain(claim.jobId, NOW), null)
      assertSame(await stage.store.readLogs(claim.runId, 0, 10), [])
    }
    assertSame(await stage.store.findChainEnds([first.claim.jobId]), [])
    assert.equal((await stage.finish(kept)).kind, 'finished')
  })

  test('a cancelled chain goes too', async (stage) => {
    const [jobId] = await stage.enqueue([newJob()])
    await stage.cancel(jobId)
    assert.equal(await prune(stage), 1)
    assert.equal(await stage.store.findJob(jobId, NOW), null)
  })

  test('a chain that ended at that instant or later stays', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { finishedAt: AFTER })
    assert.equal(await stage.changesNothing(() => prune(stage, { endedBefore: AFTER })), 0)
    assert.equal(await prune(stage, { endedBefore: AFTER + 1 }), 1)
  })

  test('a live chain stays with all its earlier attempts', async (stage) => {
    await stage.enqueue([newJob(), newJob({ runAt: AFTER })])
    const [first] = await stage.claim()
    assert.ok(first)
    await stage.finish(first, { outcome: failed(), retry: newRetry({ runAt: AFTER }) })
    await stage.start(newJob({ type: 'poem' }))
    assert.equal(await stage.changesNothing(() => prune(stage)), 0)
  })

  test('a chain counts from the end of its last Job', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: failed(), retry: newRetry() })
    const last = await stage.claimOne({ now: NOW + SECOND })
    await stage.finish(last, { finishedAt: AFTER + HOUR })
    assert.equal(await stage.changesNothing(() => prune(stage)), 0)
  })

  test('a chain whose body still executes stays', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: failed('timeout'), body: 'executing' })
    assert.equal(await stage.changesNothing(() => prune(stage)), 0)
    await stage.release(job.claim)
    assert.equal(await prune(stage), 1)
  })

  test('chains go page by page, until everything has been looked at', async (stage) => {
    for (let count = 0; count < 7; count++) {
      await stage.finish(await stage.start())
      await stage.start(newJob({ type: 'poem' }))
    }
    const first = await stage.store.pruneChains({ endedBefore: AFTER, limit: 2, cursor: null })
    assert.ok(first.jobsRemoved <= 2)
    assert.notEqual(first.nextCursor, null)
    assert.equal(first.jobsRemoved + (await prune(stage, { limit: 2, cursor: first.nextCursor })), 7)
    const { items } = await stage.store.listJobs({ limit: 100 }, NOW)
    assertSame(new Set(items.map(({ status }) => status)), new Set(['RUNNING']))
    assert.equal(items.length, 7)
  })

  test('the log files of what was removed are named, so that they can be deleted', async (stage) => {
    const [gone, kept] = [await stage.start(), await stage.start()]
    const child = { pid: 1, startTime: '1', host: 'h', bootId: 'b', pidNamespace: 'n' }
    await stage.store.recordChild(gone.claim, child, '/logs/gone.log')
    await stage.store.recordChild(kept.claim, child, '/logs/kept.log')
    await stage.finish(gone)
    const page = await stage.store.pruneChains({ endedBefore: AFTER, limit: 10, cursor: null })
    assertSame(page.logPaths, ['/logs/gone.log'])
  })

  test('a chain that was accepted by a clock ahead hides no other', async (stage) => {
    await stage.enqueue([newJob({ type: 'poem' })], AFTER + HOUR)
    await stage.finish(await stage.start())
    assert.equal(await prune(stage), 1)
  })

  test('pruning again finds nothing more', async (stage) => {
    await stage.finish(await stage.start())
    await prune(stage)
    assert.equal(await stage.changesNothing(() => prune(stage)), 0)
  })

  test('a business key that a pruned chain had is not taken from its present holder', async (stage) => {
    const holder = () => newJob({ businessKey: 'b' })
    await stage.finish(await stage.start(holder()))
    await stage.enqueue([holder()])
    assert.equal(await prune(stage), 1)
    const refused = await stage.store.enqueueJobs([holder()], NOW)
    assert.equal(refused.kind, 'refused')
  })

  test('a pruned Job cannot be retried or cancelled', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: failed() })
    await prune(stage)
    const by = { runId: job.claim.runId }
    const retried = await stage.store.retryByHand({ by, newJobId: newId(), priority: null, now: AFTER })
    assertSame(retried, { kind: 'not-found' })
    assertSame(await stage.cancel(job.claim.jobId), { kind: 'not-found' })
  })

  test('what would go is counted beforehand, to the last Job, and nothing goes', async (stage) => {
    const first = await stage.start()
    await stage.finish(first, { outcome: failed(), retry: newRetry() })
    await stage.finish(await stage.claimOne({ now: NOW + SECOND }))
    for (let count = 0; count < 4; count++) {
      await stage.finish(await stage.start())
      await stage.start(newJob({ type: 'poem' }))
    }
    const late = await stage.start()
    await stage.finish(late, { finishedAt: AFTER })
    assert.equal(await stage.changesNothing(() => countPrunable(stage, 2)), 6)
    assert.equal(await prune(stage), 6)
    assert.equal(await countPrunable(stage, 2), 0)
  })

  test('the events of other Jobs keep their places in a commit of which a Job went', async (stage) => {
    const jobIds = await stage.enqueue([newJob(), newJob(), newJob()])
    const [told] = await stage.readEvents(0, 1)
    assert.ok(told)
    await stage.cancel(jobIds[1] as string)
    assert.equal(await prune(stage), 1)
    const [left] = await stage.readEvents(told.seq - 1, 1)
    assert.ok(left)
    assert.equal(left.seq, told.seq)
    for (const index of [0, 2]) {
      const position = left.indexes === undefined ? index : left.indexes.indexOf(index)
      assertSame(left.transitions[position], told.transitions[index])
    }
  })

  test('event rows go by age, as many as asked; the newest stays, so that no number is used again', async (stage) => {
    for (const now of [NOW, NOW + 1, NOW + 2, NOW + HOUR]) await stage.enqueue([newJob()], now)
    const rows = await stage.readEvents(0, 10)
    assert.equal(await stage.store.pruneEvents(NOW + HOUR, 2), 2)
    assertSame(await stage.readEvents(0, 10), rows.slice(2))
    assert.equal(await stage.store.pruneEvents(NOW + HOUR, 10), 1)
    assertSame(await stage.readEvents(0, 10), rows.slice(3))
    assert.equal(await stage.store.pruneEvents(NOW + 2 * HOUR, 10), 0)
    await stage.enqueue([newJob()], NOW + HOUR)
    assert.equal(await stage.store.pruneEvents(NOW + 2 * HOUR, 10), 1)
    const [newest, ...others] = await stage.readEvents(0, 10)
    assert.deepEqual(others, [])
    assert.ok(newest && newest.seq > (rows.at(-1)?.seq ?? 0))
  })
}

const PAGES_MAX = 50

/** Prunes page by page to the end, and returns how many Jobs went. */
async function prune(stage: Stage, request: Partial<PruneRequest> = {}): Promise<number> {
  let removed = 0
  let cursor = request.cursor ?? null
  for (let page = 0; page < PAGES_MAX; page++) {
    const result = await stage.store.pruneChains({ endedBefore: AFTER, limit: 10, ...request, cursor })
    removed += result.jobsRemoved
    cursor = result.nextCursor
    if (cursor === null) return removed
  }
  assert.fail(`pruning does not end within ${PAGES_MAX} pages`)
}

async function countPrunable(stage: Stage, limit: number): Promise<number> {
  let jobs = 0
  let cursor: string | null = null
  for (let page = 0; page < PAGES_MAX; page++) {
    const counted = await stage.store.countPrunableChains({ endedBefore: AFTER, limit, cursor })
    jobs += counted.jobs
    cursor = counted.nextCursor
    if (cursor === null) return jobs
  }
  assert.fail(`counting does not end within ${PAGES_MAX} pages`)
}
