import { randomUUID } from 'node:crypto'
import type { Job } from 'pawl'
import { type FaultPoint, onFaultPoint } from 'pawl/testing'
import { afterEach, expect, test } from 'vitest'
import { endOf, failed } from '../../src/store/conformance/fixtures.ts'
import { crashed, endedByCrash, firstCrashRetry, NOTHING_RECOVERED, Scene, SECOND } from './scene.ts'

// The recovery scenarios of the base contract, through the store; `killed-*.test.ts` has them with real processes.

afterEach(() => onFaultPoint(null))

test('1: a crash during execution fails the Run, keeps what the body reported, and queues one retry', async () => {
  const scene = new Scene()
  await scene.enqueue(['a'])
  await scene.crashAfterClaiming(1, async (store, [job]) => {
    expect.assert(job !== undefined)
    const logs = [{ at: scene.clock.now(), level: 'info', text: 'half way', fields: null }] as const
    const report = { progress: { fraction: 0.5, message: 'half' }, logs, artifacts: [], logsDropped: 0 }
    await store.recordReports([{ claim: job.claim, report }], scene.clock.now())
  })
  const before = await scene.read()
  scene.clock.set(scene.clock.now() + 60 * SECOND)
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, runningJobsRecovered: 1, retriesCreated: 1 })
  const { jobs, runs } = await scene.read()
  const [job, run] = [before.jobs[0], before.runs[0]]
  expect.assert(job !== undefined && run !== undefined)
  expect(jobs).toEqual([crashed(job, scene.clock.now()), firstCrashRetry(job, scene.clock.now())])
  expect(run.progress).toEqual({ fraction: 0.5, message: 'half' })
  expect(runs).toEqual([endedByCrash(run, scene.clock.now())])
})

test('2: a crash during a reservation leaves nothing that blocks: a ticket expires, a body is told as a crash', async () => {
  const scene = new Scene()
  await scene.enqueue(['a'])
  await scene.crashAfterClaiming(0, async (store, _claimed, nodeId) => {
    const now = scene.clock.now()
    const policy = { retry: { maxRetries: 3, maxCrashRetries: 3, backoff: { kind: 'none' } }, timeoutMs: null } as const
    const open = async (reservationId: string, params: string) => {
      const rest = {
        policy: { ...policy, resources: [] },
        callerNodeId: nodeId,
        createdBy: null,
        onBusy: 'wait',
      } as const
      expect(await store.openTicket({ reservationId, type: 'work', params, ...rest }, now)).toBe('waiting')
    }
    await open('running', '"direct"')
    const types = new Map([['work', 1]])
    const { tickets } = await store.claimJobs({ nodeId, now, limit: 1, types, newRunId: randomUUID })
    expect(tickets.map(({ claim }) => claim.reservationId)).toEqual(['running'])
    await open('waiting', '"never"')
  })
  scene.clock.set(scene.clock.now() + SECOND)
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, reservationsExpired: 2 })
  const endedAt = scene.clock.now()
  expect(await scene.reservations()).toMatchObject([
    { reservationId: 'running', status: 'RELEASED', outcome: 'FAILED', reason: 'crash', endedAt },
    { reservationId: 'waiting', status: 'EXPIRED', outcome: null, reason: 'expired', endedAt },
  ])
  // Neither is tried again, and the queue goes on as it was.
  await scene.executeDue()
  expect(scene.executed).toEqual(['a 1'])
})

test('3: an outcome and its retry are one write, so a failure at the end of its budget stays without one', async () => {
  const scene = new Scene()
  await scene.enqueue(['a'], { retry: { maxRetries: 1 } })
  await scene.crashAfterClaiming(1, async (store, [job]) => {
    expect.assert(job !== undefined)
    const ending = endOf(job, { outcome: failed('error'), finishedAt: scene.clock.now() })
    await store.finishRuns([ending], randomUUID)
  })
  const before = await scene.read()
  expect(await scene.recoverTwice()).toEqual(NOTHING_RECOVERED)
  expect(await scene.read()).toEqual(before)
  expect(await scene.database.jobs()).toEqual(['a 1 FINISHED, run FAILED error'])
})

test('4: a claim that was not committed leaves the Job QUEUED, and it runs once, as its first attempt', async () => {
  const scene = new Scene()
  await scene.enqueue(['a'])
  const before = await scene.read()
  await scene.crashAfterClaiming(0, async (store) => {
    const nodeId = (await store.listNodes())[0]?.nodeId ?? ''
    onFaultPoint((point) => {
      if (point === 'store:before-commit') throw new Error('crash')
    })
    const types = new Map([['work', 1]])
    const claim = { nodeId, now: scene.clock.now(), limit: 1, types, newRunId: () => 'r' }
    await expect(store.claimJobs(claim)).rejects.toThrow('crash')
    onFaultPoint(null)
  })
  expect(await scene.recoverTwice()).toEqual(NOTHING_RECOVERED)
  expect(await scene.read()).toEqual(before)
  await scene.executeDue()
  expect(scene.executed).toEqual(['a 1'])
})

test('5: several RUNNING Jobs are all recovered, and their retries stand where they stood', async () => {
  const scene = new Scene()
  await scene.enqueue(['a', 'b'])
  await scene.enqueue(['c', 'd', 'e'])
  await scene.crashAfterClaiming(2)
  await scene.enqueue(['urgent'], { priority: 5 })
  const before = await scene.read()
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, runningJobsRecovered: 2, retriesCreated: 2 })
  const { jobs, runs } = await scene.read()
  const now = scene.clock.now()
  const [a, b, ...waiting] = before.jobs as readonly [Job, Job, ...Job[]]
  expect(jobs).toEqual([crashed(a, now), crashed(b, now), ...waiting, firstCrashRetry(a, now), firstCrashRetry(b, now)])
  expect(runs).toEqual(before.runs.map((run) => endedByCrash(run, now)))
  await scene.executeDue()
  expect(scene.executed).toEqual(['urgent 1', 'a 2', 'b 2', 'c 1', 'd 1', 'e 1'])
})

test.for(['recovery:node-found', 'store:before-commit', 'recovery:runs-ended'] satisfies FaultPoint[])(
  '6: a recovery that is broken off at %s is completed by the next one',
  async (place) => {
    const scene = new Scene()
    await scene.enqueue(['a', 'b', 'c'])
    await scene.crashAfterClaiming(2)
    let isRecovering = false
    onFaultPoint((point) => {
      isRecovering ||= point === 'recovery:node-found'
      if (!isRecovering || point !== place) return
      onFaultPoint(null)
      throw new Error('crash')
    })
    const { errors } = await scene.recover()
    // A finish that could not be written is tried again by itself; what else breaks off is told.
    expect(errors).toEqual(place === 'store:before-commit' ? [] : [expect.stringContaining('crash')])
    await scene.recoverTwice()
    const crashes = ['a 1 FINISHED, run FAILED crash', 'b 1 FINISHED, run FAILED crash']
    expect((await scene.database.jobs()).slice(0, 2)).toEqual(crashes)
    await scene.executeDue()
    expect(scene.executed).toEqual(['a 2', 'b 2', 'c 1'])
  },
)

test('a dead node without any Job leaves nothing behind', async () => {
  const scene = new Scene()
  await scene.crashAfterClaiming(0)
  expect(await scene.recoverTwice()).toEqual(NOTHING_RECOVERED)
})
