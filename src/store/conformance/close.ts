import assert from 'node:assert/strict'
import { NOW, newJob, newJobs } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

export function testClose({ testReopened }: Kit): void {
  testReopened('waits for what is under way', async (stage, reopen) => {
    const jobs = newJobs(5)
    const answers = jobs.map((job) => stage.enqueue([job]))
    const reopened = await reopen()
    await Promise.all(answers)
    assertSame((await reopened.queue()).toSorted(), jobs.map(({ jobId }) => jobId).toSorted())
  })

  testReopened('is the end: later calls fail and change nothing', async (stage, reopen) => {
    const [jobId] = await stage.enqueue([newJob()])
    const reopened = await reopen()
    await reopened.changesNothing(async () => {
      await assert.rejects(async () => stage.store.enqueueJobs([newJob()], NOW))
      await assert.rejects(async () => stage.claim())
      await assert.rejects(async () => stage.store.findJob(jobId, NOW))
    })
  })

  testReopened('leaves the claims of its node as they are', async (stage, reopen) => {
    const job = await stage.start()
    const reopened = await reopen()
    const [occupancy, ...rest] = await reopened.store.listOccupancies(stage.nodeId, 10)
    assert.ok(occupancy)
    assertSame([rest, occupancy.ended, occupancy.job.claim.runId], [[], false, job.claim.runId])
    assert.equal((await reopened.finish(occupancy.job)).kind, 'finished')
  })
}
