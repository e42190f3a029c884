import assert from 'node:assert/strict'
import type { Transition } from '../events.ts'
import type { Claim, ClaimedJob } from '../runs.ts'
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
  newRetry,
  SECOND,
} from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

export function testEvents({ test }: Kit): void {
  test('an empty store has no events', async (stage) => {
    assert.equal(await stage.lastEventSeq(), 0)
    assertSame(await stage.readEvents(0, 10), [])
  })

  test('a list that is enqueued is one row', async (stage) => {
    const jobs = [newJob(), newJob({ type: 'poem' })] as const
    const transitions = await rowOf(stage, () => stage.enqueue(jobs))
    assertSame(
      transitions,
      jobs.map(({ jobId, type }) => step('job.queued', { jobId, type, at: NOW })),
    )
  })

  test('a claim is one row', async (stage) => {
    await stage.enqueue(newJobs(2))
    let claimed: readonly ClaimedJob[] = []
    const transitions = await rowOf(stage, async () => {
      claimed = await stage.claim({ now: NOW + 5 })
    })
    assertSame(
      transitions,
      claimed.map(({ claim }) => step('job.started', { ...claim, status: 'RUNNING', at: NOW + 5 })),
    )
  })

  test('a finish is one row with the retry', async (stage) => {
    const { claim, ...job } = await stage.start()
    const retry = newRetry({ runAt: NOW + HOUR })
    const transitions = await rowOf(stage, () => stage.finish({ claim, ...job }, { outcome: failed('timeout'), retry }))
    assertSame(transitions, [
      step('job.finished', { ...claim, status: 'FINISHED', outcome: 'FAILED', reason: 'timeout', at: NOW + SECOND }),
      step('job.queued', { jobId: retry.jobId, chainId: claim.jobId, attempt: 2, at: NOW + SECOND }),
    ])
  })

  test('a finish is one row with its follow-ups', async (stage) => {
    const job = await stage.start()
    const followUp = newJob({ type: 'poem' })
    const transitions = await rowOf(stage, () => stage.finish(job, { outcome: completed(), followUps: [followUp] }))
    assertSame(transitions, [
      step('job.finished', { ...job.claim, status: 'FINISHED', outcome: 'COMPLETED', at: NOW + SECOND }),
      step('job.queued', { jobId: followUp.jobId, type: 'poem', at: NOW + SECOND }),
    ])
  })

  test('a list that is finished is one row', async (stage) => {
    const jobs = [await stage.start(), await stage.start()]
    const transitions = await rowOf(stage, () =>
      stage.store.finishRuns(
        jobs.map((job) => endOf(job)),
        newId,
      ),
    )
    assertSame(
      transitions.map(({ jobId }) => jobId),
      jobs.map(({ claim }) => claim.jobId),
    )
  })

  test('an abort that was carried out is told as a cancelled Job', async (stage) => {
    const job = await stage.start()
    const [transition, ...rest] = await rowOf(stage, () => stage.finish(job, { outcome: failed('cancelled') }))
    assertSame(rest, [])
    const facts = { status: 'CANCELLED', outcome: 'FAILED', reason: 'cancelled', at: NOW + SECOND } as const
    assertSame(transition, step('job.cancelled', { ...job.claim, ...facts }))
  })

  test('the release of a body is told', async (stage) => {
    const { claim, ...job } = await stage.start()
    await stage.finish({ claim, ...job }, { outcome: failed('timeout'), body: 'executing' })
    const [transition] = await rowOf(stage, () => stage.store.releaseOccupancies([claim], NOW + HOUR))
    assertSame(
      [transition?.kind, transition?.jobId, transition?.runId, transition?.at],
      ['run.released', claim.jobId, claim.runId, NOW + HOUR],
    )
  })

  test('cancelling is told, of a queued and of a running Job', async (stage) => {
    const { claim } = await stage.start()
    const [queued] = await stage.enqueue([newJob()])
    assertSame(await rowOf(stage, () => stage.cancel(queued)), [
      step('job.cancelled', { jobId: queued, status: 'CANCELLED', at: NOW + 1 }),
    ])
    const [requested, ...rest] = await rowOf(stage, () => stage.cancel(claim.jobId))
    const { jobId, runId } = claim
    assertSame(rest, [])
    assertSame(requested, step('job.cancel-requested', { jobId, runId, status: 'RUNNING', at: NOW + 1 }))
  })

  test('moving is told', async (stage) => {
    const [, b] = await stage.enqueue([newJob(), newJob()])
    const moved = () => stage.store.moveJob({ jobId: b, target: { to: 'front' }, now: NOW + 1 })
    assertSame(await rowOf(stage, moved), [step('job.moved', { jobId: b, at: NOW + 1 })])
    const raised = () => stage.store.reprioritiseJob({ jobId: b, priority: 3, now: NOW + 2 })
    assertSame(await rowOf(stage, raised), [step('job.moved', { jobId: b, at: NOW + 2 })])
  })

  test('a manual retry is told', async (stage) => {
    const { claim, ...job } = await stage.start()
    await stage.finish({ claim, ...job }, { outcome: failed() })
    const newJobId = newId()
    const by = { jobId: claim.jobId }
    const retried = () => stage.store.retryByHand({ by, newJobId, priority: null, now: NOW + HOUR })
    assertSame(await rowOf(stage, retried), [
      step('job.queued', { jobId: newJobId, chainId: claim.jobId, attempt: 2, at: NOW + HOUR }),
    ])
  })

  test('progress is told, log lines are not', async (stage) => {
    const { claim } = await stage.start()
    const progress = { fraction: 0.5, message: 'half' }
    const reported = () => stage.store.recordReports([{ claim, report: { ...NO_REPORT, progress } }], NOW + 9)
    assertSame(await rowOf(stage, reported), [
      { ...step('run.progress', { ...claim, status: 'RUNNING', at: NOW + 9 }), progress: 0.5, message: 'half' },
    ])
    const seen = await allSeen(stage)
    await stage.store.recordReports([{ claim, report: { ...NO_REPORT, logs: logLines(2) } }], NOW + 9)
    assertSame(await allSeen(stage), seen)
  })

  test('rows are numbered upwards and read in pages', async (stage) => {
    const ids: string[] = []
    for (let count = 0; count < 5; count++) ids.push(...(await stage.enqueue([newJob()])))
    const rows = await stage.readEvents(0, 100)
    assertSame(
      rows.map(({ transitions }) => transitions[0]?.jobId),
      ids,
    )
    const numbers = rows.map(({ seq }) => seq)
    assertSame(
      numbers,
      [...new Set(numbers)].toSorted((a, b) => a - b),
    )
    assert.equal(await stage.lastEventSeq(), numbers.at(-1))
    const second = rows[1]
    assert.ok(second)
    assertSame(await stage.readEvents(second.seq, 2), rows.slice(2, 4))
    assertSame(await stage.readEvents(numbers.at(-1) ?? 0, 2), [])
  })

  test('concurrent calls lose no event, however they share commits', async (stage) => {
    const jobs = newJobs(50)
    await Promise.all(jobs.map((job) => stage.enqueue([job])))
    const rows = await stage.readEvents(0, 100)
    const told = rows.flatMap(({ transitions }) => transitions.map(({ jobId }) => jobId))
    assertSame(told.toSorted(), jobs.map(({ jobId }) => jobId).toSorted())
  })
}

/** A transition of a first attempt of a story, as far as nothing else is said. */
function step(
  kind: Transition['kind'],
  facts: Partial<Transition & Claim> & { jobId: string; at: number },
): Transition {
  const { nodeId: _, ref: __, ...rest } = facts
  return {
    kind,
    runId: null,
    chainId: facts.jobId,
    type: 'story',
    status: 'QUEUED',
    outcome: null,
    reason: null,
    attempt: 1,
    ...rest,
  }
}

/** Does something, and reads the one row that it must have written. */
async function rowOf(stage: Stage, act: () => Promise<unknown>): Promise<readonly Transition[]> {
  const last = await stage.lastEventSeq()
  await act()
  const [row, ...rest] = await stage.readEvents(last, 10)
  assert.ok(row, 'a row was written')
  assertSame(rest, [], 'one row was written')
  return row.transitions
}

async function allSeen(stage: Stage): Promise<readonly Transition[]> {
  return (await stage.readEvents(0, 100)).flatMap(({ transitions }) => transitions)
}
