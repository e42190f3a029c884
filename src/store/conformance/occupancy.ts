import assert from 'node:assert/strict'
import { RUNNING_LIMIT } from '../../domain/limits.ts'
import { endOf, failed, HOUR, jobTaking, NOW, newId, newJob, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

/** A body that was given up (a timeout) may still be executing. Its outcome is written, its place is not free. */
const GIVEN_UP = { outcome: failed('timeout'), body: 'executing' } as const

export function testOccupancy({ test }: Kit): void {
  test('a body that was given up keeps its place until it has really ended', async (stage) => {
    const job = await stage.start()
    assert.equal((await stage.finish(job, GIVEN_UP)).kind, 'finished')
    const { status, reason } = await stage.run(job.claim.runId)
    assertSame({ status, reason }, { status: 'FAILED', reason: 'timeout' })
    assert.equal((await stage.job(job.claim.jobId)).status, 'FINISHED')
    assertSame(await stage.store.listOccupancies(stage.nodeId, 10), [{ job, ended: true, child: null }])
    await stage.release(job.claim)
    assertSame(await stage.occupants(), [])
  })

  test('its permits are taken as long', async (stage) => {
    await stage.store.setLimit(RUNNING_LIMIT, 2)
    const job = await stage.start(jobTaking(['ink']))
    await stage.finish(job, GIVEN_UP)
    const [ink, free, more] = await stage.enqueue([jobTaking(['ink']), newJob(), newJob()])
    assertSame(await stage.claimIds(), [free])
    await stage.release(job.claim)
    assertSame(await stage.claimIds(), [ink])
    assertSame(await stage.queue(), [more])
  })

  test('its retry waits for it, however long it has been due', async (stage) => {
    const job = await stage.start()
    const retry = newRetry()
    await stage.finish(job, { ...GIVEN_UP, retry })
    assert.equal((await stage.job(retry.jobId, NOW + HOUR)).hold, 'predecessor')
    assertSame(await stage.changesNothing(() => stage.claim({ now: NOW + HOUR })), [])
    await stage.release(job.claim)
    assert.equal((await stage.job(retry.jobId, NOW + HOUR)).hold, null)
    assertSame(await stage.claimIds({ now: NOW + HOUR }), [retry.jobId])
  })

  test('when it ends before the retry is due, the retry waits for its time', async (stage) => {
    const job = await stage.start()
    const retry = newRetry({ runAt: NOW + HOUR })
    await stage.finish(job, { ...GIVEN_UP, retry })
    await stage.release(job.claim)
    assert.equal((await stage.job(retry.jobId)).hold, 'delayed')
    assert.equal(await stage.store.nextDueAt(), NOW + HOUR)
    assertSame(await stage.claimIds({ now: NOW + HOUR - 1 }), [])
    assertSame(await stage.claimIds({ now: NOW + HOUR }), [retry.jobId])
  })

  test('a waiting retry holds up nobody else', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { ...GIVEN_UP, retry: newRetry() })
    const [next] = await stage.enqueue([newJob()])
    assertSame(await stage.claimIds({ now: NOW + SECOND }), [next])
  })

  test('a manual retry waits for it too', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, GIVEN_UP)
    const newJobId = newId()
    const by = { jobId: job.claim.jobId }
    await stage.store.retryByHand({ by, newJobId, priority: null, now: NOW + SECOND })
    assert.equal((await stage.job(newJobId, NOW + HOUR)).hold, 'predecessor')
    assertSame(await stage.claim({ now: NOW + HOUR }), [])
    await stage.release(job.claim)
    assertSame(await stage.claimIds({ now: NOW + HOUR }), [newJobId])
  })

  test('releasing twice, or a Run that was finished with its body, changes nothing', async (stage) => {
    const [given, done] = [await stage.start(), await stage.start()]
    await stage.finish(given, GIVEN_UP)
    await stage.release(given.claim)
    await stage.finish(done)
    await stage.changesNothing(() => stage.release(given.claim, done.claim))
  })

  test('a Run without an outcome cannot be released', async (stage) => {
    const job = await stage.start()
    await stage.changesNothing(() => stage.release(job.claim))
    assert.equal((await stage.finish(job)).kind, 'finished')
  })

  test('repeating the finish does not bring a released occupancy back', async (stage) => {
    const job = await stage.start()
    const end = endOf(job, { ...GIVEN_UP, retry: newRetry() })
    await stage.finishAs(end)
    await stage.release(job.claim)
    assert.equal((await stage.changesNothing(() => stage.finishAs(end))).kind, 'finished')
    assertSame(await stage.occupants(), [])
  })

  test('only a release frees the place of a body that was given up, not a second finish', async (stage) => {
    const job = await stage.start(newJob({ businessKey: 'b' }))
    const end = endOf(job, { ...GIVEN_UP, retry: newRetry() })
    await stage.finishAs(end)
    await stage.changesNothing(() => stage.finishAs({ ...end, body: 'ended' }))
    assertSame(await stage.occupants(), [job.claim.jobId])
  })

  test('many are released at once', async (stage) => {
    const jobs = [await stage.start(), await stage.start(), await stage.start()] as const
    for (const job of jobs) await stage.finish(job, GIVEN_UP)
    await stage.release(jobs[0].claim, jobs[2].claim)
    assertSame(await stage.occupants(), [jobs[1].claim.jobId])
    await stage.changesNothing(() => stage.release())
  })
}
