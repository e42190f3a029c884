import { expect, test } from 'vitest'
import { storeKind } from '../stores/package-stores.ts'
import { CRASH_ERROR, crashed, endedByCrash, firstCrashRetry, NOTHING_RECOVERED, Scene, SECOND } from './scene.ts'

// The recovery decision matrix of the base contract (section 4.5), row by row, through the store: the rows as a dead
// process left them, one start, the complete state, another start. Its last row, an ACTIVE reservation, belongs to
// direct execution and comes with it.

test('QUEUED: it stays in the queue, and nothing is recovered', async () => {
  const scene = new Scene()
  await scene.enqueue(['a', 'b'])
  await scene.enqueue(['later'], { delayMs: 60 * SECOND })
  const before = await scene.read()
  expect(await scene.recoverTwice()).toEqual(NOTHING_RECOVERED)
  expect(await scene.read()).toEqual(before)
  await scene.executeDue()
  expect(scene.executed).toEqual(['a 1', 'b 1'])
})

test('RUNNING without a Run: a FAILED Run is written, and the Job is retried', async () => {
  const scene = new Scene()
  const [id] = await scene.enqueue(['a'])
  await scene.crashAfterClaiming(1)
  await scene.database.damage('delete from pawl_occupancies')
  await scene.database.damage('delete from pawl_runs')
  const { jobs } = await scene.read()
  const now = moveOn(scene)
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, runningJobsRecovered: 1, retriesCreated: 1 })
  const [job] = jobs as [(typeof jobs)[number]]
  const after = await scene.read()
  expect(after.jobs).toEqual([{ ...crashed(job, now), startedAt: now }, firstCrashRetry(job, now)])
  expect(after.runs).toMatchObject([
    {
      jobId: id,
      status: 'FAILED',
      reason: 'crash',
      error: expect.stringMatching(/^Crash recovery: /),
      willRetry: true,
    },
  ])
  expect(after.runs).toMatchObject([{ startedAt: now, finishedAt: now, paramsSnapshot: 'a', result: null }])
  await scene.executeDue()
  expect(scene.executed).toEqual(['a 2'])
})

test('RUNNING without a Run, but with its occupancy: the occupancy goes too, and blocks nobody', async () => {
  const scene = new Scene()
  await scene.enqueue(['a'])
  await scene.crashAfterClaiming(1)
  await scene.database.damage('delete from pawl_runs')
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, runningJobsRecovered: 1, retriesCreated: 1 })
  await scene.executeDue()
  expect(scene.executed).toEqual(['a 2'])
})

test('RUNNING with an open Run: the Run becomes FAILED, and the Job is retried', async () => {
  const scene = new Scene()
  await scene.enqueue(['a'], { priority: 7, tags: ['red'], businessKey: 'the-a', createdBy: 'me' })
  await scene.crashAfterClaiming(1)
  const { jobs, runs } = await scene.read()
  const now = moveOn(scene)
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, runningJobsRecovered: 1, retriesCreated: 1 })
  const [job, run] = [jobs[0], runs[0]]
  expect.assert(job !== undefined && run !== undefined)
  const after = await scene.read()
  expect(after.jobs).toEqual([crashed(job, now), firstCrashRetry(job, now)])
  expect(after.runs).toEqual([endedByCrash(run, now)])
  await scene.executeDue()
  expect(scene.executed).toEqual(['a 2'])
})

test('RUNNING with an open Run, but without its occupancy: the same', async () => {
  const scene = new Scene()
  await scene.enqueue(['a'])
  await scene.crashAfterClaiming(1)
  await scene.database.damage('delete from pawl_occupancies')
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, runningJobsRecovered: 1, retriesCreated: 1 })
  const { runs } = await scene.read()
  expect(runs).toMatchObject([{ status: 'FAILED', reason: 'crash', error: CRASH_ERROR }])
  await scene.executeDue()
  expect(scene.executed).toEqual(['a 2'])
})

test.for([
  { outcome: 'COMPLETED', set: "status = 'COMPLETED', result = '7'" },
  { outcome: 'SKIPPED', set: "status = 'SKIPPED', error = 'nothing to do'" },
  { outcome: 'FAILED', set: "status = 'FAILED', reason = 'error', error = 'no'" },
] as const)('RUNNING with a $outcome Run: only the Job is ended, at the time of its Run', async ({ outcome, set }) => {
  const scene = new Scene()
  await scene.enqueue(['a'])
  await scene.crashAfterClaiming(1)
  await scene.database.damage(`update pawl_runs set ${set}, finished_at = started_at + 3000`)
  if (storeKind === 'postgres' && outcome !== 'COMPLETED') await scene.database.damage(ALSO_FOUND_AS_UNCOMPLETED)
  await scene.database.damage(
    `insert into pawl_statistics (began_at, node_seq, executed, ${outcome}) values (0, 0, 1, 1)`,
  )
  const { jobs, runs } = await scene.read()
  moveOn(scene)
  expect(await scene.recoverTwice()).toEqual(NOTHING_RECOVERED)
  const [job, run] = [jobs[0], runs[0]]
  expect.assert(job !== undefined && run !== undefined)
  const after = await scene.read()
  expect(after.jobs).toEqual([{ ...job, status: 'FINISHED', outcome, finishedAt: run.startedAt + 3 * SECOND }])
  expect(after.runs).toEqual([run])
  await scene.executeDue()
  expect(scene.executed).toEqual([])
})

test('FAILED without the retry that was decided on: the retry is written', async () => {
  const scene = new Scene()
  const [id] = await scene.enqueue(['a'])
  await scene.crashAfterClaiming(1)
  await scene.recover()
  await scene.database.damage('delete from pawl_queue')
  await scene.database.damage(`delete from pawl_jobs where retry_of = '${id}'`)
  const { jobs, runs } = await scene.read()
  expect(jobs).toHaveLength(1)
  moveOn(scene)
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, retriesCreated: 1 })
  const after = await scene.read()
  expect(after.jobs).toMatchObject([jobs[0], { status: 'QUEUED', attempt: 2, retryOf: id, chainId: id }])
  expect(after.runs).toEqual(runs)
  await scene.executeDue()
  expect(scene.executed).toEqual(['a 2'])
})

/** On a server such Runs are found by a table of their own. */
const ALSO_FOUND_AS_UNCOMPLETED = `insert into pawl_uncompleted_runs (seq, status, started_at, will_retry)
  select seq, status, started_at, will_retry from pawl_runs`

/** The next process starts a while after the crash. Returns when. */
function moveOn({ clock }: Scene): number {
  clock.set(clock.now() + 5 * SECOND)
  return clock.now()
}
