import type { BulkMatchRequest } from '../bulk-operations.ts'
import { failed, HOUR, NOW, newId, newJob, newJobs, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

export function testBulkMatches({ test }: Kit): void {
  test('a cancel finds QUEUED Jobs by every filter of the list, in the order of the queue', async (stage) => {
    const [a, b] = await stage.enqueue([newJob({ tags: ['red'] }), newJob({ priority: 5 })])
    await stage.enqueue([newJob({ type: 'poem' })])
    assertSame(await found(stage, { filter: { status: 'QUEUED', type: 'story', limit: 10 } }), [b, a])
    assertSame(await found(stage, { filter: { status: 'QUEUED', tag: 'red', limit: 10 } }), [a])
  })

  test('it goes on behind the page before, also when that is cancelled meanwhile', async (stage) => {
    const ids = await stage.enqueue(newJobs(5))
    const filter = { status: 'QUEUED', limit: 2 } as const
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const page = await stage.store.matchJobs(request({ filter: { ...filter, cursor } }))
      for (const jobId of page.items) await stage.cancel(jobId)
      seen.push(...page.items)
      cursor = page.nextCursor
    } while (cursor !== null)
    assertSame(seen, ids)
  })

  test('what was accepted after the operation began is not found', async (stage) => {
    const before = await stage.enqueue(newJobs(2))
    const lastSeq = await lastSeqOf(stage)
    await stage.enqueue(newJobs(2))
    assertSame(await found(stage, { lastSeq }), before)
    assertSame(await found(stage, { lastSeq, kind: 'retry', mode: null }), before)
  })

  test('a retry that was made after it began belongs to its chain: a cancel finds it, a retry does not', async (stage) => {
    const job = await stage.start()
    const lastSeq = await lastSeqOf(stage)
    const retry = newRetry({ runAt: NOW + HOUR })
    await stage.finish(job, { outcome: failed(), retry })
    assertSame(await found(stage, { lastSeq }), [retry.jobId])
    assertSame(await found(stage, { lastSeq, kind: 'retry', mode: null }), [])
  })

  test('a Job that is asked to end already is not found again, unless more is asked', async (stage) => {
    const { claim } = await stage.start()
    const filter = { status: 'RUNNING', limit: 10 } as const
    assertSame(await found(stage, { filter }), [claim.jobId])
    await stage.cancel(claim.jobId)
    assertSame(await found(stage, { filter }), [])
    assertSame(await found(stage, { filter, mode: 'abort' }), [claim.jobId])
    await stage.cancel(claim.jobId, 'abort')
    assertSame(await found(stage, { filter, mode: 'abort' }), [])
  })

  test('a retry finds what failed, and only the last Job of a chain', async (stage) => {
    const fine = await stage.start()
    await stage.finish(fine)
    const once = await stage.start()
    await stage.finish(once, { outcome: failed() })
    const twice = await stage.start()
    const retry = newRetry()
    await stage.finish(twice, { outcome: failed(), retry })
    const filter = { status: 'FINISHED', outcome: 'FAILED', limit: 10 } as const
    assertSame(await found(stage, { kind: 'retry', mode: null, filter }), [once.claim.jobId])
    const second = await stage.claimOne({ now: NOW + SECOND })
    await stage.finish(second, { outcome: failed() })
    const poem = await stage.start(newJob({ type: 'poem' }))
    await stage.finish(poem, { outcome: failed() })
    // In which order they come is up to the list.
    assertSame(
      (await found(stage, { kind: 'retry', mode: null, filter })).toSorted(),
      [poem.claim.jobId, second.claim.jobId, once.claim.jobId].toSorted(),
    )
    const stories = { ...filter, type: 'story' }
    assertSame(await found(stage, { kind: 'retry', mode: null, filter: stories }), [
      second.claim.jobId,
      once.claim.jobId,
    ])
  })

  test('what was aborted is CANCELLED, and found as that', async (stage) => {
    const job = await stage.start()
    await stage.cancel(job.claim.jobId, 'abort')
    await stage.finish(job, { outcome: failed('cancelled') })
    const [queued] = await stage.enqueue([newJob()])
    await stage.cancel(queued)
    const retry = { kind: 'retry', mode: null } as const
    const finished = { status: 'FINISHED', outcome: 'FAILED', limit: 10 } as const
    assertSame(await found(stage, { ...retry, filter: finished }), [])
    const cancelled = { status: 'CANCELLED', limit: 10 } as const
    assertSame(await found(stage, { ...retry, filter: cancelled }), [queued, job.claim.jobId])
  })
}

function request(overrides: Partial<BulkMatchRequest>): BulkMatchRequest {
  return { kind: 'cancel', mode: 'graceful', filter: { status: 'QUEUED', limit: 10 }, lastSeq: null, ...overrides }
}

async function found(stage: Stage, overrides: Partial<BulkMatchRequest>): Promise<readonly string[]> {
  return (await stage.store.matchJobs(request(overrides))).items
}

/** What an operation that begins now remembers. */
async function lastSeqOf(stage: Stage): Promise<number> {
  const given = { operationId: newId(), kind: 'cancel', filter: {}, jobIds: null, mode: null } as const
  const matched = { matched: 0, isMatchedCapped: false }
  await stage.store.startOperation({ ...given, reason: null, createdBy: null, matched }, NOW)
  return (await stage.store.findRunningOperations(10)).at(-1)?.lastSeq ?? 0
}
