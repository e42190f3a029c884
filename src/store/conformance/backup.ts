import assert from 'node:assert/strict'
import { failed, HOUR, logLines, NO_REPORT, NOW, newJob, newRetry } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

export function testBackup({ testBackup }: Kit): void {
  testBackup('a copy has everything that was acknowledged before', async (stage, openBackup) => {
    const [queued] = await stage.enqueue([newJob({ type: 'poem', businessKey: 'b' })])
    const { claim, ...job } = await stage.start()
    const retry = newRetry({ runAt: NOW + HOUR })
    await stage.finish({ claim, ...job }, { outcome: failed(), retry, report: { ...NO_REPORT, logs: logLines(2) } })
    const copy = await openBackup()
    assertSame(await copy.job(queued), await stage.job(queued))
    assertSame(await copy.run(claim.runId), await stage.run(claim.runId))
    assertSame(await copy.store.findChain(claim.jobId, NOW), await stage.store.findChain(claim.jobId, NOW))
    assertSame(await copy.store.readLogs(claim.runId, 0, 10), logLines(2))
  })

  testBackup('a copy and its original go their own ways', async (stage, openBackup) => {
    const [jobId] = await stage.enqueue([newJob()])
    const copy = await openBackup()
    await stage.cancel(jobId)
    assert.equal((await copy.job(jobId)).status, 'QUEUED')
    assertSame(await copy.claimIds(), [jobId])
    assert.equal((await stage.job(jobId)).status, 'CANCELLED')
  })

  testBackup('work goes on while a copy is made', async (stage, openBackup) => {
    const before = await stage.enqueue([newJob()])
    const during = newJob()
    const [copy] = await Promise.all([openBackup(), stage.enqueue([during])])
    assertSame(await stage.queue(), [...before, during.jobId])
    assert.equal((await copy.job(before[0])).status, 'QUEUED')
  })
}
