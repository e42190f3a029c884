import { expect, test, vi } from 'vitest'
import { damage, select } from '../recovery/database.ts'
import { PATIENCE, Project } from './serve-process.ts'

const CONFIG = `
import { setTimeout as sleep } from 'node:timers/promises'
import { defineConfig, defineJob } from 'pawl'

const quick = defineJob({ type: 'quick', run: ({ params }) => params })
const flaky = defineJob({
  type: 'flaky',
  retry: { maxRetries: 1, backoff: { kind: 'none' } },
  run: ({ attempt }) => { if (attempt === 1) throw new Error('not yet') },
})
const doomed = defineJob({ type: 'doomed', retry: { maxRetries: 0 }, run: () => { throw new Error('never') } })
const slow = defineJob({ type: 'slow', run: async ({ signal }) => void (await sleep(60_000, undefined, { signal })) })
const parent = defineJob({ type: 'parent', run: async ({ enqueue }) => void (await enqueue('quick', { follows: true })) })

export default defineConfig({ jobs: [quick, flaky, doomed, slow, parent], concurrency: 2 })
`

function statuses(project: Project): unknown[] {
  return select(
    project.database,
    'select job_type, attempt, status from pawl_jobs_readable order by created_at, job_id',
  )
}

test('it executes what other processes enqueue, and SIGINT ends it with 0', async () => {
  const project = new Project(CONFIG)
  const worker = project.start('worker')
  await worker.prints(/^Pawl executes the jobs of sqlite pawl\.db \(5 job types\)$/)
  const done = await project.run('enqueue', 'quick', '-p', 'a=1', '--wait', '--json')
  expect(done.exit).toBe(0)
  worker.kill('SIGINT')
  expect(await worker.exited).toBe(0)
  expect(worker.stderr).toEqual([])
})

test('--once executes what is ready and what becomes ready through it, and leaves the rest', async () => {
  const project = new Project(CONFIG)
  const { stdout } = await project.run('enqueue', 'parent', '--json')
  const { job_id: parent } = JSON.parse(stdout) as { job_id: string }
  await project.run('enqueue', 'quick', '--depends-on', parent)
  await project.run('enqueue', 'flaky')
  await project.run('enqueue', 'doomed')
  await project.run('enqueue', 'quick', '--delay', '1h')

  const once = await project.run('worker', '--once')
  expect(once).toEqual({ exit: 0, stdout: 'Executed 6 jobs: 4 completed, 2 failed, 0 skipped.', stderr: '' })
  expect(statuses(project)).toEqual([
    { job_type: 'parent', attempt: 1, status: 'FINISHED' },
    { job_type: 'quick', attempt: 1, status: 'FINISHED' },
    { job_type: 'flaky', attempt: 1, status: 'FINISHED' },
    { job_type: 'doomed', attempt: 1, status: 'FINISHED' },
    { job_type: 'quick', attempt: 1, status: 'QUEUED' },
    { job_type: 'quick', attempt: 1, status: 'FINISHED' },
    { job_type: 'flaky', attempt: 2, status: 'FINISHED' },
  ])

  const again = await project.run('worker', '--once', '--json')
  expect(again.exit).toBe(0)
  expect(JSON.parse(again.stdout)).toEqual({ executed: 0, completed: 0, failed: 0, skipped: 0 })
})

test('--once does not wait for jobs of types that it does not handle', async () => {
  const project = new Project(CONFIG)
  await project.run('enqueue', 'quick')
  project.write('pawl.config.mjs', "import { defineConfig } from 'pawl'\nexport default defineConfig({ jobs: [] })")
  expect(await project.run('worker', '--once')).toEqual({ exit: 0, stdout: 'Nothing was ready.', stderr: '' })
})

test('--once says what is wrong when nothing can be claimed, and fails', async () => {
  const project = new Project(CONFIG)
  await project.run('enqueue', 'quick')
  damage(project.database, "update pawl_policies set body = '{'")
  const once = await project.run('worker', '--once')
  expect(once).toMatchObject({ exit: 1, stdout: '' })
  expect(once.stderr).toContain('The stored policy number 1 is damaged')
  expect(once.stderr).toMatch(/^error: /m)
})

test('a signal during --once hands on what runs', async () => {
  const project = new Project(CONFIG)
  await project.run('enqueue', 'slow')
  const worker = project.start('worker', '--once', '--shutdown-timeout', '0')
  await vi.waitFor(() => expect(statuses(project)).toMatchObject([{ status: 'RUNNING' }]), PATIENCE)
  worker.kill('SIGTERM')
  expect(await worker.exited).toBe(0)
  expect(statuses(project)).toEqual([
    { job_type: 'slow', attempt: 1, status: 'FINISHED' },
    { job_type: 'slow', attempt: 2, status: 'QUEUED' },
  ])
})
