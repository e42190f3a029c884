import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { describe, expect, it } from 'vitest'
import { serveHttp } from '../../src/http/index.ts'
import { afterwards, ask, asProblem, openSocket, openStage, problemOf, sendRaw } from './server-stage.ts'

describe('an address that others can reach', () => {
  it('is refused while the store has no key', async () => {
    const { scheduler } = await openStage()
    for (const host of ['0.0.0.0', '::', ...outerAddresses()]) {
      const refusal = await serveHttp(scheduler, { host, port: 0 }).catch((error: Error) => error)
      expect(refusal, host).toMatchObject({ code: 'invalid_option', path: 'host' })
      expect((refusal as Error).message).toContain('pawl keys create')
    }
  })

  it('is served once the store has a key, and asks for it', async () => {
    const { scheduler, newKey } = await openStage()
    const { key } = await newKey('admin')
    const server = await serveHttp(scheduler, { host: '0.0.0.0', port: 0 })
    afterwards(() => server.close())
    expect(problemOf(await ask(server.port, 'GET', '/api/jobs', {}))).toEqual(asProblem(401, 'unauthenticated'))
    expect((await ask(server.port, 'GET', '/api/jobs', { headers: { 'x-api-key': key } })).status).toBe(200)
  })

  it('is not what loopback is, by whatever name', async () => {
    const { scheduler } = await openStage()
    for (const host of ['127.0.0.1', 'localhost', '127.0.0.53', '::ffff:127.0.0.1']) {
      const server = await serveHttp(scheduler, { host, port: 0 }).catch((error: Error) => error)
      // A machine may lack one of them, but none is refused for being open.
      if (server instanceof Error) expect(server.message, host).not.toContain('Refusing to listen')
      else await server.close()
    }
  })
})

/** Addresses of this machine that are not loopback. There may be none. */
function outerAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((found) =>
    (found ?? []).filter(({ internal, family }) => !internal && family === 'IPv4').map(({ address }) => address),
  )
}

describe('the header Host', () => {
  it('must be a name of this server: a name that was made to point here is refused', async () => {
    const { port, get } = await openStage()
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      'evil.example@localhost',
      'localhost:4747@evil.example',
      '192.0.2.7',
      '[::ffff:192.0.2.7]',
      'localhost:port',
      '[::1',
    ]) {
      expect(problemOf(await get('/api/jobs', { host })), host).toEqual(asProblem(421, 'host_refused'))
      expect(problemOf(await get('/health', { host })), host).toEqual(asProblem(421, 'host_refused'))
    }
  })

  it('may be loopback by any of its names', async () => {
    const { port, get } = await openStage()
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, 'LocalHost', `[::1]:${port}`, '127.0.0.9']) {
      expect((await get('/api/jobs', { host })).status, host).toBe(200)
    }
  })

  it('may be one that was allowed, with its port if it has one', async () => {
    const { get } = await openStage({ allowedHosts: ['Pawl.example.com', 'other.example.com:8443'] })
    const statuses = async (...hosts: string[]) =>
      Promise.all(hosts.map(async (host) => (await get('/api/jobs', { host })).status))
    expect(await statuses('pawl.example.com', 'PAWL.example.com:99', 'other.example.com:8443')).toEqual([200, 200, 200])
    expect(await statuses('other.example.com', 'other.example.com:8444', 'x.pawl.example.com')).toEqual([421, 421, 421])
  })

  it('that is missing is refused', async () => {
    const { port } = await openStage()
    for (const head of ['GET /api/jobs HTTP/1.0', 'GET /api/jobs HTTP/1.1\r\nConnection: close']) {
      const answer = await sendRaw(port, `${head}\r\n\r\n`)
      expect(answer, head).toMatch(/^HTTP\/1\.1 421 .*application\/problem\+json.*"host_refused"/s)
    }
  })

  it('must come once: what stands between may have gone by the other', async () => {
    const { port } = await openStage()
    for (const hosts of ['Host: localhost\r\nHost: evil.example', 'host: localhost\r\nHOST: localhost']) {
      const answer = await sendRaw(port, `GET /api/jobs HTTP/1.1\r\n${hosts}\r\nConnection: close\r\n\r\n`)
      expect(answer, hosts).toMatch(/^HTTP\/1\.1 400 .*application\/problem\+json.*"malformed_request"/s)
    }
  })

  it('counts for less than the name in the target, where the target is a whole URL', async () => {
    const { port } = await openStage()
    const asked = (method: string, target: string) =>
      sendRaw(port, `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
    for (const target of [
      'http://evil.example/api/jobs',
      'HTTP://evil.example:4747/health',
      'http://localhost@evil.example/api/jobs',
      'http://localhost.evil.example',
      'http:///api/jobs',
    ]) {
      expect(await asked('GET', target), target).toMatch(/^HTTP\/1\.1 421 .*"host_refused"/s)
    }
    expect(await asked('GET', 'http://localhost/api/jobs?limit=1')).toMatch(/^HTTP\/1\.1 200 .*"items"/s)
    expect(await asked('GET', `http://127.0.0.1:${port}/health`)).toMatch(/^HTTP\/1\.1 200 /)
    expect(await asked('PUT', 'http://localhost/api/jobs')).toMatch(/^HTTP\/1\.1 405 /)
    expect(await asked('GET', 'http://localhost?limit=1')).toMatch(/^HTTP\/1\.1 404 /)
    expect(await asked('GET', 'ftp://localhost/health')).toMatch(/^HTTP\/1\.1 4\d\d .*application\/problem\+json/s)
  })
})

describe('a page of another origin', () => {
  it('is refused, whatever method it uses', async () => {
    const { ask: askIt, port } = await openStage()
    for (const origin of [
      'https://evil.example',
      'null',
      `http://localhost:${port + 1}`,
      `http://127.0.0.1.evil.example:${port}`,
      `http://evil-127.0.0.1:${port}`,
      `ftp://127.0.0.1:${port}`,
    ]) {
      for (const [method, path] of [
        ['GET', '/api/jobs'],
        ['POST', '/api/jobs'],
        ['DELETE', '/api/jobs/x'],
        ['OPTIONS', '/api/jobs'],
        ['GET', '/api/events'],
        ['GET', '/health'],
        ['GET', '/nothing'],
      ] as const) {
        const answer = await askIt(method, path, { headers: { origin } })
        expect(problemOf(answer), `${method} ${path} of ${origin}`).toEqual(asProblem(403, 'origin_refused'))
        expect(answer.headers['access-control-allow-origin']).toBeUndefined()
      }
    }
  })

  it('makes no job with a form, which needs no permission of the browser', async () => {
    const { post, get } = await openStage()
    await post('/api/jobs', '{"type":"noop","x":"="}', { 'content-type': 'text/plain', origin: 'https://evil.example' })
    await post('/api/jobs', '{"type":"noop"}', { 'content-type': 'text/plain' })
    expect((await get('/api/jobs')).body['items']).toEqual([])
  })

  it('is refused also where the browser sends no Origin, but says that another site asks', async () => {
    const { get } = await openStage()
    for (const site of ['cross-site', 'same-site']) {
      const answer = await get('/api/jobs', { 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors' })
      expect(problemOf(answer), site).toEqual(asProblem(403, 'origin_refused'))
    }
    for (const site of ['same-origin', 'none']) {
      expect((await get('/api/jobs', { 'sec-fetch-site': site })).status, site).toBe(200)
    }
  })

  it('is served if it is this server itself', async () => {
    const { get, port } = await openStage()
    const host = `localhost:${port}`
    expect((await get('/api/jobs', { host, origin: `http://${host}` })).status).toBe(200)
    expect((await get('/api/jobs', { host, origin: `http://127.0.0.1:${port}` })).status).toBe(403)
  })

  it('is served if it was allowed, and may then read the answer', async () => {
    const origin = 'https://ops.example.com'
    const { get, ask: askIt } = await openStage({ allowedOrigins: [origin] })
    const answer = await get('/api/jobs', { origin, 'sec-fetch-site': 'cross-site' })
    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'Origin' })
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined()
    const preflight = await askIt('OPTIONS', '/api/jobs', {
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' },
    })
    expect(preflight).toMatchObject({ status: 204, headers: { 'access-control-allow-origin': origin } })
    expect(preflight.headers['access-control-allow-methods']).toContain('POST')
    expect(preflight.headers['access-control-allow-headers']).toContain('Content-Type')
    expect(problemOf(await get('/api/jobs', { origin: 'https://evil.example' }))).toEqual(
      asProblem(403, 'origin_refused'),
    )
    expect((await get('/api/jobs')).headers).toMatchObject({ vary: 'Origin' })
  })
})

describe('a body that means to reach the inside', () => {
  it('with __proto__ or constructor.prototype is refused, however it is written', async () => {
    const { post } = await openStage()
    for (const params of [
      '{"__proto__":{"isAdmin":true}}',
      '{"\\u005f_proto__":{"isAdmin":true}}',
      '{"__pr\\u006fto__" : null}',
      '[[{"a":[{"__proto__":1}]}]]',
      '{"constructor":{"prototype":{"isAdmin":true}}}',
    ]) {
      const answer = await post('/api/jobs', `{"type":"noop","params":${params}}`)
      expect(problemOf(answer), params).toEqual(asProblem(400, 'malformed_request'))
    }
    expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined()
    expect((await post('/api/jobs', { type: 'noop', params: { constructor: 'of ships' } })).status).toBe(201)
  })

  it('in the query finds no prototype either', async () => {
    const { get } = await openStage()
    for (const query of ['__proto__=1', '__proto__[x]=1', 'constructor=1', 'limit=1&limit=2', 'limit[]=1']) {
      expect(problemOf(await get(`/api/jobs?${query}`)), query).toEqual(asProblem(422, 'invalid_option'))
    }
  })

  it('with SQL in it is data like any other', async () => {
    const { get, post } = await openStage()
    await post('/api/jobs', { type: 'noop', name: "'; drop table pawl_jobs; --" })
    const attack = encodeURIComponent("x' or 1=1 --")
    expect((await get(`/api/jobs?type=${attack}`)).body['items']).toEqual([])
    expect(problemOf(await get(`/api/jobs/${attack}`))).toEqual(asProblem(404, 'job_not_found'))
    expect((await get('/api/jobs')).body['items']).toHaveLength(1)
  })
})

describe('a client that means harm', () => {
  it('gets a 4xx for a head that is too long, and the connection ends', async () => {
    const { port } = await openStage()
    const longUrl = await sendRaw(port, `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    expect(longUrl).toMatch(/^HTTP\/1\.1 431 .*application\/problem\+json.*"malformed_request"/s)
    const longHeader = await sendRaw(port, `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)
    expect(longHeader).toMatch(/^HTTP\/1\.1 431 /)
  })

  it('gets a 4xx for what is no HTTP, and the connection ends', async () => {
    const { port } = await openStage()
    for (const bytes of [
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'GET / HTTP/9.9\r\n\r\n',
      'garbage\r\n\r\n',
      'POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}',
      'POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n',
      'POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n',
    ]) {
      const answer = await sendRaw(port, Buffer.from(bytes, 'latin1'))
      expect(answer, JSON.stringify(bytes)).toMatch(/^HTTP\/1\.1 4\d\d .*application\/problem\+json/s)
    }
  })

  it('gets no tunnel to elsewhere', async () => {
    const { port } = await openStage()
    expect(await sendRaw(port, 'CONNECT example.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 400 .*application\/problem\+json/s,
    )
  })

  it('is told that what it expects will not happen, after the answers to what it asked before', async () => {
    const { port } = await openStage()
    const good = 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'
    const strange = 'POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: a miracle\r\n\r\n{}'
    expect(await sendRaw(port, strange)).toMatch(/^HTTP\/1\.1 417 .*application\/problem\+json.*`Expect`/s)
    expect(await sendRaw(port, `${good}${strange}`)).toMatch(/^HTTP\/1\.1 200 .*HTTP\/1\.1 417 /s)
  })

  it('loses no answer of a good request that came before its garbage on the same connection', async () => {
    const { port } = await openStage()
    const body = '{"type":"noop"}'
    const good = `POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    expect(await sendRaw(port, `${good}garbage\r\n\r\n`)).toMatch(/^HTTP\/1\.1 201 /)
  })

  it('does not hold up others by sending nothing, or half a request', async () => {
    const { port, get } = await openStage()
    const silent = openSocket(port)
    const half = openSocket(port)
    half.write(
      'POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    )
    await Promise.all([once(silent, 'connect'), once(half, 'connect')])
    expect((await get('/health')).status).toBe(200)
  })
})
