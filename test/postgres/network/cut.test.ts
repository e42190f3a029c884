// Connections break, answers are slow or do not come. The process goes on by itself, what it acknowledged is done, and nothing
// is executed twice.
import { setInterval } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { defineJob } from '../../../src/library/define-job.ts'
import { newGate } from '../../lifecycle/stage.ts'
import { insist, newStage, PATIENCE, type Stage, type Statements } from './stage.ts'

const TIMEOUT = { timeout: 90_000 }

const UNAVAILABLE = { code: 'database_unavailable' }

/** A type whose bodies are noted, and wait until they are let go. */
function newWork() {
  const gate = newGate()
  const bodies: string[] = []
  const work = defineJob({
    type: 'work',
    run: async ({ runId, params }) => {
      bodies.push(runId)
      await gate.passed
      return `done ${params as string}`
    },
  })
  return { work, bodies, gate }
}

test.concurrent('cut when a job is enqueued: the caller is told, and the next call works', TIMEOUT, async () => {
  const { work, bodies, gate } = newWork()
  await using stage = await newStage([work])
  const node = await stage.start({ jobs: [work] })
  const cut = stage.proxy.cutAt(stage.statements.thatMakeJobs)
  await expect(node.enqueue(work, 'a', { idempotencyKey: 'a' })).rejects.toMatchObject(UNAVAILABLE)
  await cut
  expect(await stage.count('jobs')).toBe(0)

  gate.open()
  const job = await insist(() => node.enqueue(work, 'a', { idempotencyKey: 'a' }))
  expect(await stage.observer.settled(job.jobId)).toMatchObject({ outcome: 'COMPLETED', result: 'done a', attempts: 1 })
  expect(bodies).toHaveLength(1)
  await stage.isSound()
})

const moments: readonly [string, keyof Statements][] = [
  ['claimed', 'thatMakeRuns'],
  ['finished', 'thatEndRuns'],
]

test.concurrent.for(moments)(
  'cut when a job is %s: it is executed once, and its result stands',
  TIMEOUT,
  async ([, statements]) => {
    const { work, bodies, gate } = newWork()
    await using stage = await newStage([work])
    const node = await stage.open({ jobs: [work] })
    const job = await stage.observer.enqueue(work, 'a')
    const cut = stage.proxy.cutAt(stage.statements[statements])
    gate.open()
    await node.start()
    await cut
    expect(await job.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'done a', attempts: 1 })
    expect(bodies).toHaveLength(1)
    await stage.isSound()
  },
)

test.concurrent(
  'cut while a job is executed, until nobody is let in: its result is written afterwards',
  TIMEOUT,
  async () => {
    const { work, bodies, gate } = newWork()
    await using stage = await newStage([work])
    const node = await stage.start({ jobs: [work] })
    const job = await stage.observer.enqueue(work, 'a')
    await vi.waitFor(() => expect(bodies).toHaveLength(1), PATIENCE)
    stage.proxy.refuse()
    gate.open()
    await expect(node.enqueue(work, 'b')).rejects.toMatchObject(UNAVAILABLE)
    await vi.waitFor(() => expect(node.executing).toEqual([]), PATIENCE)
    expect(await job.get()).toMatchObject({ status: 'RUNNING' })

    stage.proxy.heal()
    expect(await job.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'done a', attempts: 1 })
    expect(bodies).toHaveLength(1)
    await stage.isSound()
  },
)

test.concurrent('cut again and again for seconds, under load: everything acknowledged is executed, nothing twice', {
  ...TIMEOUT,
}, async () => {
  const bodies: string[] = []
  const note = ({ runId }: { readonly runId: string }) => void bodies.push(runId)
  const jobs = [
    defineJob({ type: 'plain', run: note }),
    defineJob({ type: 'limited', resources: ['gpu'], run: note }),
    defineJob({ type: 'handed-on', run: note }),
  ]
  await using stage = await newStage([])
  const node = await stage.start({ jobs, concurrency: 8, resources: { gpu: 2 } })
  const acknowledged: string[] = []
  let isOver = false
  const EACH_MIN = 20
  const enqueueAll = async (type: string, isKeyed: boolean): Promise<void> => {
    for (let number = 0; !isOver || number < EACH_MIN; number++) {
      const idempotencyKey = `${type} ${number}`
      const accepted = isKeyed
        ? await insist(() => node.enqueue(type, number, { idempotencyKey }))
        : // Without a key nobody knows whether it was accepted, so nobody counts on it.
          await node.enqueue(type, number).catch(() => null)
      if (accepted !== null) acknowledged.push(accepted.jobId)
    }
  }
  const enqueuing = [enqueueAll('plain', true), enqueueAll('limited', true), enqueueAll('handed-on', false)]
  let cuts = 0
  for await (const _ of setInterval(300)) {
    stage.proxy.cut()
    if (++cuts === 15) break
  }
  isOver = true
  await Promise.all(enqueuing)

  await stage.drains(60_000)
  expect(acknowledged.length).toBeGreaterThanOrEqual(2 * EACH_MIN)
  expect(new Set(acknowledged).size).toBe(acknowledged.length)
  await isExecutedOnce(stage, acknowledged, bodies)
  await stage.isSound()
})

/** Each chain has one completed Run, with one body. Before it only Runs without one: strays, which are recorded as such. */
async function isExecutedOnce(stage: Stage, jobIds: readonly string[], bodies: readonly string[]): Promise<void> {
  const runs = await stage.select<{ run_id: string; chain_id: string; what: string }>(`
    select r.run_id, coalesce(j.chain_id, j.job_id) as chain_id, concat_ws(' ', r.status, r.reason) as what
    from pawl.runs r
    join pawl.jobs j using (seq)`)
  const completed = runs.filter(({ what }) => what === 'COMPLETED')
  expect([...bodies].sort()).toEqual(completed.map(({ run_id }) => run_id).sort())
  const chains = completed.map(({ chain_id }) => chain_id)
  expect(new Set(chains).size).toBe(chains.length)
  expect(chains).toEqual(expect.arrayContaining([...jobIds]))
  const others = new Set(runs.map(({ what }) => what).filter((what) => what !== 'COMPLETED'))
  expect([[], ['FAILED crash']]).toContainEqual([...others])
}

test.concurrent('with 200 ms each way everything works, and the node stays alive', TIMEOUT, async () => {
  const { work, bodies, gate } = newWork()
  await using stage = await newStage([work])
  const node = await stage.start({ jobs: [work], concurrency: 10 })
  const lives = () => stage.select<{ beat: string }>('select beat from pawl.lives')
  const before = Number((await lives())[0]?.beat)
  stage.proxy.delay(200)
  gate.open()
  const jobs = await node.enqueueMany(Array.from({ length: 20 }, (_, number) => ({ type: work, params: number })))
  expect(await node.runDirect(work, 'now')).toMatchObject({ result: 'done now' })
  for (const { jobId } of jobs) {
    expect(await stage.observer.settled(jobId)).toMatchObject({ outcome: 'COMPLETED', attempts: 1 })
  }
  expect(bodies).toHaveLength(21)
  await vi.waitFor(async () => expect(Number((await lives())[0]?.beat)).toBeGreaterThanOrEqual(before + 2), PATIENCE)
  expect((await stage.observer.listNodes()).map(({ nodeId }) => nodeId)).toEqual([node.nodeId])
  await stage.isSound()
})

test.concurrent('the server hears everything and is not heard: what it did is found when it is', TIMEOUT, async () => {
  const { work, bodies, gate } = newWork()
  const quick = defineJob({ type: 'quick', run: () => 'quick' })
  await using stage = await newStage([work, quick])
  const node = await stage.start({ jobs: [work, quick] })
  // The first of everything takes more than one answer. From now on it does not.
  await stage.observer.settled((await node.enqueue(quick, null)).jobId)
  const first = await node.enqueue(work, 'first')
  await vi.waitFor(() => expect(bodies).toHaveLength(1), PATIENCE)
  stage.proxy.dropReplies()
  const [second, keyed] = [node.enqueue(work, 'second'), node.enqueue(work, 'keyed', { idempotencyKey: 'keyed' })]
  for (const unheard of [second, keyed]) unheard.catch(() => {})
  gate.open()
  // The end and the second job are committed, and in this process nobody knows.
  expect(await stage.observer.settled(first.jobId)).toMatchObject({ outcome: 'COMPLETED', result: 'done first' })
  await vi.waitFor(async () => expect(await stage.count('jobs')).toBe(3), PATIENCE)

  stage.proxy.heal()
  for (const unheard of [second, keyed]) await expect(unheard).rejects.toMatchObject(UNAVAILABLE)
  await insist(() => node.enqueue(work, 'keyed', { idempotencyKey: 'keyed' }))
  await stage.drains()
  expect(await stage.transitionsOf(first.jobId)).toEqual(['job.queued', 'job.started', 'job.finished'])
  const names = await stage.select<{ params: string }>(
    `select params from pawl.jobs where retry_of is null order by seq`,
  )
  expect(names.map(({ params }) => JSON.parse(params) as unknown)).toEqual([null, 'first', 'second', 'keyed'])
  expect(bodies).toHaveLength(3)
  await stage.isSound()
})

test.concurrent('half-open for a moment: what was under way goes on as if nothing had been', TIMEOUT, async () => {
  const { work, bodies, gate } = newWork()
  await using stage = await newStage([work])
  const node = await stage.start({ jobs: [work] })
  const first = await stage.observer.enqueue(work, 'first')
  await vi.waitFor(() => expect(bodies).toHaveLength(1), PATIENCE)
  stage.proxy.freeze()
  gate.open()
  const second = node.enqueue(work, 'second')
  // Long enough for a look that hangs, and for the tries behind it.
  const frozenAt = performance.now()
  await vi.waitFor(() => expect(performance.now() - frozenAt).toBeGreaterThan(3_000), PATIENCE)
  expect(await first.get()).toMatchObject({ status: 'RUNNING' })

  stage.proxy.heal()
  for (const { jobId } of [first, await second]) {
    expect(await stage.observer.settled(jobId)).toMatchObject({ outcome: 'COMPLETED', attempts: 1 })
  }
  expect(bodies).toHaveLength(2)
  await stage.isSound()
})
