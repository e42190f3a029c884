import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { PawlError } from '../../src/domain/errors.ts'
import { serveHttp } from '../../src/http/index.ts'
import {
  afterwards,
  asProblem,
  changeFile,
  newFolder,
  openSocket,
  openStage,
  problemOf,
  sendRaw,
} from './server-stage.ts'

describe('a request', () => {
  it('reaches its operation, and the answer comes back as JSON', async () => {
    const { post, get } = await openStage()
    const made = await post('/api/jobs', { type: 'noop', params: { genre: 'gothic' }, priority: 5 })
    expect(made).toMatchObject({ status: 201, body: { job_type: 'noop', status: 'QUEUED', priority: 5 } })
    expect(made.headers['content-type']).toBe('application/json; charset=utf-8')
    const found = await get(`/api/jobs/${String(made.body['job_id'])}`)
    expect(found).toMatchObject({ status: 200, body: { job_id: made.body['job_id'], params: { genre: 'gothic' } } })
  })

  it('may carry a key in the header `Idempotency-Key`', async () => {
    const { post } = await openStage()
    const first = await post('/api/jobs', { type: 'noop' }, { 'idempotency-key': 'order-1' })
    const second = await post('/api/jobs', { type: 'noop' }, { 'idempotency-key': 'order-1' })
    expect([first.status, second.status]).toEqual([201, 200])
    expect(second.body['job_id']).toBe(first.body['job_id'])
  })

  it('for a path that does not exist is told so', async () => {
    const { get, post } = await openStage()
    expect(problemOf(await get('/api/nothing'))).toEqual(asProblem(404, 'not_found'))
    expect(problemOf(await get('/api/jobs/'))).toEqual(asProblem(404, 'not_found'))
    expect(problemOf(await post('/../etc/passwd', {}))).toEqual(asProblem(404, 'not_found'))
  })

  it('by another method than the path takes is told which it takes', async () => {
    const { ask } = await openStage()
    const refused = await ask('PUT', '/api/jobs', { body: {} })
    expect(problemOf(refused)).toEqual(asProblem(405, 'method_not_allowed'))
    expect(refused.headers.allow).toBe('GET, HEAD, OPTIONS, POST')
    expect(problemOf(await ask('PROPFIND', '/health'))).toEqual(asProblem(405, 'method_not_allowed'))
    expect(problemOf(await ask('TRACE', '/api/jobs'))).toEqual(asProblem(405, 'method_not_allowed'))
  })

  it('by HEAD gets the headers of GET and no body', async () => {
    const { ask } = await openStage()
    const [head, get] = [await ask('HEAD', '/api/jobs'), await ask('GET', '/api/jobs')]
    expect(head).toMatchObject({ status: 200, text: '' })
    expect(head.headers['content-length']).toBe(get.headers['content-length'])
  })

  it('by any method that `Allow` names is not told that the path does not take it', async () => {
    const { ask } = await openStage()
    const own = ['/health', '/ready', '/metrics', '/openapi.json', '/api/events', '/api/jobs', '/api/jobs/none']
    for (const path of own) {
      const { headers } = await ask('TRACE', path)
      for (const method of String(headers.allow).split(', ')) {
        if (path === '/api/events' && method === 'GET') continue
        expect((await ask(method, path)).status, `${method} ${path}`).not.toBe(405)
      }
    }
    const head = await ask('HEAD', '/api/events')
    expect([head.status, head.headers.allow]).toEqual([405, 'GET, OPTIONS'])
  })

  it('that would like to go on in another protocol is answered in this one', async () => {
    const { port } = await openStage()
    const head =
      'Host: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n'
    const body = '{"type":"noop"}'
    const type = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`
    expect(await sendRaw(port, `POST /api/jobs HTTP/1.1\r\n${head}${type}\r\n${body}`)).toMatch(/^HTTP\/1\.1 201 /)
    expect(await sendRaw(port, `GET /api/jobs HTTP/1.1\r\n${head}\r\n`)).toMatch(/^HTTP\/1\.1 200 .*"noop"/s)
    const webSocket =
      'GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n'
    expect(await sendRaw(port, webSocket)).toMatch(/^HTTP\/1\.1 404 .*application\/problem\+json/s)
  })

  it('by OPTIONS is told the methods', async () => {
    const { ask } = await openStage()
    const answer = await ask('OPTIONS', '/api/jobs')
    expect(answer).toMatchObject({ status: 204, text: '', headers: { allow: 'GET, HEAD, OPTIONS, POST' } })
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
  })

  it('with a path that is escaped wrongly is malformed', async () => {
    const { get } = await openStage()
    for (const path of ['/api/jobs/%', '/api/jobs/%zz', '/api/jobs/%C3%28', '/%E0%A4%A']) {
      expect(problemOf(await get(path)), path).toEqual(asProblem(400, 'malformed_request'))
    }
  })

  it('has the parts of its path unescaped', async () => {
    const { get } = await openStage()
    const answer = await get('/api/jobs/no%20such%2Fj%C3%B6b')
    expect(problemOf(answer)).toEqual(asProblem(404, 'job_not_found'))
    expect(answer.body['detail']).toContain('no such/jöb')
  })

  it('with a part of its path that is too long for an id is told that nothing is there', async () => {
    const { get } = await openStage()
    const { status, body } = await get(`/api/jobs/${'x'.repeat(5_000)}`)
    expect({ status, code: body['code'] }).toEqual({ status: 404, code: 'not_found' })
  })
})

describe('a body', () => {
  it('must be JSON', async () => {
    const { post } = await openStage()
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'x']) {
      const answer = await post('/api/jobs', '{"type":"noop"}', { 'content-type': type })
      expect(problemOf(answer), type).toEqual(asProblem(415, 'unsupported_media_type'))
    }
    const charset = await post('/api/jobs', '{"type":"noop"}', { 'content-type': 'application/json; charset=utf-8' })
    expect(charset.status).toBe(201)
  })

  it('must not be compressed', async () => {
    const { post } = await openStage()
    const answer = await post('/api/jobs', '{"type":"noop"}', { 'content-encoding': 'gzip' })
    expect(problemOf(answer)).toEqual(asProblem(415, 'unsupported_media_type'))
  })

  it('that is no JSON is malformed, and where it is', async () => {
    const { post } = await openStage()
    for (const body of ['{', '{"type":"noop"', '{type:noop}', '[1,]', 'NaN', '{"a":1}{"b":2}', '\u0000']) {
      const answer = await post('/api/jobs', body)
      expect(problemOf(answer), body).toEqual(asProblem(400, 'malformed_request'))
      expect(answer.body['detail'], body).toMatch(/^Expected the body to be JSON: .*\.$/)
    }
    expect((await post('/api/jobs', '{"type":"noop",}')).body['detail']).toContain('at position 15')
  })

  it('may begin with a byte order mark', async () => {
    const { post } = await openStage()
    expect((await post('/api/jobs', '\uFEFF{"type":"noop"}')).status).toBe(201)
  })

  it('with a key that is forbidden is told which, and not that it is no JSON', async () => {
    const { post } = await openStage()
    const detailOf = async (params: string) =>
      (await post('/api/jobs', `{"type":"noop","params":${params}}`)).body['detail']
    expect(await detailOf('{"__proto__":1}')).toBe('Expected the body to have no key `__proto__`. Choose another name.')
    expect(await detailOf('{"constructor":{"prototype":1}}')).toContain('no key `constructor`')
  })

  it('with a number that a double does not keep is refused, because another would be stored', async () => {
    const { post, get } = await openStage()
    const jobWith = (number: string) => post('/api/jobs', `{"type":"noop","params":{"list":[1,{"n":${number}}]}}`)
    const huge = ['1e400', '-1E+400', '1.5e0999', '9'.repeat(400), `${'9'.repeat(250)}e99`]
    for (const number of [...huge, '9'.repeat(308), '9007199254740993', '-9007199254740993', '900719925474099.3e1']) {
      const answer = await jobWith(number)
      expect(problemOf(answer), number).toEqual(asProblem(422, 'inexact_number'))
      expect(answer.body['path'], number).toBe('params.list.1.n')
    }
    expect((await get('/api/jobs')).body['items']).toEqual([])
    for (const number of [
      '1e300',
      '-1.7976931348623157e308',
      '1e-400',
      '9007199254740991',
      '0.10000000000000001',
      '"1e400"',
    ]) {
      expect((await jobWith(number)).status, number).toBe(201)
    }
  })

  it('that is not UTF-8 is malformed', async () => {
    const { port } = await openStage()
    const body = Buffer.concat([Buffer.from('{"type":"noop","name":"'), Buffer.from([0xff, 0xc0]), Buffer.from('"}')])
    const head = `POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`
    const answer = await sendRaw(port, Buffer.concat([Buffer.from(head), body]))
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('"malformed_request"')
  })

  it('that is missing where one is needed is an invalid value', async () => {
    const { post } = await openStage()
    expect(problemOf(await post('/api/jobs'))).toEqual(asProblem(422, 'invalid_option'))
    expect(problemOf(await post('/api/jobs', ''))).toEqual(asProblem(422, 'invalid_option'))
  })

  it('may have 1 MiB, and 32 MiB where many jobs come at once', async () => {
    const { post } = await openStage()
    const padding = (bytes: number) => ({ type: 'noop', params: {}, name: 'x'.repeat(bytes) })
    expect(problemOf(await post('/api/jobs', padding(1_048_577)))).toEqual(asProblem(413, 'body_too_large'))
    // Not too large any more, only too long for a name.
    expect(problemOf(await post('/api/jobs', padding(1_000_000)))).toEqual(asProblem(422, 'invalid_option'))
    expect((await post('/api/jobs/bulk', { jobs: [padding(2_000_000)] })).status).not.toBe(413)
    expect(problemOf(await post('/api/jobs/bulk', 'x'.repeat(33_554_433)))).toEqual(asProblem(413, 'body_too_large'))
  })

  it('that grows beyond the limit while it comes is refused, though nobody said how long it would be', async () => {
    const { port } = await openStage()
    const socket = openSocket(port)
    socket.write(
      'POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    )
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`
    for (let sent = 0; sent < 20; sent++) socket.write(chunk)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /)
  })

  it('may be 64 levels deep, and no more', async () => {
    const { post } = await openStage()
    const nested = (levels: number) => `{"type":"noop","params":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    expect((await post('/api/jobs', nested(64))).status).toBe(201)
    expect(problemOf(await post('/api/jobs', nested(65)))).toEqual(asProblem(400, 'malformed_request'))
    expect(problemOf(await post('/api/jobs', '['.repeat(500_000)))).toEqual(asProblem(400, 'malformed_request'))
    expect((await post('/api/jobs', { type: 'noop', params: { text: '[{'.repeat(1_000) } })).status).toBe(201)
  })
})

describe('a text in a body', () => {
  it('may have any number of brackets, also behind a quote', async () => {
    const { post } = await openStage()
    for (const text of ['['.repeat(200), `"${'['.repeat(200)}`, `\\"${'{'.repeat(200)}`, `${'['.repeat(200)}\\`]) {
      const made = await post('/api/jobs', { type: 'noop', params: { text } })
      expect(made, text).toMatchObject({ status: 201, body: { params: { text } } })
    }
  })
})

describe('every answer', () => {
  const SAFE = {
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }

  it('tells browsers to keep it, frame it, guess at it and tell of it to nobody', async () => {
    const { ask } = await openStage()
    for (const [method, path] of [
      ['GET', '/api/jobs'],
      ['GET', '/api/jobs/none'],
      ['GET', '/nothing'],
      ['GET', '/health'],
      ['GET', '/metrics'],
      ['GET', '/openapi.json'],
      ['PUT', '/api/jobs'],
      ['OPTIONS', '/api/jobs'],
    ] as const) {
      expect((await ask(method, path)).headers, `${method} ${path}`).toMatchObject(SAFE)
    }
    expect((await ask('GET', '/api/jobs', { headers: { host: 'evil.example' } })).headers).toMatchObject(SAFE)
    expect((await ask('POST', '/api/jobs', { body: '{' })).headers).toMatchObject(SAFE)
    expect((await ask('GET', '/%')).headers).toMatchObject(SAFE)
  })

  it('says nothing of the inside, whatever went wrong, and the operator is told', async () => {
    const file = join(newFolder(), 'pawl.db')
    const { get, post, told } = await openStage({ file })
    changeFile(file, 'alter table pawl_jobs rename to stolen')
    for (const answer of [await get('/api/jobs'), await post('/api/jobs', { type: 'noop' })]) {
      expect(answer.status).toBeGreaterThanOrEqual(500)
      expect(answer.text).not.toMatch(/pawl_jobs|stolen|select|insert|\.(ts|js):|node_modules|pawl\.db/i)
    }
    expect(told.join('\n')).toMatch(/A request failed .*no such table/)
    changeFile(file, 'alter table pawl_api_keys rename to stolen_too')
    const answer = await get('/api/jobs')
    expect(answer.status).toBeGreaterThanOrEqual(500)
    expect(answer.text).not.toMatch(/pawl_api_keys|stolen|select/i)
    expect(told.join('\n')).toMatch(/Nobody can be let in.*no such table/)
  })
})

describe('serveHttp', () => {
  it('refuses options that are wrong, naming them', async () => {
    const { scheduler } = await openStage()
    for (const [options, path] of [
      [{ port: 70_000 }, 'port'],
      [{ prot: 4747 }, 'prot'],
      [{ host: '' }, 'host'],
      [{ allowedHosts: 'pawl.example.com' }, 'allowedHosts'],
      [{ allowedHosts: ['http://pawl.example.com'] }, 'allowedHosts.0'],
      [{ allowedOrigins: ['https://ops.example.com/'] }, 'allowedOrigins.0'],
      [{ allowedOrigins: ['*'] }, 'allowedOrigins.0'],
      [{ rateLimit: 0 }, 'rateLimit'],
      [{ acceptAnyType: true }, 'acceptAnyType'],
      [{ logger: console.log }, 'logger'],
    ] as const) {
      const refusal = serveHttp(scheduler, options as never)
      await expect(refusal, path).rejects.toMatchObject({ code: 'invalid_option', path })
    }
  })

  it('says when the port is taken', async () => {
    const { scheduler, port } = await openStage()
    const error = await serveHttp(scheduler, { port }).catch((refused: PawlError) => refused)
    expect(error).toMatchObject({ code: 'invalid_option', path: 'port' })
    expect((error as PawlError).message).toBe(
      `Port ${port} on 127.0.0.1 is in use already. Stop what listens there, or choose another port.`,
    )
  })

  it('says when the address is not of this machine', async () => {
    const { scheduler, newKey } = await openStage()
    await newKey('admin')
    await expect(serveHttp(scheduler, { host: '203.0.113.7', port: 0 })).rejects.toMatchObject({ path: 'host' })
    await expect(serveHttp(scheduler, { host: 'no-such-host.invalid', port: 0 })).rejects.toMatchObject({
      path: 'host',
    })
  })

  it('accepts jobs of types that nobody knows only when the scheduler is told to', async () => {
    const { post } = await openStage()
    expect(problemOf(await post('/api/jobs', { type: 'unheard-of' }))).toEqual(asProblem(422, 'unknown_type'))
    const lenient = await openStage({ scheduler: { acceptAnyType: true } })
    const made = await lenient.post('/api/jobs', { type: 'unheard-of', params: { n: 1 } })
    expect(made).toMatchObject({ status: 201, body: { job_type: 'unheard-of', retry_policy: { max_retries: 3 } } })
  })

  it('may serve the same scheduler several times', async () => {
    const { scheduler, post } = await openStage()
    const second = await serveHttp(scheduler, { port: 0 })
    afterwards(() => second.close())
    const made = await post('/api/jobs', { type: 'noop' })
    const found = await fetch(`${second.url}/api/jobs/${String(made.body['job_id'])}`)
    expect(found.status).toBe(200)
  })
})
