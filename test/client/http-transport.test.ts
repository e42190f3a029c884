import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createClient, PawlApiError } from '../../src/client/index.ts'
import { SettableClock } from '../../src/testing/settable-clock.ts'
import { afterwards, openApi, PATIENCE } from '../http/api-stage.ts'

/** A server that is none of ours. */
async function openServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterwards(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** An address where nobody listens. */
async function deadAddress(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

/** Ends the pause before the next try, if there is one now. What waits for the server's silence is longer, and stays. */
function endPause(clock: SettableClock): void {
  const next = clock.nextTimerAt()
  if (next !== null && next - clock.now() <= 15_000) clock.set(next)
}

async function errorOf(asked: Promise<unknown>): Promise<PawlApiError> {
  const error = await asked.then(() => null).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(PawlApiError)
  return error as PawlApiError
}

describe('a client over HTTP', () => {
  test('sends its key, JSON, and ids that need escaping', async () => {
    const seen: [string | undefined, string | undefined, string | undefined][] = []
    const server = await openServer((request, response) => {
      seen.push([request.method, request.url, request.headers.authorization])
      request.resume()
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"items":[],"next_cursor":null,"job_id":""}')
    })
    const client = createClient({ server: `${server}/`, apiKey: 'k' })
    await client.jobs.list({ type: 'a b&c', limit: 3 })
    await client.jobs.get('a/b?c#ü')
    await client.jobs.cancel('..')
    expect(seen).toEqual([
      ['GET', '/api/jobs?type=a+b%26c&limit=3', 'Bearer k'],
      ['GET', '/api/jobs/a%2Fb%3Fc%23%C3%BC', 'Bearer k'],
      ['POST', '/api/jobs/%2522..%2522/cancel', 'Bearer k'],
    ])
  })

  test('says which server does not answer, and what to check', async () => {
    const server = await deadAddress()
    const error = await errorOf(createClient({ server }).jobs.list())
    expect(error).toMatchObject({ status: 0, code: 'server_unreachable', problem: { server } })
    expect(error.message).toBe(
      `No answer from ${server}: nobody listens there. Check the address, and that the server runs (\`pawl serve\`).`,
    )
    const unknown = await errorOf(createClient({ server: 'http://no-such-host.invalid' }).jobs.list())
    expect(unknown.code).toBe('server_unreachable')
  })

  test.each([
    [200, ''],
    [200, '[]'],
    [200, '"welcome"'],
    [200, '{"welcome":true}'],
    [206, '{"items":[]}'],
    [204, ''],
  ])('does not take %i %j of another program for a list', async (status, body) => {
    const server = await openServer((_, response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(body)
    })
    const error = await errorOf(createClient({ server }).jobs.list())
    expect(error).toMatchObject({ status, code: 'unexpected_answer', problem: { server } })
    expect(error.message).toContain('Check that this is the address of a Pawl server.')
  })

  test.each([
    [500, '{}'],
    [503, '[]'],
    [404, '{"code":404,"detail":["none"]}'],
    [400, '"no"'],
  ])('does not take %i %s of another program for a refusal of Pawl', async (status, body) => {
    const server = await openServer((_, response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(body)
    })
    const error = await errorOf(createClient({ server }).jobs.list())
    expect(error).toMatchObject({ status, code: 'unexpected_answer', message: `The server answered ${status}.` })
    expect(error.path).toBeUndefined()
  })

  test('does not take any object for the job that it asked for', async () => {
    const server = await openServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":1}')
    })
    const error = await errorOf(createClient({ server }).jobs.get('1'))
    expect(error.message).toContain('answered 200 with an object without `job_id`')
  })

  test('does not read an answer that is too large to be one', async () => {
    const text = '{"items":[],"next_cursor":null}'
    const bytes = Buffer.alloc(256 * 1_048_576 + 1, ' ')
    bytes.write(text, bytes.length - text.length)
    const answer = (body: Buffer) => async () =>
      new Response(new ReadableStream({ start: (to) => (to.enqueue(body), to.close()) }), {
        headers: { 'content-type': 'application/json' },
      })
    const listOf = (body: Buffer) => createClient({ server: 'http://127.0.0.1', fetch: answer(body) }).jobs.list()
    expect(await listOf(Buffer.from(text))).toEqual(JSON.parse(text))
    expect((await errorOf(listOf(bytes))).code).toBe('unexpected_answer')
  })

  test('says that the connection was cut', async () => {
    const server = await openServer((request) => request.socket.destroy())
    expect(await errorOf(createClient({ server }).jobs.list())).toMatchObject({ code: 'server_unreachable', status: 0 })
    const half = await openServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
      response.write('{', () => response.destroy())
    })
    expect(await errorOf(createClient({ server: half }).jobs.list())).toMatchObject({ code: 'server_unreachable' })
  })

  test.each([
    ['a page', 200, 'text/html', '<html>'],
    ['broken JSON', 200, 'application/json', '{'],
    ['a page that says no', 404, 'text/html', 'not here'],
    ['a redirect', 302, 'text/plain', 'elsewhere'],
    ['a redirect without a word', 308, 'text/plain', ''],
  ])('takes %s for what it is: no answer of a Pawl server', async (_, status, type, text) => {
    const server = await openServer((request, response) => {
      request.resume()
      response.writeHead(status, { 'content-type': type, location: 'http://127.0.0.1:1/' }).end(text)
    })
    const error = await errorOf(createClient({ server }).jobs.list())
    expect(error).toMatchObject({ status, code: 'unexpected_answer' })
    expect(error.message).toContain(server)
  })

  test('gives up when its caller does', async () => {
    const server = await openServer(() => {})
    const caller = new AbortController()
    const asked = createClient({ server }).jobs.list({}, { signal: caller.signal })
    const reason = new Error('changed my mind')
    caller.abort(reason)
    // The server is not to blame, so the caller gets its own reason back.
    await expect(asked).rejects.toBe(reason)
  })

  test.each(['', 'pawl', 'ftp://x', 'http://u:p@x', 'http://x/?y', 'http://x/#y'])(
    'refuses the address `%s`',
    (server) => {
      expect(() => createClient({ server })).toThrow(/^Expected `server` to be an http or https URL/)
    },
  )

  test('refuses a key that cannot be one, without showing it', () => {
    const make = () => createClient({ server: 'http://x', apiKey: 'pk with\nspaces' })
    expect(make).toThrow(/^Expected `apiKey` to be a key/)
    expect(make).not.toThrow(/spaces\b.*pk/)
  })

  test('tells what a real server refused, with the code and the place', async () => {
    const { url, keys } = await openApi()
    const error = await errorOf(createClient({ server: url, apiKey: keys.admin }).jobs.enqueue({ type: 'nobody' }))
    expect(error).toMatchObject({ name: 'PawlApiError', status: 422, code: 'unknown_type', path: 'type' })
    const stranger = await errorOf(createClient({ server: url }).jobs.list())
    expect(stranger).toMatchObject({ status: 401, code: 'unauthenticated' })
  })
})

describe('events over HTTP', () => {
  type Listener = (response: ServerResponse, lastId: string | undefined, request: IncomingMessage) => void

  function streaming(listener: Listener): Promise<string> {
    return openServer((request, response) => {
      listener(response, request.headers['last-event-id'] as string | undefined, request)
    })
  }

  function begin(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  }

  test('are read in whatever pieces they come', async () => {
    const text =
      'retry: 1\nid: 1.0\n\n: heartbeat\n\nevent: job.queued\r\nid: 2.0\r\ndata: {"job_id":"ü"}\r\n\r\nid: 3.0\ndata: [1,\ndata: 2]\n\n'
    const server = await streaming((response) => {
      begin(response)
      for (const byte of Buffer.from(text)) response.write(Buffer.of(byte))
    })
    const found: unknown[] = []
    for await (const event of createClient({ server }).events()) if (found.push(event) === 2) break
    expect(found).toEqual([
      { id: '2.0', event: 'job.queued', data: { job_id: 'ü' } },
      { id: '3.0', event: 'message', data: [1, 2] },
    ])
  })

  test('go on after the last one when the connection was cut, also after silence', async () => {
    const clock = new SettableClock()
    const asked: (string | undefined)[] = []
    const server = await streaming((response, lastId) => {
      asked.push(lastId)
      const round = asked.length
      begin(response)
      if (round === 1) response.end('id: 1.0\nevent: a\ndata: 1\n\n')
      else if (round === 2) response.end(': nothing new\nid: 7.0\n\n')
      else if (round === 3) response.socket?.destroy()
      else response.end('event: b\nid: 8.0\ndata: 2\n\n')
    })
    const found: string[] = []
    const followed = (async () => {
      for await (const { event } of createClient({ server, clock }).events()) if (found.push(event) === 2) break
    })()
    await expect
      .poll(() => {
        endPause(clock)
        return found
      }, PATIENCE)
      .toEqual(['a', 'b'])
    await followed
    expect(asked).toEqual([undefined, '1.0', '7.0', '7.0'])
  })

  test('are asked for again when the server fell silent', async () => {
    const clock = new SettableClock()
    let asked = 0
    const server = await streaming((response) => {
      begin(response)
      asked++
      if (asked === 1) response.write('id: 1.0\n\n')
      else response.write('event: a\nid: 2.0\ndata: 1\n\n')
    })
    const found: string[] = []
    const followed = (async () => {
      for await (const { event } of createClient({ server, clock }).events()) if (found.push(event) === 1) break
    })()
    await expect
      .poll(() => {
        if (asked === 1) clock.set(clock.nextTimerAt() ?? clock.now())
        endPause(clock)
        return found
      }, PATIENCE)
      .toEqual(['a'])
    await followed
    expect(asked).toBeGreaterThanOrEqual(2)
  })

  test('wait longer and longer for a server that is away', async () => {
    const clock = new SettableClock()
    const waited: number[] = []
    const measured = {
      now: () => clock.now(),
      after: (ms: number, wake: () => void) => (waited.push(ms), clock.after(ms, wake)),
    }
    const end = new AbortController()
    const client = createClient({ server: await deadAddress(), clock: measured })
    const followed = (async () => {
      for await (const _ of client.events({ signal: end.signal })) break
    })()
    await expect
      .poll(() => {
        endPause(clock)
        return waited.length
      }, PATIENCE)
      .toBeGreaterThan(8)
    end.abort()
    await followed
    expect(waited.slice(0, 8)).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000])
  })

  test('go on after a server that had too much to do, and begin with a short pause again once one has answered', async () => {
    const clock = new SettableClock()
    const waited: number[] = []
    const measured = {
      now: () => clock.now(),
      after: (ms: number, wake: () => void) => {
        if (ms <= 15_000) waited.push(ms)
        return clock.after(ms, wake)
      },
    }
    const answers = [429, 429, 'event', 503, 'event']
    const server = await streaming((response) => {
      const answer = answers.shift()
      if (typeof answer === 'number') {
        response.writeHead(answer, { 'content-type': 'application/problem+json' }).end('{"code":"rate_limited"}')
        return
      }
      begin(response)
      response.end('id: 1.0\nevent: job.queued\ndata: {}\n\n')
    })
    let seen = 0
    const followed = (async () => {
      for await (const _ of createClient({ server, clock: measured }).events()) if (++seen === 2) break
    })()
    await expect
      .poll(() => {
        endPause(clock)
        return seen
      }, PATIENCE)
      .toBe(2)
    await followed
    expect(waited).toEqual([250, 500, 250, 500])
  })

  test('pass a reset on', async () => {
    const { url, keys } = await openApi()
    const client = createClient({ server: url, apiKey: keys.viewer })
    for await (const { event, data } of client.events({ after: '999.0' })) {
      expect([event, data]).toEqual(['reset', { reason: 'unknown' }])
      break
    }
  })

  test('end with their signal, and without `reconnect` with the stream', async () => {
    const server = await streaming((response) => {
      begin(response)
      response.end('id: 1.0\nevent: a\ndata: 1\n\n')
    })
    const found: string[] = []
    for await (const { event } of createClient({ server }).events({ reconnect: false })) found.push(event)
    expect(found).toEqual(['a'])
    const { url, keys } = await openApi()
    const end = new AbortController()
    const silent = (async () => {
      for await (const _ of createClient({ server: url, apiKey: keys.viewer }).events({ signal: end.signal })) break
    })()
    end.abort()
    await silent
  })

  test('throw what will not get better: no key, a wrong address', async () => {
    const { url } = await openApi()
    const first = async (server: string) => {
      for await (const _ of createClient({ server }).events()) break
    }
    expect(await errorOf(first(url))).toMatchObject({ status: 401, code: 'unauthenticated' })
    const page = await openServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('hi'))
    expect(await errorOf(first(page))).toMatchObject({ code: 'unexpected_answer' })
  })
})
