import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { openScheduler } from '../../src/library/open-scheduler.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { startScript } from '../recovery/processes.ts'
import { EventReader } from './server-events.ts'
import { afterwards, asProblem, newFolder, openSocket, openStage, PATIENCE, problemOf } from './server-stage.ts'

/** Callers that keep their connections and ask again as soon as they are answered, until they are let go. */
class Load {
  readonly made: string[] = []
  /** What became of requests that were not answered with a new Job. */
  readonly others: string[] = []
  readonly #port: number
  readonly #agent = new Agent({ keepAlive: true })

  constructor(port: number) {
    this.#port = port
    afterwards(() => this.#agent.destroy())
  }

  /** Resolves when the server takes no more connections. */
  async run(callers: number): Promise<void> {
    await Promise.all(Array.from({ length: callers }, () => this.#call()))
  }

  async #call(): Promise<void> {
    while (await this.#ask());
  }

  #ask(): Promise<boolean> {
    return new Promise((resolve) => {
      const body = '{"type":"noop"}'
      const headers = { 'content-type': 'application/json', 'content-length': body.length }
      const options = {
        host: '127.0.0.1',
        port: this.#port,
        method: 'POST',
        path: '/api/jobs',
        agent: this.#agent,
        headers,
      }
      const request = httpRequest(options, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        response.on('end', () => {
          if (response.statusCode === 201) this.made.push((JSON.parse(text) as { job_id: string }).job_id)
          else this.others.push(`${response.statusCode}`)
          resolve(true)
        })
        response.on('error', (error) => {
          this.others.push(`cut off: ${error.message}`)
          resolve(true)
        })
      })
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNREFUSED') return resolve(false)
        // A connection that the server never took: it was waiting in the kernel's line when the server stopped listening.
        if (!request.reusedSocket && error.code === 'ECONNRESET') return resolve(false)
        this.others.push(`${error.code} on a ${request.reusedSocket ? 'kept' : 'new'} connection`)
        resolve(false)
      })
      request.end(body)
    })
  }
}

describe('closing', () => {
  it('answers everything that it has taken, under load, and loses nothing of it', async () => {
    const { server, port, scheduler } = await openStage()
    const load = new Load(port)
    const loaded = load.run(32)
    await vi.waitFor(() => expect(load.made.length).toBeGreaterThan(300), PATIENCE)
    await server.close()
    await loaded
    expect(load.others).toEqual([])
    const stored: string[] = []
    for (let cursor: string | null = null; ; ) {
      const page = await scheduler.listJobs({ limit: 200, ...(cursor !== null && { cursor }) })
      stored.push(...page.items.map(({ jobId }) => jobId))
      cursor = page.nextCursor
      if (cursor === null) break
    }
    expect(stored.toSorted()).toEqual(load.made.toSorted())
  })

  it('tells on connections that stand that it is not ready any more, and takes no new ones', async () => {
    const { server, port } = await openStage()
    const socket = openSocket(port)
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    const request = 'GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n'
    socket.write(request)
    await vi.waitFor(() => expect(text).toContain('"ready"'), PATIENCE)
    text = ''
    const closed = server.close()
    socket.write(request)
    await once(socket, 'close')
    expect(text).toMatch(/^HTTP\/1\.1 503 .*connection: close.*"shutting_down"/is)
    await closed
    const late = openSocket(port)
    const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException]
    expect(error.code).toBe('ECONNREFUSED')
  })

  it('waits for what takes long, and closes the connection with the answer', async () => {
    let letGo = () => {}
    const slow = defineJob({
      type: 'slow',
      run: () => new Promise<string>((resolve) => (letGo = () => resolve('done'))),
    })
    const { server, post, scheduler } = await openStage({ scheduler: { jobs: [slow] } })
    await scheduler.start()
    const answer = post('/api/direct/slow', { params: {} })
    await vi.waitFor(() => expect(scheduler.executingDirect).toHaveLength(1), PATIENCE)
    let isClosed = false
    const closed = server.close().then(() => {
      isClosed = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(isClosed).toBe(false)
    letGo()
    expect(await answer).toMatchObject({ status: 200, body: { result: 'done' }, headers: { connection: 'close' } })
    await closed
  })

  it('tells those that wait beyond the deadline that it shuts down', async () => {
    let letGo = () => {}
    const slow = defineJob({ type: 'slow', run: () => new Promise<null>((resolve) => (letGo = () => resolve(null))) })
    const { server, post, scheduler } = await openStage({ shutdownTimeoutMs: 300, scheduler: { jobs: [slow] } })
    await scheduler.start()
    afterwards(() => letGo())
    const executing = post('/api/direct/slow', { params: {} })
    await vi.waitFor(() => expect(scheduler.executingDirect).toHaveLength(1), PATIENCE)
    const waiting = post('/api/direct/slow', { params: {} })
    await vi.waitFor(async () => {
      const { items } = await scheduler.listReservations()
      expect(items.map(({ status }) => status)).toContain('WAITING')
    }, PATIENCE)
    await server.close()
    expect(problemOf(await executing)).toEqual(asProblem(503, 'shutting_down'))
    expect(problemOf(await waiting)).toEqual(asProblem(503, 'shutting_down'))
  })

  it('tells those that only have a ticket soon, while those that are served are waited for', async () => {
    const begun: ((result: string) => void)[] = []
    const slow = defineJob({ type: 'slow', run: () => new Promise<string>((resolve) => void begun.push(resolve)) })
    const { server, post, scheduler } = await openStage({ scheduler: { jobs: [slow] } })
    await scheduler.start()
    const statuses = async () => (await scheduler.listReservations()).items.map(({ status }) => status).toSorted()
    const executing = post('/api/direct/slow', { params: {} })
    await vi.waitFor(() => expect(begun).toHaveLength(1), PATIENCE)
    const waiting = post('/api/direct/slow', { params: {} })
    const inTheSameProcess = scheduler.runDirect(slow, {})
    await vi.waitFor(async () => expect(await statuses()).toEqual(['RUNNING', 'WAITING', 'WAITING']), PATIENCE)
    const closed = server.close()
    expect(problemOf(await waiting)).toEqual(asProblem(503, 'shutting_down'))
    expect(await statuses()).toEqual(['RELEASED', 'RUNNING', 'WAITING'])
    begun[0]?.('first')
    expect(await executing).toMatchObject({ status: 200, body: { result: 'first' } })
    await closed
    await vi.waitFor(() => expect(begun).toHaveLength(2), PATIENCE)
    begun[1]?.('second')
    expect(await inTheSameProcess).toMatchObject({ result: 'second' })
  })

  it('ends streams in good order', async () => {
    const { server, port } = await openStage()
    const reader = await new EventReader(port, '/api/events').opened()
    await server.close()
    await reader.ended()
    expect(reader.hasEnded).toBe(true)
  })

  it('is not held up by connections that ask nothing, or began to ask and stopped', async () => {
    const { server, port, get } = await openStage({ shutdownTimeoutMs: 400 })
    const agent = new Agent({ keepAlive: true })
    afterwards(() => agent.destroy())
    await new Promise((resolve) =>
      httpRequest({ host: '127.0.0.1', port, path: '/health', agent }, (response) =>
        response.resume().on('end', resolve),
      ).end(),
    )
    const silent = openSocket(port)
    const half = openSocket(port)
    half.write(
      'POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    )
    half.on('error', () => {})
    await once(silent, 'connect')
    expect((await get('/health')).status).toBe(200)
    const before = performance.now()
    await server.close()
    expect(performance.now() - before).toBeLessThan(5_000)
  })

  it('can be asked for twice', async () => {
    const { server } = await openStage()
    await Promise.all([server.close(), server.close()])
    await server.close()
  })

  it('comes with the closing of the scheduler, and not the other way round', async () => {
    const { server, scheduler, get } = await openStage()
    expect((await get('/ready')).status).toBe(200)
    await server.close()
    expect((await scheduler.listJobs()).items).toEqual([])
    const second = await openStage()
    await second.scheduler.close()
    await expect(second.get('/health')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})

describe('SIGTERM under load', () => {
  it('leaves no request unanswered, finishes what runs, and exits 0', async () => {
    const file = join(newFolder(), 'pawl.db')
    const script = startScript(new URL('./fixtures/serve.mjs', import.meta.url), { file })
    const load = new Load(await script.tells<number>('port'))
    const loaded = load.run(16)
    await vi.waitFor(() => expect(load.made.length).toBeGreaterThan(500), PATIENCE)
    script.kill('SIGTERM')
    await loaded
    expect(await script.exited).toBe(0)
    expect(script.told.filter(({ port }) => port === undefined)).toEqual([{ closed: true }])
    expect(load.others).toEqual([])
    const scheduler = await openScheduler({ store: sqlite(file) })
    afterwards(() => scheduler.close())
    expect((await scheduler.listJobs({ status: 'RUNNING' })).items).toEqual([])
    const { items } = await scheduler.listJobs({ limit: 200 })
    expect(items.map(({ jobId }) => jobId).every((jobId) => load.made.includes(jobId))).toBe(true)
  })
})
