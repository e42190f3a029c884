import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { revokeKey } from '../../src/operations/api-keys.ts'
import { DOOR } from '../../src/operations/door.ts'
import { type Answer, asProblem, openSocket, openStage, problemOf, type Stage } from './server-stage.ts'

/** What a browser keeps of an answer and sends again. */
function cookieIn({ headers }: Answer): string {
  return String(headers['set-cookie']).split(';', 1)[0] as string
}

/** As a browser marks what a page of this server asks for. */
function ownPage({ port }: Stage): Record<string, string> {
  return { origin: `http://127.0.0.1:${port}`, 'sec-fetch-site': 'same-origin' }
}

describe('a session', () => {
  it('begins with a key, tells who one is and what one may, and ends when one likes', async () => {
    const stage = await openStage()
    const { key, keyId } = await stage.newKey('operator')
    expect((await stage.get('/api/session')).body).toMatchObject({
      authenticated: false,
      keys_required: true,
      actor: null,
      role: null,
      rights: { read: false, operate: false, administer: false, see_payloads: false },
    })
    const opened = await stage.post('/api/session', { key }, ownPage(stage))
    expect(opened.body).toMatchObject({ authenticated: true, actor: 'key:a operator', key_id: keyId, role: 'operator' })
    expect(opened.body['rights']).toEqual({ read: true, operate: true, administer: false, see_payloads: true })
    expect(String(opened.headers['set-cookie'])).toBe(
      `pawl_session=${key}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict`,
    )
    const cookie = cookieIn(opened)
    expect((await stage.get('/api/jobs', { cookie })).status).toBe(200)
    const asked = await stage.get('/api/session', { cookie: `other=1; ${cookie}; pawl_session=x` })
    expect(asked.body).toMatchObject({ authenticated: true, key_id: keyId })
    expect(cookieIn(asked)).toBe(cookie)
    const closed = await stage.ask('DELETE', '/api/session', { headers: { cookie, ...ownPage(stage) } })
    expect([closed.status, closed.headers['set-cookie']]).toEqual([
      204,
      ['pawl_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict'],
    ])
  })

  it('is in the audit log when it begins and ends, and not when nothing did', async () => {
    const stage = await openStage()
    const { key, keyId } = await stage.newKey('viewer')
    const cookie = cookieIn(await stage.post('/api/session', { key }, ownPage(stage)))
    await stage.post('/api/session', { key: `pawl_${'x'.repeat(43)}` })
    await stage.get('/api/session', { cookie })
    await stage.ask('DELETE', '/api/session', { headers: { cookie, ...ownPage(stage) } })
    await stage.ask('DELETE', '/api/session', { headers: ownPage(stage) })
    await stage.ask('DELETE', '/api/session', { headers: { authorization: `Bearer ${key}` } })
    const audit = await stage.get('/api/audit', { authorization: `Bearer ${key}` })
    const items = audit.body['items'] as { actor: string; action: string; subject: string }[]
    const entries = items.filter(({ action }) => action.startsWith('session.'))
    expect(entries.map(({ actor, action, subject }) => [actor, action, subject])).toEqual([
      ['key:a viewer', 'session.close', keyId],
      ['key:a viewer', 'session.open', keyId],
    ])
  })

  it('is refused for a wrong key, and slowed down for who guesses', async () => {
    const stage = await openStage()
    await stage.newKey('admin')
    const wrong = await stage.post('/api/session', { key: `pawl_${'x'.repeat(43)}` })
    expect(problemOf(wrong)).toEqual(asProblem(401, 'unauthenticated'))
    expect(wrong.headers['set-cookie']).toBeUndefined()
    const guesses = await Promise.all(Array.from({ length: 60 }, () => stage.post('/api/session', { key: 'guess' })))
    expect(guesses.map(({ status }) => status)).toContain(429)
  })

  it('goes only by https where browsers come by https, and only below its base path', async () => {
    const stage = await openStage({ behindHttps: true, basePath: '/pawl' })
    const { key } = await stage.newKey('viewer')
    const opened = await stage.post('/pawl/api/session', { key })
    expect(String(opened.headers['set-cookie'])).toContain('Path=/pawl/; ')
    expect(String(opened.headers['set-cookie'])).toMatch(/; Secure$/)
  })

  it('needs no key where the store has none', async () => {
    const { get, post } = await openStage()
    const anybody = { authenticated: true, keys_required: false, actor: 'anonymous', key_id: null, role: 'admin' }
    expect((await get('/api/session')).body).toMatchObject(anybody)
    const opened = await post('/api/session', { key: 'whatever' })
    expect(opened.body).toMatchObject(anybody)
    expect(opened.headers['set-cookie']).toBeUndefined()
  })

  it('ends at once with its key, and so does the stream that it opened', async () => {
    const stage = await openStage()
    const { key, keyId } = await stage.newKey('admin')
    const cookie = `pawl_session=${key}`
    const socket = openSocket(stage.port)
    socket.write(`GET /api/events HTTP/1.1\r\nHost: localhost\r\nCookie: ${cookie}\r\n\r\n`)
    await once(socket, 'data')
    await revokeKey(stage.scheduler[DOOR].context, keyId)
    expect(problemOf(await stage.get('/api/jobs', { cookie }))).toEqual(asProblem(401, 'unauthenticated'))
    expect((await stage.get('/api/session', { cookie })).body).toMatchObject({ authenticated: false })
    const ended = once(socket, 'close')
    socket.resume()
    await stage.scheduler.enqueue('noop', {})
    await ended
  })

  it('is known to the client too', async () => {
    const stage = await openStage()
    const { key } = await stage.newKey('viewer')
    const client = createClient({ server: stage.server.url, apiKey: key })
    expect(await client.session.get()).toMatchObject({ role: 'viewer', authenticated: true })
    expect(await client.session.open(key)).toMatchObject({ role: 'viewer' })
    expect(await client.session.close()).toBeNull()
  })
})

describe('what a cookie may change', () => {
  it('must be asked for by a page of this very server', async () => {
    const stage = await openStage({ allowedOrigins: ['https://ops.example.com'] })
    const { key } = await stage.newKey('operator')
    const cookie = `pawl_session=${key}`
    const enqueue = (headers: Record<string, string>) =>
      stage.post('/api/jobs', { type: 'noop' }, { cookie, ...headers })
    expect((await enqueue(ownPage(stage))).status).toBe(201)
    expect((await enqueue({ 'sec-fetch-site': 'same-origin' })).status).toBe(201)
    for (const headers of [
      {},
      { origin: 'null' },
      { origin: 'https://evil.example' },
      { origin: 'https://ops.example.com' },
      { ...ownPage(stage), 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'none' },
    ] as Record<string, string>[]) {
      expect(problemOf(await enqueue(headers)), JSON.stringify(headers)).toEqual(asProblem(403, 'origin_refused'))
    }
    expect((await stage.get('/api/jobs', { cookie })).body['items']).toHaveLength(2)
  })

  it('is another matter where the key was named: no browser does that by itself', async () => {
    const stage = await openStage()
    const [operator, viewer] = [await stage.newKey('operator'), await stage.newKey('viewer')]
    const named = { cookie: `pawl_session=${viewer.key}`, authorization: `Bearer ${operator.key}` }
    expect((await stage.post('/api/jobs', { type: 'noop' }, named)).status).toBe(201)
    const byCookie = { cookie: `pawl_session=${viewer.key}`, ...ownPage(stage) }
    expect(problemOf(await stage.post('/api/jobs', { type: 'noop' }, byCookie))).toEqual(asProblem(403, 'forbidden'))
  })
})
