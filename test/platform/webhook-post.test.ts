import { getEventListeners } from 'node:events'
import { beforeAll, expect, test, vi } from 'vitest'
import { AddressGuard, checkWebhookUrl } from '../../src/platform/webhook-address.ts'
import { WebhookPoster } from '../../src/platform/webhook-post.ts'
import {
  type HttpRequest,
  lookupAnswering,
  messageTo,
  PATIENCE,
  posterTo127,
  receiveHttp,
  receiveTcp,
} from './support/receiver.ts'

const PUBLIC = '93.184.215.14'
const strict = new AddressGuard([])

// So that the first post of a test does not pay for loading it.
beforeAll(() => import('undici'))

test('a post carries the body and headers it was given, as Pawl, and brings back the answer', async () => {
  const received: HttpRequest[] = []
  const receiver = await receiveHttp((message) => {
    received.push(message)
    message.response.writeHead(202, { 'content-type': 'text/plain' }).end('Thank you.')
  })
  const message = messageTo(receiver.url, {
    headers: { 'Webhook-Id': 'd-1', 'User-Agent': 'other' },
    body: '{"ä":"🧀"}',
  })
  const result = await posterTo127().post(message)

  expect(result).toEqual({
    kind: 'answered',
    statusCode: 202,
    latencyMs: expect.any(Number),
    excerpt: 'Thank you.',
    retryAfterMs: null,
  })
  const [{ request, body } = expect.fail('Nothing was received.')] = received
  expect(request.method).toBe('POST')
  expect(request.url).toBe('/hook?token=top-secret')
  expect(body).toBe('{"ä":"🧀"}')
  expect(request.headers).toMatchObject({
    host: `127.0.0.1:${receiver.port}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength('{"ä":"🧀"}')),
    'user-agent': 'Pawl',
    'webhook-id': 'd-1',
    connection: 'close',
  })
})

test.each([200, 204, 400, 410, 429, 500, 503])('the status %i is an answer like any other', async (statusCode) => {
  const receiver = await receiveHttp(({ response }) => response.writeHead(statusCode).end())
  expect(await posterTo127().post(messageTo(receiver.url))).toMatchObject({ kind: 'answered', statusCode, excerpt: '' })
})

test.each([301, 302, 303, 307, 308])('a redirect with %i is not followed', async (statusCode) => {
  const inside = await receiveHttp(({ response }) => response.end('the inside'))
  const outside = await receiveHttp(({ response }) => response.writeHead(statusCode, { location: inside.url }).end())
  expect(await posterTo127().post(messageTo(outside.url))).toMatchObject({ kind: 'answered', statusCode })
  expect(inside.connections).toBe(0)
})

test('the latency and the time of a Retry-After date come from the given clock', async () => {
  let now = Date.parse('2026-03-01T12:00:00Z')
  const receiver = await receiveHttp(({ response }) => {
    now += 250
    response.writeHead(503, { 'retry-after': 'Sun, 01 Mar 2026 12:02:00 GMT' }).end()
  })
  const result = await posterTo127({ nowMs: () => now }).post(messageTo(receiver.url))
  expect(result).toMatchObject({ latencyMs: 250, retryAfterMs: 119_750 })
})

test('a clock that steps back does not make a latency negative', async () => {
  let now = 10_000
  const receiver = await receiveHttp(({ response }) => {
    now = 0
    response.end()
  })
  expect(await posterTo127({ nowMs: () => now }).post(messageTo(receiver.url))).toMatchObject({ latencyMs: 0 })
})

test.each([
  'http://127.0.0.1',
  'http://2130706433',
  'http://0x7f.1',
  'http://0177.0.0.1',
  'http://127.1',
  'http://localhost',
  'http://[::ffff:127.0.0.1]',
  'http://[::ffff:7f00:1]',
])('nobody connects to %s while it is not listed', async (origin) => {
  const receiver = await receiveHttp(({ response }) => response.end())
  const poster = new WebhookPoster({ guard: strict })
  const result = await poster.post(messageTo(`${origin}:${receiver.port}/hook`))
  expect(result).toMatchObject({ kind: 'failed', message: expect.stringContaining('is not a public address') })
  expect(receiver.connections).toBe(0)
})

test.each(['http://2130706433', 'http://0x7f.1', 'http://[::ffff:127.0.0.1]'])(
  '%s works once listed',
  async (origin) => {
    const receiver = await receiveHttp(({ response }) => response.end())
    const result = await posterTo127().post(messageTo(`${origin}:${receiver.port}/hook`))
    expect(result).toMatchObject({ kind: 'answered', statusCode: 200 })
  },
)

test('a name that was public when saved and is private when called is not called', async () => {
  const receiver = await receiveHttp(({ response }) => response.end())
  const { lookup } = lookupAnswering([PUBLIC], ['127.0.0.1'])
  const url = `http://rebinding.example:${receiver.port}/`
  expect(await checkWebhookUrl(url, strict, lookup)).toEqual({ kind: 'ok' })

  const result = await new WebhookPoster({ guard: strict, lookup }).post(messageTo(url))
  expect(result).toMatchObject({ kind: 'failed', message: expect.stringContaining('leads to `127.0.0.1`') })
  expect(receiver.connections).toBe(0)
})

test('a name with a public and a private address is not called at all', async () => {
  const receiver = await receiveHttp(({ response }) => response.end())
  for (const addresses of [
    [PUBLIC, '127.0.0.1'],
    ['127.0.0.1', PUBLIC],
    [PUBLIC, '::ffff:127.0.0.1'],
  ]) {
    const poster = new WebhookPoster({ guard: strict, lookup: lookupAnswering(addresses).lookup })
    const result = await poster.post(messageTo(`http://both.example:${receiver.port}/`))
    expect(result).toMatchObject({ kind: 'failed', message: expect.stringContaining('is not a public address') })
  }
  expect(receiver.connections).toBe(0)
})

test('a name is resolved once, and the connection goes to the address that was checked', async () => {
  const hosts: unknown[] = []
  const receiver = await receiveHttp(({ request, response }) => {
    hosts.push(request.headers.host)
    response.end()
  })
  // The second answer would be allowed too, but nobody listens there.
  const { lookup, asked } = lookupAnswering(['127.0.0.1'], ['127.0.0.2'])
  const result = await posterTo127({ lookup }).post(messageTo(`http://rebinding.example:${receiver.port}/`))
  expect(result).toMatchObject({ kind: 'answered', statusCode: 200 })
  expect(asked).toEqual(['rebinding.example'])
  expect(hosts).toEqual([`rebinding.example:${receiver.port}`])
})

test('when one address of a name does not answer, the next one is tried', async () => {
  const receiver = await receiveHttp(({ response }) => response.end())
  const { lookup } = lookupAnswering(['127.0.0.2', '127.0.0.1'])
  const result = await posterTo127({ lookup }).post(messageTo(`http://two.example:${receiver.port}/`))
  expect(result).toMatchObject({ kind: 'answered', statusCode: 200 })
})

test('the address that answered is checked again before a byte is sent to it', async () => {
  const receiver = await receiveHttp(({ response }) => response.end())
  for (const scheme of ['http', 'https']) {
    const guard = new AddressGuard(['127.0.0.1'])
    const allows = vi.spyOn(guard, 'allows').mockReturnValueOnce(true).mockReturnValue(false)
    const result = await posterTo127({ guard }).post(messageTo(`${scheme}://127.0.0.1:${receiver.port}/`))
    expect(result).toMatchObject({ kind: 'failed', message: expect.stringContaining('led to 127.0.0.1') })
    expect(allows.mock.calls).toEqual([['127.0.0.1'], ['127.0.0.1']])
  }
  await receiver.isLeft()
  expect(receiver.connections).toBe(2)
  expect(receiver.bytes).toBe(0)
})

test('a name that does not resolve fails the post', async () => {
  const result = await posterTo127({ lookup: lookupAnswering([]).lookup }).post(messageTo('https://gone.example/'))
  expect(result).toMatchObject({ kind: 'failed', message: 'The host name `gone.example` does not resolve now.' })
})

test('posts to one host share a lookup under way, and the next post asks again', async () => {
  const receiver = await receiveHttp(({ response }) => response.end())
  const { lookup, asked } = lookupAnswering(['127.0.0.1'])
  const poster = posterTo127({ lookup })
  const post = () => poster.post(messageTo(`http://shared.example:${receiver.port}/`))
  await Promise.all([post(), post(), post()])
  expect(asked).toHaveLength(1)
  await post()
  expect(asked).toHaveLength(2)
})

test('a resolver that never answers holds up nobody but its own host', async () => {
  const receiver = await receiveHttp(({ response }) => response.end())
  const poster = posterTo127({
    timeoutMs: 300,
    lookup: (hostname) => (hostname === 'silent.example' ? new Promise(() => {}) : Promise.resolve(['127.0.0.1'])),
  })
  const silent = poster.post(messageTo('http://silent.example/'))
  const answered = await poster.post(messageTo(`http://fine.example:${receiver.port}/`))
  expect(answered).toMatchObject({ kind: 'answered' })
  expect(await silent).toMatchObject({
    kind: 'failed',
    message: 'No complete answer within 300 ms; stopped while resolving the host name.',
  })
})

test('a URL that could never have been saved fails the post', async () => {
  for (const url of ['ftp://127.0.0.1/', 'nonsense', 'http://me:s3cret@127.0.0.1/']) {
    const result = await posterTo127().post(messageTo(url))
    expect(result).toMatchObject({ kind: 'failed', message: expect.stringContaining("Expected a webhook's URL") })
    expect(JSON.stringify(result)).not.toContain('s3cret')
  }
})

test('a header that HTTP does not allow fails the post without showing it', async () => {
  const receiver = await receiveHttp(({ response }) => response.end())
  const result = await posterTo127().post(messageTo(receiver.url, { headers: { 'x-a': 's3cret\r\nx-b: 1' } }))
  expect(result).toMatchObject({ kind: 'failed' })
  expect(JSON.stringify(result)).not.toContain('s3cret')
})

test('a post can be stopped, and leaves nothing on the signal', async () => {
  const receiver = await receiveTcp(() => {})
  const stopping = new AbortController()
  const post = posterTo127().post(messageTo(receiver.url, { signal: stopping.signal }))
  await vi.waitFor(() => expect(receiver.open.size).toBe(1), PATIENCE)
  stopping.abort()
  expect(await post).toMatchObject({ kind: 'failed', message: 'Stopped before the answer was complete.' })
  await receiver.isLeft()
  expect(getEventListeners(stopping.signal, 'abort')).toEqual([])
})

test('a post that is stopped before it begins connects to nobody', async () => {
  const receiver = await receiveTcp(() => {})
  const { lookup, asked } = lookupAnswering(['127.0.0.1'])
  const url = `http://stopped.example:${receiver.port}/`
  const result = await posterTo127({ lookup }).post(messageTo(url, { signal: AbortSignal.abort() }))
  expect(result).toMatchObject({ kind: 'failed', message: 'Stopped before the answer was complete.' })
  expect(asked).toEqual([])
  expect(receiver.connections).toBe(0)
})

test('close ends what is under way, and nothing is posted after it', async () => {
  const silent = await receiveTcp(() => {})
  const handshaking = silent.url.replace('http:', 'https:')
  const { lookup, asked } = lookupAnswering(['127.0.0.1'])
  const poster = posterTo127({ lookup })
  const posts = Array.from({ length: 20 }, (_, index) => poster.post(messageTo(index % 2 ? silent.url : handshaking)))
  await vi.waitFor(() => expect(silent.open.size).toBe(20), PATIENCE)

  let settled = 0
  for (const post of posts) void post.then(() => settled++)
  await poster.close()
  expect(settled).toBe(20)
  for (const result of await Promise.all(posts))
    expect(result).toMatchObject({ message: 'Stopped: the sender closed.' })
  await silent.isLeft()

  expect(await poster.post(messageTo(`http://late.example:${silent.port}/`))).toMatchObject({ kind: 'failed' })
  expect(asked).toEqual([])
  expect(silent.connections).toBe(20)
})

test('a thousand posts at once are answered and leave no socket', async () => {
  const receiver = await receiveHttp(({ response, body }) => response.end(body))
  const poster = posterTo127()
  const posts = Array.from({ length: 1_000 }, (_, index) => poster.post(messageTo(receiver.url, { body: `${index}` })))
  const results = await Promise.all(posts)

  results.forEach((result, index) => expect(result).toMatchObject({ kind: 'answered', excerpt: `${index}` }))
  expect(receiver.connections).toBe(1_000)
  await receiver.isLeft()
  // The poster is idle and not closed: nothing of it may keep the process alive.
  const keepsAlive = () => process.getActiveResourcesInfo().filter((name) => /TCPSocket|TLS|GetAddrInfo/.test(name))
  await vi.waitFor(() => expect(keepsAlive()).toEqual([]), PATIENCE)
})

test('an answered post clears its timer, so that an idle process can end at once', async () => {
  const receiver = await receiveHttp(({ response }) => response.end())
  const set = vi.spyOn(globalThis, 'setTimeout')
  const clear = vi.spyOn(globalThis, 'clearTimeout')
  await posterTo127({ timeoutMs: 54_321 }).post(messageTo(receiver.url))
  const index = set.mock.calls.findIndex(([, delayMs]) => delayMs === 54_321)
  expect(clear.mock.calls.map(([timer]) => timer)).toContain(set.mock.results[index]?.value)
  vi.restoreAllMocks()
})
