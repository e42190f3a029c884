import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sqlite } from 'pawl/sqlite'
import { expect, test, vi } from 'vitest'
import { damage, select } from '../recovery/database.ts'
import { call, PATIENCE, Project } from './serve-process.ts'

// `pawl serve` as a process: what it prints, what it refuses, and how it ends. The end under load is in
// test/processes/serve-shutdown.test.ts.

const CONFIG = `
import { setTimeout as sleep } from 'node:timers/promises'
import { defineConfig, defineJob } from 'pawl'

const quick = defineJob({ type: 'quick', run: ({ params }) => ({ got: params }) })
const slow = defineJob({ type: 'slow', run: async ({ signal }) => void (await sleep(60_000, undefined, { signal })) })
const deaf = defineJob({ type: 'deaf', run: async () => void (await sleep(60_000)) })

export default defineConfig({ jobs: [quick, slow, deaf], concurrency: 2, server: { port: 0 } })
`

async function settles(url: string, jobId: unknown): Promise<unknown> {
  return vi.waitFor(async () => {
    const { body } = await call(url, 'GET', `/api/jobs/${String(jobId)}`)
    expect(body['status']).toBe('FINISHED')
    return body['outcome']
  }, PATIENCE)
}

test('it prints one line with its address when it is ready, executes jobs, and SIGTERM ends it with 0', async () => {
  const project = new Project(CONFIG)
  const server = await project.serve()
  expect(server.stdout).toEqual([`Pawl is ready at ${server.url} (sqlite pawl.db, 3 job types)`])
  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect((await call(server.url, 'GET', '/ready')).status).toBe(200)

  const { status, body } = await call(server.url, 'POST', '/api/jobs', { type: 'quick', params: { a: 1 } })
  expect(status).toBe(201)
  expect(await settles(server.url, body['job_id'])).toBe('COMPLETED')

  server.kill('SIGTERM')
  expect(await server.exited).toBe(0)
  expect(server.stdout).toHaveLength(1)
  expect(server.stderr).toEqual([])
  await expect(fetch(server.url)).rejects.toThrow()
})

test('with --json the line is a document', async () => {
  const project = new Project(CONFIG)
  const server = project.start('serve', '--json', '--paused')
  const [line = ''] = await server.prints(/^\{.*\}$/)
  expect(JSON.parse(line)).toEqual({
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    store: 'sqlite pawl.db',
    job_types: ['quick', 'slow', 'deaf'],
    scheduler_running: false,
  })
  server.kill('SIGINT')
  expect(await server.exited).toBe(0)
})

test('without a configuration it serves, and says what to do', async () => {
  const project = new Project('export default { jobs: [] }')
  const server = await project.serve()
  expect(server.stdout[0]).toContain('(sqlite pawl.db, no job types: `pawl init` writes an example)')
  server.kill('SIGTERM')
  expect(await server.exited).toBe(0)
})

test('paused it accepts and does not execute, until the API starts it; a stop by API does not outlive it', async () => {
  const project = new Project(CONFIG)
  const server = await project.serve('--paused')
  expect(server.stdout[0]).toContain('paused: `POST /api/scheduler/start` starts it')
  const { body } = await call(server.url, 'POST', '/api/jobs', { type: 'quick', params: null })
  const jobId = body['job_id']
  const why = await call(server.url, 'GET', `/api/jobs/${String(jobId)}/why`)
  expect(why.body).toMatchObject({ state: 'QUEUED', reasons: [{ code: 'nodes_stopped' }] })
  await call(server.url, 'POST', '/api/scheduler/start')
  expect(await settles(server.url, jobId)).toBe('COMPLETED')

  expect((await call(server.url, 'POST', '/api/scheduler/stop', { timeout: 5 })).status).toBe(200)
  const later = await call(server.url, 'POST', '/api/jobs', { type: 'quick', params: null })
  server.kill('SIGTERM')
  expect(await server.exited).toBe(0)
  expect(select(project.database, 'select count(*) as waiting from pawl_queue')).toEqual([{ waiting: 1 }])

  const next = await project.serve()
  expect(await settles(next.url, later.body['job_id'])).toBe('COMPLETED')
  next.kill('SIGTERM')
  expect(await next.exited).toBe(0)
})

test('paused it carries out a bulk operation that another process has left half-way', async () => {
  const project = new Project(CONFIG)
  const first = await project.serve('--paused')
  const { body } = await call(first.url, 'POST', '/api/jobs', { type: 'quick', params: null })
  first.kill('SIGTERM')
  expect(await first.exited).toBe(0)
  const store = await sqlite(project.database).open()
  const order = { operationId: 'left', kind: 'cancel', filter: {}, jobIds: null, mode: 'graceful' } as const
  const matched = { matched: 1, isMatchedCapped: false }
  await store.startOperation({ ...order, reason: 'left', createdBy: null, matched }, Date.now())
  await store.close()

  const next = await project.serve('--paused')
  const read = async () => (await call(next.url, 'GET', '/api/operations/left')).body
  await expect.poll(read, { timeout: 20_000 }).toMatchObject({ status: 'COMPLETED', changed: 1 })
  const job = await call(next.url, 'GET', `/api/jobs/${String(body['job_id'])}`)
  expect(job.body).toMatchObject({ status: 'CANCELLED', cancel_reason: 'left' })
  next.kill('SIGTERM')
  expect(await next.exited).toBe(0)
})

test('types that nobody has registered are refused, and accepted with --accept-any-type, also by schedules', async () => {
  const project = new Project(CONFIG)
  const strict = await project.serve()
  const refused = await call(strict.url, 'POST', '/api/jobs', { type: 'stranger', params: {} })
  expect(refused).toMatchObject({ status: 422, body: { code: 'unknown_type' } })
  strict.kill('SIGTERM')
  expect(await strict.exited).toBe(0)

  const open = await project.serve('--accept-any-type')
  const accepted = await call(open.url, 'POST', '/api/jobs', { type: 'stranger', params: { a: 1 } })
  expect(accepted).toMatchObject({ status: 201, body: { status: 'QUEUED', job_type: 'stranger' } })
  const why = await call(open.url, 'GET', `/api/jobs/${String(accepted.body['job_id'])}/why`)
  expect(why.body['reasons']).toMatchObject([{ code: 'no_node' }])
  expect(await call(open.url, 'POST', '/api/jobs', { type: 'No Name', params: {} })).toMatchObject({ status: 422 })

  const schedule = { name: 'strange', type: 'later', every_ms: 1_000 }
  const { status, body } = await call(open.url, 'POST', '/api/schedules', schedule)
  expect(status).toBe(201)
  await vi.waitFor(async () => {
    const jobs = await call(open.url, 'GET', `/api/jobs?schedule_id=${String(body['schedule_id'])}`)
    expect(jobs.body['items']).not.toEqual([])
  }, PATIENCE)
  open.kill('SIGTERM')
  expect(await open.exited).toBe(0)
})

test('a second signal exits at once, with the code of that signal', async () => {
  const project = new Project(CONFIG)
  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    const server = await project.serve('--shutdown-timeout', '600')
    await call(server.url, 'POST', '/api/jobs', { type: 'deaf', params: null })
    await vi.waitFor(async () => {
      const { body } = await call(server.url, 'GET', '/api/scheduler/status')
      expect(body['current_job_ids']).not.toEqual([])
    }, PATIENCE)
    server.kill('SIGTERM')
    await server.tells(/^Stopping\. Waiting up to 600 s for \d+ running jobs?; a second signal exits at once\.$/)
    server.kill(signal)
    expect(await server.exited).toBe(code)
  }
})

test('at the deadline what still runs is aborted as shutdown and can be retried elsewhere', async () => {
  const project = new Project(CONFIG)
  const server = await project.serve('--shutdown-timeout', '0')
  const { body } = await call(server.url, 'POST', '/api/jobs', { type: 'slow', params: null })
  await vi.waitFor(async () => {
    const job = await call(server.url, 'GET', `/api/jobs/${String(body['job_id'])}`)
    expect(job.body['status']).toBe('RUNNING')
  }, PATIENCE)
  server.kill('SIGINT')
  expect(await server.exited).toBe(0)
  expect(select(project.database, 'select status, reason from pawl_runs')).toEqual([
    { status: 'FAILED', reason: 'shutdown' },
  ])
  expect(select(project.database, 'select attempt from pawl_jobs join pawl_queue using (seq)')).toEqual([
    { attempt: 2 },
  ])
})

test('an address that it cannot or may not use is one clear line and exit 1', async () => {
  const project = new Project(CONFIG)
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  const taken = await project.run('serve', '--port', String(port))
  other.close()
  expect(taken).toEqual({
    exit: 1,
    stdout: '',
    stderr: `error: Port ${port} on 127.0.0.1 is in use already. Stop what listens there, or choose another port.`,
  })
  // Nothing was begun: no database was made.
  expect(existsSync(project.database)).toBe(false)

  const reachable = await project.run('serve', '--port', '0', '--host', '0.0.0.0')
  expect(reachable).toMatchObject({ exit: 1, stdout: '' })
  expect(reachable.stderr).toMatch(/^error: Refusing to listen on 0\.0\.0\.0: .*`pawl keys create.*$/)
})

test('with a key it may listen for others, and asks for it', async () => {
  const project = new Project(CONFIG)
  const made = await project.run('keys', 'create', '--name', 'ops', '--role', 'admin', '--json')
  const { key } = JSON.parse(made.stdout) as { key: string }
  const server = await project.serve('--host', '0.0.0.0', '--allow-host', 'pawl.example.com')
  expect((await call(server.url, 'GET', '/api/jobs')).status).toBe(401)
  const listed = await project.run('jobs', 'list', '--json', '--server', server.url, '--key', key)
  expect(listed.exit).toBe(0)
  server.kill('SIGTERM')
  expect(await server.exited).toBe(0)
})

test('a store that it must not touch is one clear line and exit 1', async () => {
  const project = new Project(CONFIG)
  project.write('notes.txt', 'This is not a database, and it is long enough to be looked at as one.')
  const foreign = await project.run('serve', '--store', 'sqlite:notes.txt')
  expect(foreign).toMatchObject({ exit: 1, stdout: '' })
  expect(foreign.stderr).toMatch(/^error: [^\n]*notes\.txt[^\n]*$/)

  await project.run('migrate')
  damage(
    project.database,
    'update pawl_migrations set version = 999 where version = (select max(version) from pawl_migrations)',
  )
  const newer = await project.run('serve')
  expect(newer).toMatchObject({ exit: 1, stdout: '' })
  expect(newer.stderr).toMatch(/^error: [^\n]*999[^\n]*$/)
})

test('a wrong value, or a server as its target, is exit 2', async () => {
  const project = new Project(CONFIG)
  for (const [args, message] of [
    [['--port', '70000'], "Expected --port to be a whole number from 0 to 65535, got '70000'."],
    [['--concurrency', 'many'], "Expected --concurrency to be a whole number, got 'many'."],
    [['--shutdown-timeout', '-1'], "Expected --shutdown-timeout to be a whole number from 0 to 3600, got '-1'."],
    [['--server', 'http://127.0.0.1:1'], '`pawl serve` works on a store.'],
  ] as const) {
    const refused = await project.run('serve', ...args)
    expect(refused).toMatchObject({ exit: 2, stdout: '' })
    expect(refused.stderr).toContain(message)
  }
})

test('a process that died is recovered at the start, and told', async () => {
  const project = new Project(CONFIG)
  const first = await project.serve()
  await call(first.url, 'POST', '/api/jobs', { type: 'slow', params: null })
  await vi.waitFor(async () => {
    const { body } = await call(first.url, 'GET', '/api/scheduler/status')
    expect(body['current_job_ids']).not.toEqual([])
  }, PATIENCE)
  first.kill('SIGKILL')
  expect(await first.exited).toBe('SIGKILL')
  const second = await project.serve('--shutdown-timeout', '0')
  expect(second.stderr).toContain('Recovered 1 job of processes that had died.')
  second.kill('SIGTERM')
  expect(await second.exited).toBe(0)
})
