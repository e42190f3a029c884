import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { openScheduler } from '../../src/library/open-scheduler.ts'
import { revokeKey } from '../../src/operations/api-keys.ts'
import { DOOR } from '../../src/operations/door.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { SettableClock } from '../../src/testing/settable-clock.ts'
import { EventReader } from './server-events.ts'
import {
  afterwards,
  asProblem,
  changeFile,
  newFolder,
  noop,
  openStage,
  PATIENCE,
  problemOf,
  type Stage,
} from './server-stage.ts'

/** The samples of a scrape by their names with labels. */
async function scrape({ get }: Stage): Promise<ReadonlyMap<string, number>> {
  const { status, text, headers } = await get('/metrics')
  expect({ status, type: headers['content-type'] }).toEqual({
    status: 200,
    type: 'text/plain; version=0.0.4; charset=utf-8',
  })
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    samples.map((line) => {
      const at = line.lastIndexOf(' ')
      return [line.slice(0, at), Number(line.slice(at + 1))] as const
    }),
  )
}

describe('/health', () => {
  it('says that the process lives, and its version', async () => {
    const { get } = await openStage()
    expect(await get('/health')).toMatchObject({
      status: 200,
      body: { status: 'ok', version: expect.stringMatching(/^\d+\.\d+\.\d+/) },
    })
  })
})

describe('/ready', () => {
  it('says that the store answers', async () => {
    const { get } = await openStage()
    expect(await get('/ready')).toMatchObject({ status: 200, body: { status: 'ready' } })
  })

  it('says that it does not, while the process lives', async () => {
    const file = join(newFolder(), 'pawl.db')
    const { get } = await openStage({ file })
    changeFile(file, 'alter table pawl_events rename to stolen')
    const answer = await get('/ready')
    expect(answer.status).toBeGreaterThanOrEqual(500)
    expect(answer.headers['content-type']).toContain('application/problem+json')
    expect((await get('/health')).status).toBe(200)
  })
})

describe('/metrics', () => {
  it('tells the queue, and what came of everything, as the store has it', async () => {
    const clock = new SettableClock()
    const failing = defineJob({
      type: 'failing',
      retry: { maxRetries: 0 },
      run: () => {
        throw new Error('no')
      },
    })
    const skipping = defineJob({ type: 'skipping', run: ({ skip }) => skip('not today') })
    const stage = await openStage({ scheduler: { jobs: [noop, failing, skipping], clock } })
    const { scheduler } = stage
    await scheduler.start()
    await (await scheduler.enqueue(noop, null)).settled()
    await (await scheduler.enqueue(failing, null)).settled()
    await (await scheduler.enqueue(skipping, null)).settled()
    await scheduler.stop()
    await scheduler.enqueue(noop, null)
    await scheduler.enqueue(noop, null)
    await scheduler.enqueue(noop, null, { runAt: new Date(clock.now() + 60_000) })
    await scheduler.cancel((await scheduler.enqueue(noop, null)).jobId)
    clock.set(clock.now() + 7_000)
    const samples = await scrape(stage)
    expect(
      Object.fromEntries([...samples].filter(([name]) => name.startsWith('pawl_') && !name.includes('http'))),
    ).toMatchObject({
      pawl_jobs_queued: 3,
      pawl_jobs_ready: 2,
      pawl_jobs_running: 0,
      pawl_queue_oldest_ready_age_seconds: 7,
      pawl_direct_waiting: 0,
      pawl_direct_running: 0,
      pawl_nodes: 1,
      pawl_jobs_cancelled_total: 1,
      'pawl_runs_finished_total{status="COMPLETED"}': 1,
      'pawl_runs_finished_total{status="FAILED"}': 1,
      'pawl_runs_finished_total{status="SKIPPED"}': 1,
    })
    expect((await scrape(stage)).get('pawl_jobs_cancelled_total')).toBe(1)
  })

  it('times runs and waits from the first scrape on, also those of other processes', async () => {
    const clock = new SettableClock()
    const file = join(newFolder(), 'pawl.db')
    const stage = await openStage({ file, scheduler: { clock } })
    const worker = await openScheduler({ store: sqlite(file), jobs: [noop], clock })
    afterwards(() => worker.close())
    await scrape(stage)
    const job = await stage.scheduler.enqueue(noop, null)
    clock.set(clock.now() + 3_000)
    await worker.start()
    await vi.waitFor(async () => expect((await stage.scheduler.getJob(job.jobId)).status).toBe('FINISHED'), PATIENCE)
    await vi.waitFor(async () => {
      clock.set(clock.now() + 1_000)
      const samples = await scrape(stage)
      expect(samples.get('pawl_run_duration_seconds_count{job_type="noop",status="COMPLETED"}')).toBe(1)
      expect(samples.get('pawl_job_wait_seconds_bucket{le="1",job_type="noop"}')).toBe(0)
      expect(samples.get('pawl_job_wait_seconds_bucket{le="5",job_type="noop"}')).toBe(1)
    }, PATIENCE)
  })

  it('times requests by method, route and status, and never by what callers make up', async () => {
    const stage = await openStage()
    await stage.get('/api/jobs/one')
    await stage.get('/api/jobs/two?x=1')
    await stage.get('/made/up')
    await stage.ask('PROPFIND', '/api/jobs')
    const samples = await scrape(stage)
    const counts = [...samples].filter(([name]) => name.startsWith('pawl_http_request_duration_seconds_count'))
    expect(Object.fromEntries(counts)).toEqual({
      'pawl_http_request_duration_seconds_count{method="GET",route="/api/jobs/{job_id}",status="404"}': 1,
      'pawl_http_request_duration_seconds_count{method="GET",route="/api/jobs/{job_id}",status="422"}': 1,
      'pawl_http_request_duration_seconds_count{method="GET",route="none",status="404"}': 1,
      'pawl_http_request_duration_seconds_count{method="other",route="none",status="405"}': 1,
    })
  })

  it('does not time streams, which last as long as their readers like', async () => {
    const stage = await openStage()
    const { key, keyId } = await stage.newKey('viewer')
    const headers = { authorization: `Bearer ${key}` }
    const reader = await new EventReader(stage.port, '/api/events', headers).opened()
    await stage.scheduler.enqueue(noop, null)
    await reader.has(1)
    await revokeKey(stage.scheduler[DOOR].context, keyId)
    await stage.scheduler.enqueue(noop, null)
    await reader.ended()
    const admin = { authorization: `Bearer ${(await stage.newKey('admin')).key}` }
    for (let times = 0; times < 3; times++) await stage.get('/health')
    const { text } = await stage.get('/metrics', admin)
    expect(text).toMatch(/route="\/health"/)
    expect(text).not.toContain('route="/api/events"')
  })

  it('has figures of two hundred job types, and one for all others together', async () => {
    const jobs = Array.from({ length: 205 }, (_, n) => defineJob({ type: `type-${n}`, run: () => null }))
    const stage = await openStage({ scheduler: { jobs, concurrency: 50 } })
    await scrape(stage)
    const handles = await stage.scheduler.enqueueMany(jobs.map((type) => ({ type, params: null })))
    await stage.scheduler.start()
    await Promise.all(handles.map((handle) => handle.settled()))
    await vi.waitFor(async () => {
      const samples = [...(await scrape(stage))].filter(([name]) => name.startsWith('pawl_run_duration_seconds_count'))
      expect(samples.reduce((sum, [, count]) => sum + count, 0)).toBe(205)
      expect(samples).toHaveLength(201)
      expect(samples).toContainEqual(['pawl_run_duration_seconds_count{job_type="other",status="COMPLETED"}', 5])
    }, PATIENCE)
  })

  it('follows the conventions: help, type, units, and what every process tells', async () => {
    const stage = await openStage()
    const { text } = await stage.get('/metrics')
    const names = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type] as const)
    for (const [name = '', type] of names) {
      expect(text).toMatch(new RegExp(`^# HELP ${name} .+`, 'm'))
      if (type === 'counter' && name.startsWith('pawl_')) expect(name).toMatch(/_total$/)
      if (name.startsWith('pawl_') && /age|wait_|duration/.test(name)) expect(name).toMatch(/_seconds$/)
    }
    const known = new Set(names.map(([name]) => name))
    for (const name of ['process_cpu_seconds_total', 'nodejs_eventloop_lag_seconds', 'pawl_build_info'])
      expect(known).toContain(name)
  })

  it('says so when the store does not answer', async () => {
    const file = join(newFolder(), 'pawl.db')
    const { get } = await openStage({ file })
    changeFile(file, 'alter table pawl_nodes rename to stolen')
    expect(problemOf(await get('/metrics'))).toEqual(asProblem(503, 'database_corrupt'))
  })
})
