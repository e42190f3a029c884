import { expect, test } from 'vitest'
import { Stage } from './stage.ts'

// SIGTERM and SIGINT to a process whose scheduler handles signals.

const UNCHARGED = { error_retries: 0, crash_retries: 0, shutdown_retries: 1 }

test('it waits for what executes, claims nothing more, and exits with 0', async () => {
  const stage = new Stage()
  const node = await stage.startNode('node', ['deaf'], { handleSignals: true, concurrency: 2 })
  await stage.enqueue('deaf', 'a')
  await stage.begins('a')
  node.kill('SIGTERM')
  await node.tells('closing')
  await stage.enqueue('deaf', 'b')
  stage.letGo('a')
  expect(await node.exited).toBe(0)
  expect(await stage.jobs()).toEqual(['a 1 FINISHED, run COMPLETED', 'b 1 QUEUED, no run'])
  expect(await stage.select('select name from pawl_nodes where ended_at is null')).toEqual([])
  await stage.isSound()
})

test.for(['SIGTERM', 'SIGINT'] as const)(
  '%s: what has not ended at the deadline is aborted as shutdown, and the next process retries it at once, uncharged',
  async (signal) => {
    const stage = new Stage()
    const node = await stage.startNode('node', ['polite'], { handleSignals: true, shutdownTimeoutMs: 300 })
    await stage.enqueue('polite', 'a')
    await stage.begins('a')
    node.kill(signal)
    expect(await node.exited).toBe(0)
    expect(await stage.jobs()).toEqual(['a 1 FINISHED, run FAILED shutdown', 'a 2 QUEUED, no run'])
    stage.letGo('a')
    const next = await stage.startNode('next', ['polite'])
    expect(await next.tells('started')).toEqual({
      runningJobsRecovered: 0,
      reservationsExpired: 0,
      retriesCreated: 0,
      jobGroupsRecovered: 0,
      errors: [],
    })
    await stage.begins('a', 2)
    await stage.drains()
    expect(await stage.select(COUNTS)).toEqual([UNCHARGED])
    expect(await waitedMs(stage)).toBe(0)
    await stage.isSound()
  },
)

test('a body that ignores the abort does not keep the process, and the next one retries it, uncharged', async () => {
  const stage = new Stage()
  const node = await stage.startNode('node', ['deaf'], { handleSignals: true, shutdownTimeoutMs: 100 })
  await stage.enqueue('deaf', 'a')
  await stage.begins('a')
  node.kill('SIGTERM')
  expect(await node.exited).toBe(0)
  await stage.database.outlives()
  expect(await stage.jobs()).toEqual(['a 1 FINISHED, run FAILED shutdown, occupied', 'a 2 QUEUED, no run'])
  stage.letGo('a')
  await stage.startNode('next', ['deaf'])
  await stage.drains()
  expect(await stage.jobs()).toEqual(['a 1 FINISHED, run FAILED shutdown', 'a 2 FINISHED, run COMPLETED'])
  expect(await stage.select(COUNTS)).toEqual([UNCHARGED])
  await stage.isSound()
})

test('a Job that must not be retried is not retried after a shutdown either', async () => {
  const stage = new Stage()
  const node = await stage.startNode('node', ['polite'], { handleSignals: true, shutdownTimeoutMs: 100 })
  await stage.enqueue('polite', 'a', { retry: { maxRetries: 0 } })
  await stage.begins('a')
  node.kill('SIGTERM')
  expect(await node.exited).toBe(0)
  expect(await stage.jobs()).toEqual(['a 1 FINISHED, run FAILED shutdown'])
})

test.for([
  { signal: 'SIGTERM', code: 143 },
  { signal: 'SIGINT', code: 130 },
] as const)('a second $signal exits at once; what executed counts as a crash', async ({ signal, code }) => {
  const stage = new Stage()
  const node = await stage.startNode('node', ['deaf'], { handleSignals: true, shutdownTimeoutMs: 600_000 })
  await stage.enqueue('deaf', 'a')
  await stage.begins('a')
  node.kill('SIGTERM')
  await node.tells('closing')
  node.kill(signal)
  expect(await node.exited).toBe(code)
  await stage.database.outlives()
  expect(await stage.jobs()).toEqual(['a 1 RUNNING, run open, occupied'])
  const next = await stage.startNode('next', ['deaf'])
  expect(await next.tells('started')).toEqual({
    runningJobsRecovered: 1,
    reservationsExpired: 0,
    retriesCreated: 1,
    jobGroupsRecovered: 0,
    errors: [],
  })
  expect((await stage.jobs())[0]).toBe('a 1 FINISHED, run FAILED crash')
})

const COUNTS = 'select error_retries, crash_retries, shutdown_retries from pawl_jobs where attempt = 2'

/** How long after the failure the retry was due. */
async function waitedMs(stage: Stage): Promise<number> {
  const [row] = await stage.select(`select retry.run_at - run.finished_at as waited from pawl_jobs retry
    join pawl_jobs first on first.job_id = retry.retry_of join pawl_runs run on run.seq = first.seq`)
  return Number(row?.['waited'])
}
