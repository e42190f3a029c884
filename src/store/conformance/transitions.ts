import assert from 'node:assert/strict'
import type { JobStatus } from '../../domain/job.ts'
import { JOB_TRANSITIONS, type JobTransition, nextJobStatus } from '../../domain/transitions.ts'
import type { Claim } from '../runs.ts'
import { endOf, failed, newId, newJob, newRetry } from './fixtures.ts'
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
          const claim = await jobIn(stage, from)
          await attempt(stage, transition, claim)
          assert.equal((await stage.job(claim.jobId)).status, to)
        })
      } else if (from === 'RUNNING' && transition === 'cancel') {
        test('cancel leaves a RUNNING Job RUNNING: it only stores the wish', async (stage) => {
          const claim = await jobIn(stage, from)
          const before = await stage.run(claim.runId)
          await attempt(stage, transition, claim)
          assert.equal((await stage.job(claim.jobId)).status, 'RUNNING')
          assertSame(await stage.run(claim.runId), before)
        })
      } else {
        test(`${transition} changes nothing about a ${from} Job`, async (stage) => {
          const claim = await jobIn(stage, from)
          await stage.changesNothing(() => attempt(stage, transition, claim))
        })
      }
    }
  }
}

/** A Job in this status, with the claim that a node could have, or pretend to have. */
async function jobIn(stage: Stage, status: JobStatus): Promise<Claim> {
  const { jobId } = newJob()
  if (status === 'RUNNING' || status === 'FINISHED') {
    const job = await stage.start(newJob({ jobId }))
    if (status === 'FINISHED') await stage.finish(job, { outcome: failed('timeout') })
    return job.claim
  }
  await stage.enqueue([newJob({ jobId })])
  if (status === 'CANCELLED') await stage.cancel(jobId)
  return { jobId, runId: newId(), nodeId: stage.nodeId }
}

async function attempt(stage: Stage, transition: JobTransition, claim: Claim): Promise<void> {
  switch (transition) {
    case 'claim':
      await stage.claim()
      return
    case 'cancel':
      await stage.cancel(claim.jobId, 'abort')
      return
    case 'finish':
    case 'finish-cancelled': {
      const cancelled = transition === 'finish-cancelled'
      const job = { claim } as Parameters<typeof endOf>[0]
      const end = endOf(job, {
        outcome: failed(cancelled ? 'cancelled' : 'error'),
        retry: cancelled ? null : newRetry(),
      })
      // A claim on a Run that never was is a wrong argument, which may throw.
      await stage.finishAs(end).catch((error: unknown) => assert.ok(error instanceof Error))
      return
    }
  }
}
