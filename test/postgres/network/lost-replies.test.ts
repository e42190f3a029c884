// The server has committed, and the client never hears of it. Whoever asked cannot know whether it was done; what was done
// must be there once, and be found by whoever asks again.
import { expect, test, vi } from 'vitest'
import { defineJob } from '../../../src/library/define-job.ts'
import { newGate } from '../../lifecycle/stage.ts'
import { newStage, PATIENCE } from './stage.ts'

const TIMEOUT = { timeout: 60_000 }

/** A type whose bodies are noted. */
function newWork(run: (params: string, attempt: number) => unknown = (params) => `done ${params}`) {
  const bodies: string[] = []
  const work = defineJob({
    type: 'work',
    run: ({ params, attempt }) => {
      bodies.push(`${params as string} ${attempt}`)
      return run(params as string, attempt)
    },
  })
  return { work, bodies }
}

/** What the caller is told: that it is not known, and what to do about it. */
const NOT_KNOWN = {
  code: 'database_unavailable',
  message: expect.stringMatching(/was lost .*may have been done, or not.*idempotency key/s) as string,
}

test.concurrent('an enqueue with an idempotency key that is asked for again makes one job', TIMEOUT, async () => {
  const { work, bodies } = newWork()
  await using stage = await newStage([work])
  const node = await stage.start({ jobs: [work] })
  const lost = stage.proxy.loseReplyTo(stage.statements.thatMakeJobs)
  const enqueue = () => node.enqueue(work, 'a', { idempotencyKey: 'once' })
  await expect(enqueue()).rejects.toMatchObject(NOT_KNOWN)
  await lost

  const job = await enqueue()
  expect(job.existed).toBe(true)
  expect(await stage.observer.settled(job.jobId)).toMatchObject({ outcome: 'COMPLETED', result: 'done a', attempts: 1 })
  expect(bodies).toEqual(['a 1'])
  expect(await stage.count('jobs')).toBe(1)
  await stage.isSound()
})

test.concurrent('many with idempotency keys are all found when they are asked for again', TIMEOUT, async () => {
  const { work, bodies } = newWork()
  await using stage = await newStage([work])
  const node = await stage.start({ jobs: [work] })
  const lost = stage.proxy.loseReplyTo(stage.statements.thatMakeJobs)
  const items = ['a', 'b', 'c'].map((params) => ({ type: work, params, idempotencyKey: params }))
  await expect(node.enqueueMany(items)).rejects.toMatchObject(NOT_KNOWN)
  await lost

  const jobs = await node.enqueueMany([...items, { type: work, params: 'd', idempotencyKey: 'd' }])
  expect(jobs.map(({ existed }) => existed)).toEqual([true, true, true, false])
  await stage.drains()
  expect(bodies).toEqual(['a 1', 'b 1', 'c 1', 'd 1'])
  expect(await stage.count('jobs')).toBe(4)
  await stage.isSound()
})

test.concurrent(
  'an enqueue without a key: the caller is told that it may exist, and it exists once',
  TIMEOUT,
  async () => {
    const { work, bodies } = newWork()
    await using stage = await newStage([work])
    const node = await stage.start({ jobs: [work] })
    await stage.observer.settled((await node.enqueue(work, 'before')).jobId)
    const lost = stage.proxy.loseReplyTo(stage.statements.thatMakeJobs)
    const others = ['a', 'b', 'c'].map((params) => node.enqueue(work, params))
    for (const other of others) await expect(other).rejects.toMatchObject(NOT_KNOWN)
    // It was one commit for all three.
    await lost

    await stage.drains()
    expect([...bodies].sort()).toEqual(['a 1', 'b 1', 'before 1', 'c 1'])
    await stage.isSound()
  },
)

test.concurrent('a group exists once, and whole', TIMEOUT, async () => {
  const { work, bodies } = newWork()
  await using stage = await newStage([work])
  const node = await stage.start({ jobs: [work] })
  const lost = stage.proxy.loseReplyTo(stage.statements.thatMakeGroups)
  const jobs = ['a', 'b'].map((params) => ({ type: work, params }))
  await expect(node.groups.create({ mode: 'sequential', jobs })).rejects.toMatchObject(NOT_KNOWN)
  await lost

  const { items } = await stage.observer.groups.list()
  expect(items).toHaveLength(1)
  expect(await stage.observer.groups.settled(items[0]?.groupId ?? '')).toMatchObject({ status: 'COMPLETED' })
  expect(bodies).toEqual(['a 1', 'b 1'])
  await stage.isSound()
})

test.concurrent('a schedule that is declared again is the same one', TIMEOUT, async () => {
  const { work } = newWork()
  await using stage = await newStage([work])
  const node = await stage.open({ jobs: [work] })
  const lost = stage.proxy.loseReplyTo(stage.statements.thatMakeSchedules)
  const declare = () => node.schedules.declare({ name: 'hourly', type: work, everyMs: 3_600_000 })
  await expect(declare()).rejects.toMatchObject(NOT_KNOWN)
  await lost

  const { scheduleId } = await declare()
  expect((await stage.observer.schedules.list()).items.map((schedule) => schedule.scheduleId)).toEqual([scheduleId])
  await stage.isSound()
})

test.concurrent(
  'a claim leaves a run that nobody executes: its node ends it, and the job goes on',
  TIMEOUT,
  async () => {
    const { work, bodies } = newWork()
    await using stage = await newStage([work])
    const [a, b] = await stage.observer.enqueueMany(['a', 'b'].map((params) => ({ type: work, params })))
    const lost = stage.proxy.loseReplyTo(stage.statements.thatMakeRuns)
    await stage.start({ jobs: [work], concurrency: 2 })
    await lost

    for (const job of [a, b]) {
      expect(await job?.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 2 })
      expect(await stage.attemptsOf(job?.jobId ?? '')).toEqual(['FINISHED FAILED crash', 'FINISHED COMPLETED'])
    }
    expect([...bodies].sort()).toEqual(['a 2', 'b 2'])
    await stage.isSound()
  },
)

test.concurrent('a claim under a limit: the same, and the permits are free again', TIMEOUT, async () => {
  const { bodies, work: plain } = newWork()
  const work = defineJob({
    type: 'limited',
    resources: ['gpu'],
    run: ({ attempt }) => void bodies.push(`a ${attempt}`),
  })
  await using stage = await newStage([plain])
  const node = await stage.open({ jobs: [work], resources: { gpu: 1 } })
  const job = await stage.observer.enqueue('limited', null)
  const lost = stage.proxy.loseReplyTo(stage.statements.thatMakeLimitedRuns)
  await node.start()
  await lost

  expect(await job.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 2 })
  expect(bodies).toEqual(['a 2'])
  expect(await stage.select('select 1 from pawl.permits where job_seq is not null')).toEqual([])
  await stage.isSound()
})

test.concurrent('the end of a run is written once, and its result stands', TIMEOUT, async () => {
  const gates = new Map(['first', 'a', 'b'].map((name) => [name, newGate()]))
  const { work, bodies } = newWork(async (params, attempt) => {
    if (attempt === 1) await gates.get(params)?.passed
    return `done ${params}`
  })
  await using stage = await newStage([work])
  await stage.start({ jobs: [work] })
  const jobs = await stage.observer.enqueueMany([...gates.keys()].map((params) => ({ type: work, params })))
  const [first, a, b] = jobs
  gates.get('first')?.open()
  await first?.settled()
  await vi.waitFor(() => expect(bodies).toEqual(['first 1', 'a 1']), PATIENCE)
  const lost = stage.proxy.loseReplyTo(stage.statements.thatEndRuns)
  gates.get('a')?.open()
  gates.get('b')?.open()
  // The end of `a` and the claim of `b` are one commit, so both answers were lost.
  await lost

  expect(await a?.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'done a', attempts: 1 })
  expect(await stage.transitionsOf(a?.jobId ?? '')).toEqual(['job.queued', 'job.started', 'job.finished'])
  expect(await b?.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'done b' })
  expect(await stage.attemptsOf(b?.jobId ?? '')).toEqual(['FINISHED FAILED crash', 'FINISHED COMPLETED'])
  expect(bodies).toEqual(['first 1', 'a 1', 'b 2'])
  await stage.isSound()
})

test.concurrent('a failure makes one retry', TIMEOUT, async () => {
  const bodies: number[] = []
  const work = defineJob({
    type: 'work',
    retry: { maxRetries: 3, backoff: { kind: 'none' } },
    run: ({ attempt }) => {
      bodies.push(attempt)
      if (attempt === 1) throw new Error('not yet')
    },
  })
  await using stage = await newStage([work])
  await stage.start({ jobs: [work], concurrency: 2 })
  const lost = stage.proxy.loseReplyTo(stage.statements.thatEndRuns)
  const job = await stage.observer.enqueue(work, null)
  await lost

  expect(await job.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 2 })
  expect(await stage.attemptsOf(job.jobId)).toEqual(['FINISHED FAILED error', 'FINISHED COMPLETED'])
  expect(bodies).toEqual([1, 2])
  await stage.isSound()
})
