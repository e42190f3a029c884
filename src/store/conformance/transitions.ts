import assert from 'node:assert/strict'
import type { JobStatus } from '../../domain/job.ts'
import { NO_RETRIES_YET } from '../../domain/retry.ts'
import { JOB_TRANSITIONS, type JobTransition, nextJobStatus } from '../../domain/transitions.ts'
import type { ClaimedJob } from '../runs.ts'
import { failed, NOW, newId, newJob, newRetry } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

const TRANSITIONS: readonly JobTransition[] = ['claim', 'cancel', 'finish', 'finish-cancelled']

/** The whole table of the domain: what it allows happens, and what it does not allow changes nothing. */
export function testTransitions({ test }: Kit): void {
  for (const from of Object.keys(JOB_TRANSITIONS) as JobStatus[]) {
    for (const transition of TRANSITIONS) {
      const to = nextJobStatus(from, transition)
      if (to !== null) {
        test(`${transition} leads a ${from} Job to ${to}`, async (stage) => {
          const job = await jobIn(stage, from)
          await attempt(stage, transition, job)
          assert.equal((await stage.job(job.claim.jobId)).status, to)
        })
      } else if (from === 'RUNNING' && transition === 'cancel') {
        test('cancel leaves a RUNNING Job RUNNING: it only stores the wish', async (stage) => {
          const job = await jobIn(stage, from)
          const before = await stage.run(job.claim.runId)
          await attempt(stage, transition, job)
          assert.equal((await stage.job(job.claim.jobId)).status, 'RUNNING')
          assertSame(await stage.run(job.claim.runId), before)
        })
      } else {
        test(`${transition} changes nothing about a ${from} Job`, async (stage) => {
          const job = await jobIn(stage, from)
          await stage.changesNothing(() => attempt(stage, transition, job))
        })
      }
    }
  }
}

/** A Job in this status, claimed by a node, or by one that pretends to have claimed it. */
async function jobIn(stage: Stage, status: JobStatus): Promise<ClaimedJob> {
  if (status === 'RUNNING' || status === 'FINISHED') {
    const job = await stage.start()
    if (status === 'FINISHED') await stage.finish(job, { outcome: failed('timeout') })
    return job
  }
  const job = newJob()
  await stage.enqueue([job])
  if (status === 'CANCELLED') await stage.cancel(job.jobId)
  return {
    ...job,
    claim: { jobId: job.jobId, runId: newId(), nodeId: stage.nodeId, ref: 0 },
    chainId: job.jobId,
    attempt: 1,
    counts: NO_RETRIES_YET,
    runAt: NOW,
    startedAt: NOW,
    groupId: null,
    hasParents: false,
  }
}

async function attempt(stage: Stage, transition: JobTransition, job: ClaimedJob): Promise<void> {
  switch (transition) {
    case 'claim':
      await stage.claim()
      return
    case 'cancel':
      await stage.cancel(job.claim.jobId, 'abort')
      return
    case 'finish':
    case 'finish-cancelled': {
      const cancelled = transition === 'finish-cancelled'
      const outcome = failed(cancelled ? 'cancelled' : 'error')
      // A claim on a Run that never was is a wrong argument, which may throw.
      await stage
        .finish(job, { outcome, retry: cancelled ? null : newRetry() })
        .catch((error: unknown) => assert.ok(error instanceof Error))
      return
    }
  }
}
