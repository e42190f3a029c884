import { Agent, request as httpRequest } from 'node:http'
import { expect, it } from 'vitest'
import type { OpenApiDocument } from '../../src/http/server/openapi.ts'
import { defineJob } from '../../src/library/define-job.ts'
import { type FuzzRequest, FuzzRequests } from './fuzz-requests.ts'
import { Chance } from './fuzz-values.ts'
import { afterwards, openSocket, openStage, type Stage } from './server-stage.ts'

const REQUESTS = Number(process.env['PAWL_FUZZ_REQUESTS'] ?? 5_000)
const SEED = Number(process.env['PAWL_FUZZ_SEED'] ?? Date.now() % 1_000_000_000)
const CALLERS = 8

/** Whatever was asked, an answer comes within this time. */
const DEADLINE_MS = 10_000

const AGAIN = `Again with: PAWL_FUZZ_SEED=${SEED} PAWL_FUZZ_REQUESTS=${REQUESTS}`

interface Answered {
  readonly status: number
  readonly type: string
  readonly text: string
}

/** A server that executes, with a key, so that no request of the run locks the others out. */
async function openFuzzed(): Promise<{ stage: Stage; key: string; keyId: string }> {
  const story = defineJob({ type: 'story', run: () => ({ file: 'out.md' }) })
  const failing = defineJob({
    type: 'failing',
    run: () => {
      throw new Error('no')
    },
  })
  const stage = await openStage({ rateLimit: false, scheduler: { jobs: [story, failing], concurrency: 4 } })
  const { key, keyId } = await stage.newKey('admin')
  await stage.scheduler.start()
  return { stage, key, keyId }
}

it(`answers ${REQUESTS} requests made of the OpenAPI document, none with a failure of its own`, {
  timeout: 60_000 + REQUESTS * 20,
}, async () => {
  const { stage, key, keyId } = await openFuzzed()
  const headers = { authorization: `Bearer ${key}` }
  const document = (await stage.get('/openapi.json', headers)).body as unknown as OpenApiDocument
  const requests = new FuzzRequests(new Chance(SEED), document, keyId)
  const agent = new Agent({ keepAlive: true })
  afterwards(() => agent.destroy())
  const counts = new Map<number, number>()
  let left = REQUESTS
  const call = async () => {
    while (left-- > 0) {
      const request = requests.next()
      const answered = await send(stage.port, agent, { ...request, headers: { ...headers, ...request.headers } })
      counts.set(answered.status, (counts.get(answered.status) ?? 0) + 1)
      const complaint = complaintAbout(requests, request, answered)
      if (complaint !== null)
        throw new Error(`${complaint}\n${shown(request)}\n${answered.text.slice(0, 500)}\n${AGAIN}`)
      if (answered.status < 300 && answered.text.startsWith('{')) requests.learn(JSON.parse(answered.text))
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, call))
  expect(stage.told, AGAIN).toEqual([])
  // The run is worth nothing if it only ever met the first check.
  for (const status of [200, 201, 204, 400, 404, 409, 415, 422]) expect([...counts.keys()], AGAIN).toContain(status)
  expect(counts.get(401), AGAIN).toBeUndefined()
  expect((counts.get(200) ?? 0) + (counts.get(201) ?? 0), AGAIN).toBeGreaterThan(REQUESTS / 5)
  expect((await stage.get('/ready')).status).toBe(200)
})

/** What is wrong with an answer. Null: nothing. */
function complaintAbout(requests: FuzzRequests, request: FuzzRequest, { status, type, text }: Answered): string | null {
  const mayFail = request.route === '/api/direct/{type}' && status >= 502 && status <= 504
  if (status >= 500 && !mayFail) return `Answered with ${status}`
  if (status >= 400 && request.method !== 'HEAD') {
    if (type !== 'application/problem+json') return `A problem came as ${type}`
    const { code, status: told, detail } = JSON.parse(text) as Record<string, unknown>
    if (typeof code !== 'string' || told !== status || typeof detail !== 'string') return 'The problem is not whole'
    if (/\bat .*\.(ts|js):\d|node_modules|sqlite|SQLITE/.test(text)) return 'The problem tells of the inside'
  }
  // Of the router and the parser; they can come before an operation is found.
  const isGeneral = [400, 404, 405, 413, 415].includes(status)
  return isGeneral || requests.isDocumented(request, status) ? null : `${status} is not among the documented answers`
}

function send(port: number, agent: Agent, { method, path, headers, body }: FuzzRequest): Promise<Answered> {
  return new Promise((resolve, reject) => {
    // Node leaves it out by itself where a body is unusual.
    const length = body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const options = { host: '127.0.0.1', port, method, path, headers: { ...headers, ...length }, agent }
    const request = httpRequest(options, (response) => {
      const type = String(response.headers['content-type'] ?? '').split(';')[0] as string
      const done = (text: string) => resolve({ status: response.statusCode ?? 0, type, text })
      // A stream has no end.
      if (type === 'text/event-stream') {
        request.destroy()
        return done('')
      }
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => done(text))
      response.on('error', reject)
    })
    request.setTimeout(DEADLINE_MS, () => request.destroy(new Error('No answer within the deadline')))
    request.on('error', (error) =>
      reject(new Error(`${error.message}: ${shown({ route: '', method, path, headers, body })}\n${AGAIN}`)),
    )
    request.end(body ?? undefined)
  })
}

function shown({ method, path, headers, body }: FuzzRequest): string {
  const { authorization: _, ...others } = headers as Record<string, string>
  return `${method} ${path.slice(0, 300)} ${JSON.stringify(others).slice(0, 300)} ${String(body ?? '').slice(0, 600)}`
}

it('answers or closes whatever bytes come, and stays well', { timeout: 60_000 + REQUESTS * 5 }, async () => {
  const { stage, key } = await openFuzzed()
  const chance = new Chance(SEED)
  const tries = Math.max(200, Math.floor(REQUESTS / 10))
  for (let done = 0; done < tries; done += CALLERS) {
    await Promise.all(
      Array.from({ length: CALLERS }, async () => {
        const bytes = rawBytes(chance, key)
        const answer = await exchange(stage.port, bytes)
        const statuses = [...answer.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status))
        if (statuses.some((status) => status >= 500)) {
          throw new Error(
            `Answered with ${statuses.join()}: ${JSON.stringify(bytes.toString('latin1')).slice(0, 600)}\n${AGAIN}`,
          )
        }
      }),
    )
  }
  expect((await stage.get('/health')).status).toBe(200)
  expect(stage.told, AGAIN).toEqual([])
})

/** Requests that are none, halves of some, several at once, and such that two servers would read in two ways. */
function rawBytes(chance: Chance, key: string): Buffer {
  const body = '{"type":"story","params":{}}'
  const head = (line: string, ...headers: string[]) =>
    [line, 'Host: localhost', `Authorization: Bearer ${key}`, ...headers, '', ''].join('\r\n')
  const good =
    head('POST /api/jobs HTTP/1.1', 'Content-Type: application/json', `Content-Length: ${body.length}`) + body
  const get = head('GET /api/jobs?limit=1 HTTP/1.1')
  const garbage = Buffer.from(Array.from({ length: 1 + chance.below(300) }, () => chance.below(256)))
  const smuggled = (...headers: string[]) =>
    `${head('POST /api/jobs HTTP/1.1', 'Content-Type: application/json', ...headers)}0\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n`
  switch (chance.below(12)) {
    case 0:
      return garbage
    case 1:
      return Buffer.concat([Buffer.from(good), garbage])
    case 2:
      return Buffer.from(good.slice(0, chance.below(good.length)))
    case 3:
      return Buffer.from(Array.from({ length: 1 + chance.below(20) }, () => (chance.is(0.5) ? get : good)).join(''))
    case 4:
      return Buffer.from(smuggled('Content-Length: 6', 'Transfer-Encoding: chunked'))
    case 5:
      return Buffer.from(smuggled('Transfer-Encoding: chunked', 'Transfer-Encoding: identity'))
    case 6:
      return Buffer.from(
        smuggled(
          `Content-Length: ${chance.of(['+6', '0x6', '6, 6', '6,7', '-1', '1e3', ' ', '99999999999999999999'])}`,
        ),
      )
    case 7:
      return Buffer.from(head('GET /health HTTP/1.1', `X-Long: ${'x'.repeat(chance.below(40_000))}`))
    case 8:
      return Buffer.from(head(`GET /${'a/'.repeat(chance.below(12_000))} HTTP/1.1`))
    case 9:
      return Buffer.from(
        head('POST /api/jobs HTTP/1.1', 'Content-Type: application/json', 'Transfer-Encoding: chunked') +
          chance.of(['zz\r\n', '5\r\n{}', 'fffffffffffffffff\r\n', '0\r\n', '1;a=b\r\n{\r\n0\r\n\r\n']),
      )
    case 10:
      return Buffer.from(chance.of([good, get]).replace(/\r\n/g, chance.of(['\n', '\r', '\r\r\n', '\n\r', '\r\n '])))
    default: {
      const bytes = Buffer.from(good)
      for (let flips = 0; flips < 3; flips++) bytes[chance.below(bytes.length)] = chance.below(256)
      return bytes
    }
  }
}

/** Sends the bytes, says that nothing more comes, and waits until the other side closes. */
function exchange(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = openSocket(port)
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk
    })
    socket.setTimeout(DEADLINE_MS, () => {
      socket.destroy()
      reject(
        new Error(`Neither answered nor closed: ${JSON.stringify(bytes.toString('latin1')).slice(0, 600)}\n${AGAIN}`),
      )
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(text))
    socket.end(bytes)
  })
}
