import assert from 'node:assert/strict'
import { ARTIFACTS_MAX, LOG_LINES_MAX, type LogLine } from '../../domain/run.ts'
import type { ClaimedJob, RunReport } from '../runs.ts'
import { failed, HOUR, logLines, NO_REPORT, NOW, newId } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

const CHILD = { pid: 99, startTime: '12345', host: 'h', bootId: 'boot-1', pidNamespace: 'pid:[4026531836]' }

export function testReports({ test }: Kit): void {
  test('progress is kept as it was last reported', async (stage) => {
    const job = await stage.start()
    assert.equal(await report(stage, job, { progress: { fraction: 0.25, message: 'a quarter' } }), 'recorded')
    assertSame((await stage.run(job.claim.runId)).progress, { fraction: 0.25, message: 'a quarter' })
    await report(stage, job, { progress: { fraction: 0.5, message: null } })
    await report(stage, job, { logs: logLines(1) })
    assertSame((await stage.run(job.claim.runId)).progress, { fraction: 0.5, message: null })
  })

  test('log lines are kept in order, each as it was', async (stage) => {
    const job = await stage.start()
    const lines: LogLine[] = [
      { at: NOW + 3, level: 'debug', text: 'später „ü“ 💾', fields: '{"n":1}' },
      { at: NOW + 1, level: 'info', text: '', fields: null },
      { at: NOW + 2, level: 'warn', text: 'two\nlines', fields: null },
      { at: NOW + 2, level: 'error', text: 'same instant', fields: null },
    ]
    await report(stage, job, { logs: lines.slice(0, 2) })
    await report(stage, job, { logs: lines.slice(2, 3) })
    await stage.finish(job, { report: { ...NO_REPORT, logs: lines.slice(3) } })
    assertSame(await stage.store.readLogs(job.claim.runId, 0, 10), lines)
  })

  test('log lines are read in pages', async (stage) => {
    const job = await stage.start()
    const lines = logLines(7)
    await report(stage, job, { logs: lines })
    const { runId } = job.claim
    assertSame(await stage.store.readLogs(runId, 0, 3), lines.slice(0, 3))
    assertSame(await stage.store.readLogs(runId, 3, 3), lines.slice(3, 6))
    assertSame(await stage.store.readLogs(runId, 6, 3), lines.slice(6))
    assertSame(await stage.store.readLogs(runId, 7, 3), [])
    assertSame(await stage.store.readLogs(newId(), 0, 3), [])
  })

  test('artifacts and dropped lines add up', async (stage) => {
    const job = await stage.start()
    const [one, two] = [
      { name: 'draft', path: '/out/draft.md' },
      { name: 'final', path: '/out/final.md' },
    ]
    await report(stage, job, { artifacts: [one], logsDropped: 2 })
    await stage.finish(job, { report: { ...NO_REPORT, artifacts: [two], logsDropped: 3 } })
    const { artifacts, logsDropped } = await stage.run(job.claim.runId)
    assertSame({ artifacts, logsDropped }, { artifacts: [one, two], logsDropped: 5 })
  })

  test('lines over the cap are counted, not kept', async (stage) => {
    const job = await stage.start()
    await report(stage, job, { logs: logLines(LOG_LINES_MAX - 2) })
    await report(stage, job, { logs: logLines(5, 'more') })
    await stage.finish(job, { report: { ...NO_REPORT, logs: logLines(4, 'last') } })
    assert.equal((await stage.run(job.claim.runId)).logsDropped, 7)
    const tail = await stage.store.readLogs(job.claim.runId, LOG_LINES_MAX - 3, 10)
    assertSame(
      tail.map(({ text }) => text),
      [`line ${LOG_LINES_MAX - 2}`, 'more 1', 'more 2'],
    )
  })

  test('artifacts over the cap are not kept', async (stage) => {
    const job = await stage.start()
    const many = Array.from({ length: ARTIFACTS_MAX - 1 }, (_, index) => ({ name: `${index}`, path: `/${index}` }))
    await report(stage, job, { artifacts: many })
    await report(stage, job, { artifacts: many.slice(0, 3) })
    assert.equal((await stage.run(job.claim.runId)).artifacts.length, ARTIFACTS_MAX)
  })

  test('a late report changes nothing but the count of dropped lines', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { report: { ...NO_REPORT, logs: logLines(2) } })
    const before = await stage.run(job.claim.runId)
    const late = {
      progress: { fraction: 1, message: 'late' },
      logs: logLines(3),
      artifacts: [{ name: 'a', path: 'b' }],
    }
    assert.equal(await report(stage, job, late), 'late')
    assertSame(await stage.run(job.claim.runId), { ...before, logsDropped: 3 })
    assert.equal((await stage.store.readLogs(job.claim.runId, 0, 10)).length, 2)
  })

  test('a body that was given up is late too, although it executes', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: failed('timeout'), body: 'executing' })
    assert.equal(await report(stage, job, { progress: { fraction: 1, message: null } }), 'late')
    assert.equal((await stage.run(job.claim.runId)).progress, null)
  })

  test('each of many reports is answered in its place', async (stage) => {
    const [ended, open] = [await stage.start(), await stage.start()]
    await stage.finish(ended)
    const full = { ...NO_REPORT, logs: logLines(1) }
    const reports = [ended, open, ended].map(({ claim }) => ({ claim, report: full }))
    assertSame(await stage.store.recordReports(reports, NOW), ['late', 'recorded', 'late'])
    assertSame(await stage.store.readLogs(open.claim.runId, 0, 10), full.logs)
  })

  test('a child is recorded with its occupancy before it may begin', async (stage) => {
    const job = await stage.start()
    assert.equal(await stage.store.recordChild(job.claim, CHILD, '/logs/1.log'), 'recorded')
    assertSame(await stage.store.listOccupancies(stage.nodeId, 10), [{ job, ended: false, child: CHILD }])
    assert.equal((await stage.run(job.claim.runId)).logPath, '/logs/1.log')
    await stage.finish(job)
    assert.equal((await stage.run(job.claim.runId)).logPath, '/logs/1.log')
  })

  test('a child of a Run that has ended must not begin', async (stage) => {
    const [done, givenUp] = [await stage.start(), await stage.start()]
    await stage.finish(done)
    await stage.finish(givenUp, { outcome: failed('timeout'), body: 'executing', finishedAt: NOW + HOUR })
    for (const { claim } of [done, givenUp]) {
      assert.equal(await stage.changesNothing(() => stage.store.recordChild(claim, CHILD, '/logs/1.log')), 'late')
    }
  })
}

async function report(stage: Stage, job: ClaimedJob, parts: Partial<RunReport>): Promise<'recorded' | 'late'> {
  const [result] = await stage.store.recordReports([{ claim: job.claim, report: { ...NO_REPORT, ...parts } }], NOW)
  assert.ok(result)
  return result
}
