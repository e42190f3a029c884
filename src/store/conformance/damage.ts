import assert from 'node:assert/strict'
import { NO_RETRIES_YET } from '../../domain/retry.ts'
import type { Damage } from '../maintenance.ts'
import { endOf, failed, HOUR, jobTaking, NOW, newId, newJob, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

export function testDamage({ test, testDamage }: Kit): void {
  test('no sequence of ordinary steps looks like damage', async (stage) => {
    await stage.enqueue([newJob({ runAt: NOW + HOUR }), newJob({ type: 'poem' })])
    await stage.finish(await stage.start(), { outcome: failed(), retry: newRetry({ runAt: NOW + HOUR }) })
    await stage.finish(await stage.start(), {
      outcome: failed('timeout'),
      retry: newRetry({ runAt: NOW + HOUR }),
      body: 'executing',
    })
    await stage.finish(await stage.start())
    const wanted = await stage.start()
    await stage.cancel(wanted.claim.jobId)
    await stage.finish(wanted, { outcome: failed(), retry: newRetry() })
    const last = await stage.start(newJob(), { now: NOW })
    assertSame(await stage.changesNothing(() => stage.store.findDamage(10)), [])
    await stage.cancel(last.claim.jobId, 'abort')
    assertSame(await stage.store.findDamage(10), [])
  })

  const repairs: Readonly<Record<string, (stage: Stage, jobId: string) => Promise<boolean>>> = {
    repairMissingRun: (stage, jobId) => repairMissingRun(stage, jobId),
    repairMissingRetry: ({ store }, jobId) => store.repairMissingRetry({ jobId, retry: newRetry(), now: NOW }),
  }
  for (const [name, repair] of Object.entries(repairs)) {
    test(`${name} of what is not damaged is refused and changes nothing`, async (stage) => {
      const running = await stage.start()
      const retried = await stage.start()
      await stage.finish(retried, { outcome: failed(), retry: newRetry({ runAt: NOW + HOUR }) })
      const done = await stage.start()
      await stage.finish(done)
      const [queued] = await stage.enqueue([newJob()])
      for (const jobId of [running.claim.jobId, retried.claim.jobId, done.claim.jobId, queued, newId()]) {
        assert.equal(await stage.changesNothing(() => repair(stage, jobId)), false)
      }
    })
  }

  testDamage(
    'claimed, but without a Run: the Run is written as failed, and the retry with it',
    async (stage, damage) => {
      const { claim, policy } = await stage.start(jobTaking(['ink']))
      await damage('run-missing', claim.jobId)
      await finds(stage, { kind: 'run-missing', job: { jobId: claim.jobId, policy, counts: NO_RETRIES_YET } })
      const [runId, retry] = [newId(), newRetry({ runAt: NOW + SECOND })]
      assert.equal(await repairMissingRun(stage, claim.jobId, runId, retry), true)
      const { status, outcome, finishedAt } = await stage.job(claim.jobId)
      assertSame({ status, outcome, finishedAt }, { status: 'FINISHED', outcome: 'FAILED', finishedAt: NOW + SECOND })
      const run = await stage.run(runId)
      assertSame(
        [run.jobId, run.status, run.reason, run.error, run.willRetry],
        [claim.jobId, 'FAILED', 'crash', failed('crash').error, true],
      )
      await isWhole(stage)
      assertSame(await stage.claimIds({ now: NOW + SECOND }), [retry.jobId])
      assert.equal(await stage.changesNothing(() => repairMissingRun(stage, claim.jobId)), false)
    },
  )

  testDamage('a Job without its Run can be ended without a retry', async (stage, damage) => {
    const { claim } = await stage.start()
    await damage('run-missing', claim.jobId)
    assert.equal(await repairMissingRun(stage, claim.jobId), true)
    assertSame(await stage.queue(), [])
    const chain = await stage.store.findChain(claim.jobId, NOW)
    assertSame([chain?.settled, chain?.outcome], [true, 'FAILED'])
    await isWhole(stage)
  })

  testDamage('an open Run without an occupancy: an ordinary finish ends it', async (stage, damage) => {
    const job = await stage.start()
    await damage('occupancy-missing', job.claim.jobId)
    await finds(stage, { kind: 'occupancy-missing', job })
    const retry = newRetry()
    const result = await stage.finishAs(endOf(job, { outcome: failed('crash'), retry }))
    assertSame(result, { kind: 'finished', retryJobId: retry.jobId, followUps: [] })
    await isWhole(stage)
    assertSame(await stage.claimIds({ now: NOW + SECOND }), [retry.jobId])
  })

  testDamage('a retry that was decided on but is not there is written', async (stage, damage) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: failed(), retry: newRetry() })
    const { jobId } = job.claim
    await damage('retry-missing', jobId)
    await finds(stage, { kind: 'retry-missing', job: { jobId, policy: job.policy, counts: NO_RETRIES_YET } })
    const retry = newRetry()
    assert.equal(await stage.store.repairMissingRetry({ jobId, retry, now: NOW + SECOND }), true)
    const { attempt, retryOf, chainId, counts } = await stage.job(retry.jobId)
    assertSame(
      { attempt, retryOf, chainId, counts },
      { attempt: 2, retryOf: jobId, chainId: jobId, counts: retry.counts },
    )
    await isWhole(stage)
    assertSame(await stage.claimIds({ now: NOW + SECOND }), [retry.jobId])
    const again = { jobId, retry: newRetry(), now: NOW }
    assert.equal(await stage.changesNothing(() => stage.store.repairMissingRetry(again)), false)
  })

  testDamage('a repair that settles the chain frees its business key', async (stage, damage) => {
    const { claim } = await stage.start(newJob({ businessKey: 'letter' }))
    await damage('run-missing', claim.jobId)
    assert.equal(await repairMissingRun(stage, claim.jobId), true)
    await stage.enqueue([newJob({ businessKey: 'letter' })])
  })

  testDamage('damage is found as far as asked, of all kinds together', async (stage, damage) => {
    for (const kind of ['run-missing', 'occupancy-missing', 'run-missing'] as const) {
      const { claim } = await stage.start()
      await damage(kind, claim.jobId)
    }
    assert.equal((await stage.store.findDamage(2)).length, 2)
    assert.equal((await stage.store.findDamage(10)).length, 3)
  })
}

async function finds(stage: Stage, expected: Damage): Promise<void> {
  assertSame(await stage.changesNothing(() => stage.store.findDamage(10)), [expected])
}

async function isWhole(stage: Stage): Promise<void> {
  assertSame(await stage.store.findDamage(10), [])
  assertSame(await stage.occupants(), [])
}

function repairMissingRun(
  stage: Stage,
  jobId: string,
  runId = newId(),
  retry: Parameters<Stage['store']['repairMissingRun']>[0]['retry'] = null,
): Promise<boolean> {
  const outcome = failed('crash')
  return stage.store.repairMissingRun({ jobId, runId, by: stage.nodeId, outcome, retry, newId, now: NOW + SECOND })
}
