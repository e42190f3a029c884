import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, test, vi } from 'vitest'
import { call, PATIENCE, Project } from '../cli/serve-process.ts'
import { isSound, select } from '../recovery/database.ts'

// SIGTERM to `pawl serve` while 64 connections enqueue and jobs run.

const CONFIG = `
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineConfig, defineJob } from 'pawl'

const quick = defineJob({ type: 'quick', run: ({ params }) => params })
const short = defineJob({ type: 'short', run: async () => void (await sleep(1_500)) })
const gate = defineJob({ type: 'gate', run: async () => { while (!existsSync('go')) await sleep(10) } })
const long = defineJob({ type: 'long', run: async ({ signal }) => void (await sleep(600_000, undefined, { signal })) })

export default defineConfig({ jobs: [quick, short, gate, long], concurrency: 8 })
`

const CONNECTIONS = 64
const SHUTDOWN_TIMEOUT_S = 4

/** How one request ended, as its sender saw it. */
type Ending =
  | { readonly kind: 'answered'; readonly status: number; readonly jobId: string | undefined }
  /** Nobody listens any more. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'broken'; readonly code: string; readonly wasSentWhole: boolean }

function enqueue(agent: Agent, url: string, body: object): Promise<Ending> {
  return new Promise((resolve) => {
    let wasSentWhole = false
    const headers = { 'content-type': 'application/json' }
    const sent = request(`${url}/api/jobs`, { agent, method: 'POST', headers }, (response: IncomingMessage) => {
      text(response).then(
        (answer) => {
          const { job_id: jobId } = JSON.parse(answer) as { job_id?: string }
          resolve({ kind: 'answered', status: response.statusCode ?? 0, jobId })
        },
        (error: NodeJS.ErrnoException) => resolve({ kind: 'broken', code: error.code ?? error.message, wasSentWhole }),
      )
    })
    sent.on('finish', () => {
      wasSentWhole = true
    })
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const code = error.code ?? error.message
      resolve(code === 'ECONNREFUSED' ? { kind: 'refused' } : { kind: 'broken', code, wasSentWhole })
    })
    sent.end(JSON.stringify(body))
  })
}

/** Sends one request after the other until it is told that there is no more to send to. */
async function keepSending(url: string, endings: Ending[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (;;) {
    const ending = await enqueue(agent, url, { type: 'quick', params: { n: endings.length } })
    endings.push(ending)
    if (ending.kind !== 'answered' || ending.status !== 201) break
  }
  agent.destroy()
}

test('every accepted request is answered and stored, running jobs finish or are handed on, and it exits with 0 in time', async () => {
  const project = new Project(CONFIG)
  const server = await project.serve('--shutdown-timeout', String(SHUTDOWN_TIMEOUT_S))
  const agent = new Agent()
  for (const type of ['short', 'long']) await enqueue(agent, server.url, { type, params: null, priority: 10 })
  const isRunning =
    'select count(*) as bodies from pawl_occupancies join pawl_jobs using (seq) where pawl_jobs.priority = 10'
  await vi.waitFor(() => expect(select(project.database, isRunning)).toEqual([{ bodies: 2 }]), PATIENCE)

  const endings: Ending[] = []
  const senders = Array.from({ length: CONNECTIONS }, () => keepSending(server.url, endings))
  await vi.waitFor(() => expect(endings.length).toBeGreaterThan(CONNECTIONS * 10), PATIENCE)
  const signalledAt = performance.now()
  server.kill('SIGTERM')
  await Promise.all(senders)
  const refusedAfterMs = performance.now() - signalledAt
  expect(await server.exited).toBe(0)
  const tookMs = performance.now() - signalledAt

  // Nobody is let in while the long one is waited for.
  expect(refusedAfterMs).toBeLessThan(SHUTDOWN_TIMEOUT_S * 1_000 - 1_000)
  // The long one takes all the time there is; then it is aborted and ends at once.
  expect(tookMs).toBeGreaterThan(SHUTDOWN_TIMEOUT_S * 1_000 - 100)
  expect(tookMs).toBeLessThan(SHUTDOWN_TIMEOUT_S * 1_000 + 5_000)
  const statuses = new Set(endings.map((ending) => (ending.kind === 'answered' ? ending.status : ending.kind)))
  expect([...statuses].filter((status) => ![201, 503, 'refused'].includes(status))).toEqual([])

  const acknowledged = endings.flatMap((ending) =>
    ending.kind === 'answered' && ending.status === 201 ? [ending.jobId] : [],
  )
  const stored = new Set(select(project.database, 'select job_id from pawl_jobs').map((row) => row['job_id']))
  expect(acknowledged.length).toBeGreaterThan(CONNECTIONS * 10)
  expect(acknowledged.filter((jobId) => !stored.has(jobId ?? ''))).toEqual([])

  const runs = `select job_type, attempt, runs.status, reason from pawl_runs_readable runs
    where job_type in ('short', 'long') order by job_type desc`
  expect(select(project.database, runs)).toEqual([
    { job_type: 'short', attempt: 1, status: 'COMPLETED', reason: null },
    { job_type: 'long', attempt: 1, status: 'FAILED', reason: 'shutdown' },
  ])
  const handedOn = "select attempt from pawl_jobs_readable where job_type = 'long' and status = 'QUEUED'"
  expect(select(project.database, handedOn)).toEqual([{ attempt: 2 }])
  expect(select(project.database, 'select count(*) as bodies from pawl_occupancies')).toEqual([{ bodies: 0 }])
  isSound(project.database)
})

test('who comes while it waits for running jobs is refused, not left hanging; a direct execution gets its result', async () => {
  const project = new Project(CONFIG)
  const server = await project.serve('--shutdown-timeout', '20')
  let isAnswered = false
  const direct = call(server.url, 'POST', '/api/direct/gate', { params: null }).finally(() => {
    isAnswered = true
  })
  await vi.waitFor(async () => {
    const { body } = await call(server.url, 'GET', '/api/reservations?status=RUNNING')
    expect(body['items']).toHaveLength(1)
  }, PATIENCE)
  server.kill('SIGTERM')
  await server.tells(/^Stopping\. Waiting up to 20 s for 1 running job;/)
  await vi.waitFor(() => expect(fetch(`${server.url}/ready`)).rejects.toThrow(), PATIENCE)
  expect(isAnswered).toBe(false)
  project.write('go', '')
  expect((await direct).status).toBe(200)
  expect(await server.exited).toBe(0)
})

test('an open event stream does not keep it', async () => {
  const project = new Project(CONFIG)
  const server = await project.serve()
  const stream = await fetch(`${server.url}/api/events`)
  expect(stream.status).toBe(200)
  server.kill('SIGTERM')
  await stream.text()
  expect(await server.exited).toBe(0)
})

test('a direct execution that waits for a place until the deadline is answered, and blocks nobody afterwards', async () => {
  const project = new Project(CONFIG)
  const server = await project.serve('--shutdown-timeout', '1', '--concurrency', '1')
  await call(server.url, 'POST', '/api/jobs', { type: 'long', params: null })
  const direct = call(server.url, 'POST', '/api/direct/quick', { params: null })
  await vi.waitFor(async () => {
    const { body } = await call(server.url, 'GET', '/api/reservations?status=WAITING')
    expect(body['items']).toHaveLength(1)
  }, PATIENCE)
  server.kill('SIGTERM')
  expect(await direct).toMatchObject({ status: 503, body: { code: 'shutting_down' } })
  expect(await server.exited).toBe(0)
  const tickets = "select count(*) as waiting from pawl_reservations where status = 'WAITING'"
  expect(select(project.database, tickets)).toEqual([{ waiting: 0 }])
})
