import assert from 'node:assert/strict'
import { NO_RETRIES_YET } from '../../domain/retry.ts'
import type { FinishedRun, Occupancy } from '../runs.ts'
import type { Store } from '../store.ts'
import { endOf, failed, jobTaking, NOW, newId, newJob, newJobs, newNode, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

const CRASHED = { ...NO_RETRIES_YET, crashRetries: 1 }

/** What a living node does with the occupancies of a dead one: the same finish as any, said by another node. */
export function testRecovery({ test, testShared }: Kit): void {
  test('the bodies of a dead node are listed, oldest first, as far as asked', async (stage) => {
    const [waiting] = await stage.enqueue([newJob({ type: 'poem' })])
    const [first, second] = [await stage.start(), await stage.start(newJob(), { now: NOW + 1 })]
    const third = await stage.claimOne({ now: NOW + 2 })
    assert.equal(third.claim.jobId, waiting)
    const jobs = [first, second, third]
    const expected = jobs.map((job) => ({ job, ended: false, child: null }))
    assertSame(await stage.store.listOccupancies(stage.nodeId, 10), expected)
    assertSame(await stage.store.listOccupancies(stage.nodeId, 2), expected.slice(0, 2))
  })

  test('another node ends them as crashed and orders their retries', async (stage) => {
    const job = await stage.start(jobTaking(['ink']))
    const running = await stage.run(job.claim.runId)
    const rescuer = await registerRescuer(stage)
    const retry = newRetry({ runAt: NOW + SECOND, counts: CRASHED })
    const result = await stage.finish(job, { by: rescuer, outcome: failed('crash'), retry })
    assertSame(result, { kind: 'finished', retryJobId: retry.jobId, followUps: [] })
    const { error, stack } = failed('crash')
    assertSame(await stage.run(job.claim.runId), {
      ...running,
      status: 'FAILED',
      reason: 'crash',
      finishedAt: NOW + SECOND,
      durationMs: SECOND,
      error,
      stack,
      willRetry: true,
    })
    assertSame(await stage.occupants(), [])
    const again = await stage.claimOne({ now: NOW + SECOND, nodeId: rescuer })
    assert.equal(again.claim.jobId, retry.jobId)
    assertSame(again.counts, CRASHED)
  })

  test('recovered Jobs stand before those that came later, in their old order', async (stage) => {
    const lost = await stage.enqueue(newJobs(3))
    await stage.claim()
    const later = await stage.enqueue(newJobs(2))
    const rescuer = await registerRescuer(stage)
    await recover(stage.store, stage.nodeId, rescuer)
    const queue = await stage.store.listQueue(10, NOW)
    assertSame(
      queue.map(({ retryOf, jobId }) => retryOf ?? jobId),
      [...lost, ...later],
    )
  })

  test('the node can go when its bodies are ended, and recovering again changes nothing', async (stage) => {
    await stage.start()
    await stage.finish(await stage.start(), { outcome: failed('timeout'), body: 'executing' })
    const rescuer = await registerRescuer(stage)
    assert.equal(await stage.store.removeNode(stage.nodeId, NOW), 'occupied')
    await recover(stage.store, stage.nodeId, rescuer)
    assert.equal(await stage.store.removeNode(stage.nodeId, NOW), 'removed')
    await stage.changesNothing(async () => {
      await recover(stage.store, stage.nodeId, rescuer)
      assert.equal(await stage.store.removeNode(stage.nodeId, NOW), 'removed')
    })
  })

  test('a recovery that was broken off half-way can be done again', async (stage) => {
    await stage.enqueue(newJobs(4))
    const [first, second] = await stage.claim()
    assert.ok(first && second)
    const rescuer = await registerRescuer(stage)
    await stage.store.finishRuns([crash(first, rescuer), crash(second, rescuer)], newId)
    await recover(stage.store, stage.nodeId, rescuer)
    const { items } = await stage.store.listRuns({ limit: 10, status: 'FAILED' })
    assert.equal(items.length, 4)
    assert.equal((await stage.queue()).length, 4)
  })

  test('the bodies of a living node are not touched', async (stage) => {
    const rescuer = await registerRescuer(stage)
    const mine = await stage.start(newJob(), { nodeId: rescuer })
    await stage.start()
    await recover(stage.store, stage.nodeId, rescuer)
    assert.equal((await stage.run(mine.claim.runId)).status, null)
    assert.equal((await stage.finish(mine)).kind, 'finished')
  })

  testShared('two nodes that recover the same dead node at once make one retry each', async (stage, other) => {
    await stage.enqueue(newJobs(12))
    await stage.claim()
    const rescuer = await registerRescuer(stage)
    await Promise.all([recover(stage.store, stage.nodeId, rescuer), recover(other.store, stage.nodeId, other.nodeId)])
    const { items } = await stage.store.listRuns({ limit: 100 })
    assertSame(new Set(items.map(({ reason }) => reason)), new Set(['crash']))
    const queue = await stage.store.listQueue(100, NOW)
    assert.equal(queue.length, 12)
    assert.equal(new Set(queue.map(({ retryOf }) => retryOf)).size, 12)
  })
}

async function registerRescuer(stage: Stage): Promise<string> {
  const node = newNode()
  await stage.store.registerNode(node)
  return node.nodeId
}

function crash(job: Occupancy['job'], by: string): FinishedRun {
  const retry = newRetry({ jobId: newId(), runAt: NOW, counts: CRASHED })
  return endOf(job, { by, outcome: failed('crash'), retry })
}

async function recover(store: Store, deadNodeId: string, by: string): Promise<void> {
  const occupancies = await store.listOccupancies(deadNodeId, 100)
  const open = occupancies.filter(({ ended }) => !ended)
  await store.finishRuns(
    open.map(({ job }) => crash(job, by)),
    newId,
  )
  const ended = occupancies.filter((occupancy) => occupancy.ended)
  await store.releaseOccupancies(
    ended.map(({ job }) => job.claim),
    NOW + SECOND,
  )
}
