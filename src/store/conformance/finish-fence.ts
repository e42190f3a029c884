import assert from 'node:assert/strict'
import {
  completed,
  endOf,
  failed,
  HOUR,
  logLines,
  NO_REPORT,
  NOW,
  newId,
  newJob,
  newJobs,
  newNode,
  newRetry,
  SECOND,
  skipped,
} from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

export function testFinishFence({ test }: Kit): void {
  test('a second, different outcome changes nothing and is told the first', async (stage) => {
    const job = await stage.start()
    await stage.finish(job)
    const result = await stage.changesNothing(() =>
      stage.finish(job, { outcome: failed(), retry: newRetry(), report: { ...NO_REPORT, logs: logLines(2) } }),
    )
    assertSame(result, { kind: 'already-finished', status: 'COMPLETED', reason: null })
  })

  test('another outcome at the same instant is another outcome', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: skipped() })
    const result = await stage.changesNothing(() => stage.finish(job, { outcome: completed() }))
    assertSame(result, { kind: 'already-finished', status: 'SKIPPED', reason: null })
  })

  test('a late finish after recovery changes nothing: no result, no follow-up, no log line', async (stage) => {
    const job = await stage.start()
    const rescuer = newNode()
    await stage.store.registerNode(rescuer)
    await stage.finish(job, { by: rescuer.nodeId, outcome: failed('crash'), retry: newRetry() })
    const late = endOf(job, {
      finishedAt: NOW + HOUR,
      followUps: [newJob()],
      report: { progress: { fraction: 1, message: null }, logs: logLines(3), artifacts: [], logsDropped: 0 },
    })
    const result = await stage.changesNothing(() => stage.finishAs(late))
    assertSame(result, { kind: 'already-finished', status: 'FAILED', reason: 'crash' })
  })

  test('a late finish cannot touch the retry that executes now', async (stage) => {
    const job = await stage.start()
    const rescuer = newNode()
    await stage.store.registerNode(rescuer)
    const retry = newRetry()
    await stage.finish(job, { by: rescuer.nodeId, outcome: failed('crash'), retry })
    const second = await stage.claimOne({ now: NOW + SECOND, nodeId: rescuer.nodeId })
    assert.equal((await stage.changesNothing(() => stage.finish(job))).kind, 'already-finished')
    assert.equal((await stage.finish(second)).kind, 'finished')
  })

  test('repeating my own finish is answered with `finished` and writes nothing twice', async (stage) => {
    const job = await stage.start()
    const end = endOf(job, {
      outcome: completed({ pages: 3 }),
      followUps: [newJob({ type: 'poem' })],
      report: { progress: { fraction: 1, message: 'done' }, logs: logLines(2), artifacts: [], logsDropped: 1 },
    })
    await stage.finishAs(end)
    const again = await stage.changesNothing(() => stage.finishAs(end))
    assert.equal(again.kind, 'finished')
    assert.equal(again.retryJobId, null)
  })

  test('repeating my own finish names the same retry, also when that has started', async (stage) => {
    const job = await stage.start()
    const retry = newRetry()
    const end = endOf(job, { outcome: failed(), retry })
    const expected = { kind: 'finished', retryJobId: retry.jobId, followUps: [] }
    assertSame(await stage.finishAs(end), expected)
    assertSame(await stage.changesNothing(() => stage.finishAs(end)), expected)
    const second = await stage.claimOne({ now: NOW + SECOND })
    assertSame(await stage.changesNothing(() => stage.finishAs(end)), expected)
    await stage.finish(second)
    assertSame(await stage.changesNothing(() => stage.finishAs(end)), expected)
  })

  test('the same finish twice in one list is written once', async (stage) => {
    const job = await stage.start()
    const end = endOf(job, { outcome: failed(), retry: newRetry() })
    const results = await stage.store.finishRuns([end, end], newId)
    assertSame(results[1], results[0])
    assert.equal((await stage.store.findChain(job.claim.jobId, NOW))?.items.length, 2)
  })

  test('two outcomes of one Run in one list: the first counts', async (stage) => {
    const job = await stage.start()
    const [first, second] = await stage.store.finishRuns([endOf(job), endOf(job, { outcome: failed() })], newId)
    assert.equal(first?.kind, 'finished')
    assertSame(second, { kind: 'already-finished', status: 'COMPLETED', reason: null })
  })

  test('what another node ended is not mine, although it says the same', async (stage) => {
    const job = await stage.start()
    const [one, two] = [newNode(), newNode()]
    for (const node of [one, two]) await stage.store.registerNode(node)
    const byOne = endOf(job, { by: one.nodeId, outcome: failed('crash'), retry: newRetry() })
    const byTwo = endOf(job, { by: two.nodeId, outcome: failed('crash'), retry: newRetry() })
    assert.equal((await stage.finishAs(byOne)).kind, 'finished')
    assertSame(await stage.changesNothing(() => stage.finishAs(byTwo)), {
      kind: 'already-finished',
      status: 'FAILED',
      reason: 'crash',
    })
  })

  test('a finish of a Run that was pruned since is answered as one that has ended', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: failed('timeout') })
    await stage.store.pruneChains({ endedBefore: NOW + HOUR, limit: 10, cursor: null })
    const late = await stage.changesNothing(() => stage.finish(job, { followUps: [newJob()] }))
    assertSame(late, { kind: 'already-finished', status: null, reason: null })
  })

  test('a claim whose Run was pruned cannot touch anything that came after it', async (stage) => {
    const old = await stage.start()
    await stage.finish(old, { outcome: failed('timeout') })
    await stage.store.pruneChains({ endedBefore: NOW + HOUR, limit: 10, cursor: null })
    const later = [await stage.start(), await stage.start()] as const
    await stage.finish(later[1], { outcome: failed('timeout'), body: 'executing' })
    const child = { pid: 1, startTime: '1', host: 'h', bootId: 'b', pidNamespace: 'n' }
    await stage.changesNothing(async () => {
      await stage.finish(old, { retry: newRetry() })
      await stage.release(old.claim)
      assert.equal(await stage.store.recordChild(old.claim, child, '/logs/1.log'), 'late')
      const report = { progress: { fraction: 1, message: null }, logs: logLines(1), artifacts: [], logsDropped: 1 }
      assertSame(await stage.store.recordReports([{ claim: old.claim, report }], NOW), ['late'])
    })
  })

  test('in a long list, a claim of a Run that is not the Job’s ends nothing', async (stage) => {
    await stage.enqueue(newJobs(20))
    const jobs = await stage.claim()
    const foreign = newId()
    const ends = jobs.map((job, index) =>
      endOf(index === 9 ? { ...job, claim: { ...job.claim, runId: foreign } } : job),
    )
    const results = await stage.store.finishRuns(ends, newId)
    for (const [index, { kind }] of results.entries())
      assert.equal(kind, index === 9 ? 'already-finished' : 'finished', `number ${index}`)
    const [, , , , , , , , , mine] = jobs
    assert.equal((await stage.run(mine?.claim.runId ?? '')).status, null)
    assert.equal((await stage.occupants()).length, 1)
  })

  test('many who finish the same Run at once: one wins, the others are told so', async (stage) => {
    const job = await stage.start()
    const ends = Array.from({ length: 10 }, (_, index) =>
      endOf(job, { outcome: index % 2 ? completed(index) : failed(), retry: index % 2 ? null : newRetry() }),
    )
    const results = await Promise.all(ends.map((end) => stage.finishAs(end)))
    assert.ok(results.some(({ kind }) => kind === 'finished'))
    const { status } = await stage.run(job.claim.runId)
    for (const result of results) if (result.kind === 'already-finished') assert.equal(result.status, status)
    const chain = await stage.store.findChain(job.claim.jobId, NOW)
    assert.equal(chain?.items.length, status === 'FAILED' ? 2 : 1)
  })
}
