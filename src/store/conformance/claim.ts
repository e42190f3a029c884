import assert from 'node:assert/strict'
import { NO_RETRIES_YET } from '../../domain/retry.ts'
import { asQueued, failed, HOUR, NOW, newIds, newJob, newJobs, newPolicy, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

export function testClaim({ test }: Kit): void {
  test('a store says how many claims of one node may be under way', ({ store }) => {
    const { claimsAtOnce } = store
    assert(Number.isInteger(claimsAtOnce) && claimsAtOnce >= 1, `claimsAtOnce is ${claimsAtOnce}`)
    return Promise.resolve()
  })

  test('a claimed Job is RUNNING, with a Run and an occupancy', async (stage) => {
    const job = newJob({ name: 'A tale', priority: 3, policy: newPolicy({ resources: ['ink'] }), businessKey: 'b' })
    await stage.enqueue([job])
    const { position } = await stage.job(job.jobId)
    const [runId] = newIds(1) as [string]
    const claimed = await stage.claimOne({ now: NOW + 5, newRunId: () => runId })
    const { ref } = claimed.claim
    assertSame(
      { ...claimed, params: JSON.parse(claimed.params) },
      {
        claim: { runId, jobId: job.jobId, nodeId: stage.nodeId, ref },
        chainId: job.jobId,
        type: 'story',
        attempt: 1,
        priority: 3,
        businessKey: 'b',
        params: { genre: 'horror' },
        policy: job.policy,
        counts: NO_RETRIES_YET,
        runAt: NOW,
        startedAt: NOW + 5,
        groupId: null,
        scheduleId: null,
        webhookUrl: null,
        hasParents: false,
      },
    )
    assertSame(await stage.job(job.jobId), {
      ...asQueued(job, position),
      status: 'RUNNING',
      startedAt: NOW + 5,
    })
    assertSame(await stage.run(runId), {
      runId,
      jobId: job.jobId,
      chainId: job.jobId,
      type: 'story',
      templateId: null,
      attempt: 1,
      status: null,
      reason: null,
      paramsSnapshot: { genre: 'horror' },
      nodeId: stage.nodeId,
      startedAt: NOW + 5,
      finishedAt: null,
      durationMs: null,
      result: null,
      error: null,
      stack: null,
      exitCode: null,
      willRetry: false,
      artifacts: [],
      logPath: null,
      progress: null,
      logsDropped: 0,
    })
    assertSame(await stage.store.listOccupancies(stage.nodeId, 10), [{ job: claimed, ended: false, child: null }])
  })

  test('an empty queue gives nothing', async (stage) => {
    assertSame(await stage.changesNothing(() => stage.claim()), [])
  })

  test('as many as asked for, from the head', async (stage) => {
    const [low, a, b, high] = await stage.enqueue([
      newJob({ priority: -1 }),
      newJob(),
      newJob(),
      newJob({ priority: 1 }),
    ])
    assertSame(await stage.claimIds({ limit: 2 }), [high, a])
    assertSame(await stage.queue(), [b, low])
    assertSame(await stage.claimIds({ limit: 2 }), [b, low])
  })

  test('a Job is claimed once', async (stage) => {
    const ids = await stage.enqueue(newJobs(3))
    assertSame(await stage.claimIds(), ids)
    assertSame(await stage.changesNothing(() => stage.claimIds()), [])
  })

  test('each Job gets a Run id of its own', async (stage) => {
    await stage.enqueue(newJobs(3))
    const runIds = newIds(3)
    const unused = [...runIds]
    const claimed = await stage.claim({ newRunId: () => unused.shift() as string })
    assertSame(
      claimed.map(({ claim }) => claim.runId),
      runIds,
    )
  })

  test('only types the node handles, each as often as it may', async (stage) => {
    const types = ['poem', 'story', 'poem', 'song', 'story', 'poem']
    const [p1, s1, p2] = await stage.enqueue(types.map((type) => newJob({ type })))
    const handled = new Map([
      ['poem', 2],
      ['story', 1],
    ])
    assertSame(await stage.claimIds({ types: handled }), [p1, s1, p2])
  })

  test('a type with no place left, and a request for none, take nothing', async (stage) => {
    await stage.enqueue(newJobs(2))
    assertSame(await stage.changesNothing(() => stage.claim({ types: new Map([['story', 0]]) })), [])
    assertSame(await stage.changesNothing(() => stage.claim({ types: new Map() })), [])
    assertSame(await stage.changesNothing(() => stage.claim({ limit: 0 })), [])
  })

  test('types of different priority are merged into one order', async (stage) => {
    const ids = await stage.enqueue([
      newJob({ type: 'poem', priority: 9 }),
      newJob({ type: 'story', priority: 8 }),
      newJob({ type: 'poem', priority: 7 }),
      newJob({ type: 'song', priority: 6 }),
      newJob({ type: 'story', priority: 5 }),
    ])
    assertSame(await stage.claimIds({ limit: 4 }), ids.slice(0, 4))
  })

  test('a large claim of several types keeps the order to its end', async (stage) => {
    const ids = await stage.enqueue(
      Array.from({ length: 90 }, (_, index) => newJob({ type: index % 3 ? 'story' : 'poem' })),
    )
    assertSame(await stage.claimIds({ limit: 80 }), ids.slice(0, 80))
    assertSame(await stage.queue(), ids.slice(80))
  })

  test('a delayed Job is claimed at its instant, not before', async (stage) => {
    const [jobId] = await stage.enqueue([newJob({ runAt: NOW + HOUR })])
    assertSame(await stage.changesNothing(() => stage.claim({ now: NOW + HOUR - 1 })), [])
    assertSame(await stage.claimIds({ now: NOW + HOUR }), [jobId])
  })

  test('a Job whose time is past when it comes is ready at once', async (stage) => {
    const [jobId] = await stage.enqueue([newJob({ runAt: NOW - HOUR })])
    assertSame(await stage.claimIds(), [jobId])
  })

  test('any number of delayed Jobs ahead hides no ready one', async (stage) => {
    await stage.enqueue(newJobs(500, { runAt: NOW + HOUR, priority: 1 }))
    const [ready] = await stage.enqueue([newJob()])
    assertSame(await stage.claimIds(), [ready])
  })

  test('any number of Jobs can become due at once', async (stage) => {
    const ids = await stage.enqueue(newJobs(500, { runAt: NOW + HOUR }))
    const claimed: string[] = []
    for (let round = 0; round < 20 && claimed.length < ids.length; round++) {
      claimed.push(...(await stage.claimIds({ now: NOW + HOUR })))
    }
    assertSame(claimed.toSorted(), ids.toSorted())
  })

  test('the next due time is that of the delayed Job that is due first', async (stage) => {
    assert.equal(await stage.store.nextDueAt(), null)
    await stage.enqueue([newJob()])
    assert.equal(await stage.store.nextDueAt(), null)
    const times = [NOW + 2 * HOUR, NOW + HOUR, NOW + 3 * HOUR]
    const [, first] = await stage.enqueue(times.map((runAt) => newJob({ runAt })))
    assert.equal(await stage.store.nextDueAt(), NOW + HOUR)
    await stage.cancel(first as string)
    assert.equal(await stage.store.nextDueAt(), NOW + 2 * HOUR)
    await stage.claim({ now: NOW + 3 * HOUR })
    assert.equal(await stage.store.nextDueAt(), null)
  })

  test('a retry waits for its time and knows what was tried', async (stage) => {
    const job = await stage.start()
    const counts = { errorRetries: 2, crashRetries: 1, shutdownRetries: 4 }
    const retry = newRetry({ runAt: NOW + HOUR, counts })
    await stage.finish(job, { outcome: failed(), retry })
    assert.equal(await stage.store.nextDueAt(), NOW + HOUR)
    assertSame(await stage.claim({ now: NOW + HOUR - SECOND }), [])
    const again = await stage.claimOne({ now: NOW + HOUR })
    assert.equal(again.claim.jobId, retry.jobId)
    assert.equal(again.chainId, job.claim.jobId)
    assert.equal(again.attempt, 2)
    assertSame(again.counts, counts)
    assertSame(again.policy, job.policy)
    assertSame(JSON.parse(again.params), JSON.parse(job.params))
  })

  test('a node that is not registered any more claims nothing', async (stage) => {
    const [queued] = await stage.enqueue([newJob()])
    await stage.store.removeNode(stage.nodeId, NOW)
    // Nobody would look after a body there. Whether the store answers or throws is its own affair.
    const claimed = await stage.claim().catch(() => [])
    assertSame(claimed, [])
    assertSame(await stage.queue(), [queued])
  })
}
