import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { revokeKey } from '../../src/operations/api-keys.ts'
import { DOOR } from '../../src/operations/door.ts'
import { SettableClock } from '../../src/testing/settable-clock.ts'
import { startScript } from '../recovery/processes.ts'
import { ask, asProblem, changeFile, newFolder, openStage, problemOf, type Stage, sendRaw } from './server-stage.ts'

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** A stage on a clock that stands, whose store has a key already. */
async function openWithKeys() {
  const clock = new SettableClock()
  const stage = await openStage({ scheduler: { clock } })
  const admin = await stage.newKey('admin')
  return { ...stage, clock, admin }
}

describe('a store without keys', () => {
  it('lets everybody on this machine do everything, as anonymous', async () => {
    const { post } = await openStage()
    const made = await post('/api/jobs', { type: 'noop' })
    expect(made).toMatchObject({ status: 201, body: { created_by: 'anonymous' } })
  })

  it('does not mind a key that nobody asked for', async () => {
    const { get } = await openStage()
    expect((await get('/api/jobs', bearer('pawl_whatever'))).status).toBe(200)
  })

  it('asks for keys from the next request on once the first was made, also by another process', async () => {
    const file = join(newFolder(), 'pawl.db')
    const { get } = await openStage({ file })
    expect((await get('/api/jobs')).status).toBe(200)
    const other = startScript(new URL('./fixtures/make-key.mjs', import.meta.url), { file, role: 'viewer' })
    const key = await other.tells<string>('key')
    expect(problemOf(await get('/api/jobs'))).toEqual(asProblem(401, 'unauthenticated'))
    expect((await get('/api/jobs', bearer(key))).status).toBe(200)
    expect(await other.exited).toBe(0)
  })

  it('asks for keys right after the first was made over the API, and a removed one opens nothing right after', async () => {
    const { get, post, ask } = await openStage()
    for (let n = 0; n < 3; n++) expect((await get('/api/jobs')).status).toBe(200)
    const admin = await post('/api/keys', { name: 'ops', role: 'admin' })
    expect(admin.status).toBe(201)
    expect(problemOf(await get('/api/jobs'))).toEqual(asProblem(401, 'unauthenticated'))
    const asAdmin = bearer(String(admin.body['key']))
    const { body: viewer } = await post('/api/keys', { name: 'wall', role: 'viewer' }, asAdmin)
    const asViewer = bearer(String(viewer['key']))
    for (let n = 0; n < 3; n++) expect((await get('/api/jobs', asViewer)).status).toBe(200)
    const removed = await ask('DELETE', `/api/keys/${String(viewer['key_id'])}`, { headers: asAdmin })
    expect(removed.status).toBeLessThan(300)
    expect(problemOf(await get('/api/jobs', asViewer))).toEqual(asProblem(401, 'unauthenticated'))
    expect((await get('/api/jobs', asAdmin)).status).toBe(200)
  })
})

describe('whether a key is needed', () => {
  it('is asked once for all requests that are read in the same turn, and in the next turn again', async () => {
    const { port, scheduler } = await openStage()
    const asked = vi.spyOn(scheduler[DOOR].context.store, 'hasKeys')
    const request = 'GET /api/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n'
    const last = request.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
    for (const round of [1, 2]) {
      const answers = await sendRaw(port, request.repeat(19) + last)
      expect(answers.match(/HTTP\/1\.1 200 /g)).toHaveLength(20)
      expect(asked.mock.calls.length).toBe(round)
    }
  })

  it('is known for good once it is: even where all keys are taken out of the file, nobody is let in without one', async () => {
    const file = join(newFolder(), 'pawl.db')
    const { get, newKey } = await openStage({ file })
    await newKey('admin')
    expect((await get('/api/jobs')).status).toBe(401)
    changeFile(file, 'delete from pawl_api_keys')
    expect((await get('/api/jobs')).status).toBe(401)
  })

  it('lets nobody in while the store cannot say it', async () => {
    const file = join(newFolder(), 'pawl.db')
    const { get, post, newKey, told } = await openStage({ file })
    const { key } = await newKey('admin')
    changeFile(file, 'alter table pawl_api_keys rename to stolen')
    for (const headers of [{}, bearer(key), bearer(`pawl_${'x'.repeat(43)}`)]) {
      for (const path of ['/openapi.json', '/metrics', '/api/jobs', '/nothing']) {
        expect((await get(path, headers)).status, path).toBe(503)
      }
      expect((await post('/api/jobs', { type: 'noop' }, headers)).status).toBe(503)
    }
    expect(told[0]).toContain('Nobody can be let in')
    changeFile(file, 'alter table stolen rename to pawl_api_keys')
    expect((await get('/api/jobs', bearer(key))).body['items']).toEqual([])
  })
})

describe('a store with keys', () => {
  it('answers without one only whether the process lives and is ready', async () => {
    const { get, post, ask } = await openWithKeys()
    expect([(await get('/health')).status, (await get('/ready')).status]).toEqual([200, 200])
    for (const path of ['/api/jobs', '/api/events', '/metrics', '/openapi.json', '/nothing', '/healthy', '/health/x']) {
      const answer = await get(path)
      expect(problemOf(answer), path).toEqual(asProblem(401, 'unauthenticated'))
      expect(answer.headers['www-authenticate']).toBe('Bearer realm="pawl"')
    }
    expect(problemOf(await post('/api/jobs', { type: 'noop' }))).toEqual(asProblem(401, 'unauthenticated'))
    expect(problemOf(await ask('HEAD', '/api/jobs')).status).toBe(401)
  })

  it('takes the key in either header', async () => {
    const { get, admin } = await openWithKeys()
    const statuses = async (...headers: Record<string, string>[]) =>
      Promise.all(headers.map(async (given) => (await get('/api/jobs', given)).status))
    const { key } = admin
    expect(
      await statuses({ authorization: `Bearer ${key}` }, { authorization: `bearer  ${key} ` }, { 'x-api-key': key }),
    ).toEqual([200, 200, 200])
    expect(
      await statuses(
        { authorization: key },
        { authorization: `Basic ${key}` },
        { authorization: `Bearer ${key}x` },
        { authorization: 'Bearer' },
        { 'x-api-key': '' },
        { 'x-api-key': `${key.slice(0, -1)}_` },
        { cookie: `key=${key}` },
      ),
    ).toEqual([401, 401, 401, 401, 401, 401, 401])
    expect((await get(`/api/jobs?key=${key}`)).status).toBe(401)
  })

  it('lets each role do what it may, and no more', async () => {
    const { ask, newKey } = await openWithKeys()
    const [viewer, operator] = [await newKey('viewer'), await newKey('operator')]
    const body = { type: 'noop' }
    const enqueue = async (key: string) => problemOf(await ask('POST', '/api/jobs', { body, headers: bearer(key) }))
    expect(await enqueue(viewer.key)).toEqual(asProblem(403, 'forbidden'))
    expect(await enqueue(operator.key)).toMatchObject({ status: 201 })
    expect((await ask('GET', '/api/jobs', { headers: bearer(viewer.key) })).status).toBe(200)
    expect((await ask('GET', '/metrics', { headers: bearer(viewer.key) })).status).toBe(200)
    expect((await ask('GET', '/openapi.json', { headers: bearer(viewer.key) })).status).toBe(200)
  })

  it('remembers who made a job by the name of the key', async () => {
    const { post, newKey } = await openWithKeys()
    const { key } = await newKey('operator')
    expect((await post('/api/jobs', { type: 'noop' }, bearer(key))).body['created_by']).toBe('key:a operator')
  })

  it('refuses a key from the next request on once it was revoked', async () => {
    const { get, newKey, scheduler } = await openWithKeys()
    const { key, keyId } = await newKey('viewer')
    expect((await get('/api/jobs', bearer(key))).status).toBe(200)
    await revokeKey(scheduler[DOOR].context, keyId)
    const refused = await get('/api/jobs', bearer(key))
    expect(problemOf(refused)).toEqual(asProblem(401, 'unauthenticated'))
    expect(refused.body['detail']).toContain('was revoked')
    expect(refused.text).not.toContain(key)
  })

  it('refuses a key at the instant at which it expires', async () => {
    const { get, newKey, clock } = await openWithKeys()
    const { key } = await newKey('viewer', { expiresInMs: 500 })
    expect((await get('/api/jobs', bearer(key))).status).toBe(200)
    clock.set(clock.now() + 499)
    expect((await get('/api/jobs', bearer(key))).status).toBe(200)
    clock.set(clock.now() + 1)
    const refused = await get('/api/jobs', bearer(key))
    expect(problemOf(refused)).toEqual(asProblem(401, 'unauthenticated'))
    expect(refused.body['detail']).toContain('has expired')
  })

  it('stays closed when its last key is revoked', async () => {
    const { get, admin, scheduler } = await openWithKeys()
    await revokeKey(scheduler[DOOR].context, admin.keyId)
    expect((await get('/api/jobs')).status).toBe(401)
  })

  it('slows down who guesses, and nobody else', async () => {
    const { get, admin, clock, newKey } = await openWithKeys()
    const guess = async (n: number) => (await get('/api/jobs', bearer(`pawl_${String(n).padStart(43, 'x')}`))).status
    // Who guesses from the same address as somebody with a right key, such as behind a proxy.
    expect((await get('/api/jobs', bearer(admin.key))).status).toBe(200)
    const guesses = await Promise.all(Array.from({ length: 30 }, (_, n) => guess(n)))
    expect(guesses.filter((status) => status === 401)).toHaveLength(20)
    expect(guesses.filter((status) => status === 429)).toHaveLength(10)
    const refused = await get('/api/jobs', bearer(`pawl_${'y'.repeat(43)}`))
    expect(problemOf(refused)).toEqual(asProblem(429, 'rate_limited'))
    expect(refused.headers['retry-after']).toBe('1')
    expect((await get('/api/jobs', bearer(admin.key))).status).toBe(200)
    // Nor one that was never seen before.
    expect((await get('/api/jobs', bearer((await newKey('viewer')).key))).status).toBe(200)
    clock.set(clock.now() + 2_000)
    expect(await guess(31)).toBe(401)
  })
})

// Other systems have only one address that means this machine.
it.runIf(process.platform === 'linux')('guesses from one address slow down no other address', async () => {
  const { port } = await openWithKeys()
  const guess = (localAddress: string) =>
    ask(port, 'GET', '/api/jobs', { headers: bearer(`pawl_${'x'.repeat(43)}`), localAddress })
  for (let n = 0; n < 20; n++) expect((await guess('127.0.0.2')).status).toBe(401)
  expect((await guess('127.0.0.2')).status).toBe(429)
  expect((await guess('127.0.0.3')).status).toBe(401)
})

describe('the rate limit', () => {
  const burst = async ({ get }: Stage, count: number, headers: Record<string, string> = {}) => {
    const answers = await Promise.all(Array.from({ length: count }, () => get('/api/jobs?limit=1', headers)))
    return answers.filter(({ status }) => status === 429)
  }

  it('is off on loopback without keys', async () => {
    const stage = await openStage({ scheduler: { clock: new SettableClock() } })
    expect(await burst(stage, 1_100)).toEqual([])
  })

  it('lets each key ask a thousand times a second unless somebody says otherwise', async () => {
    const stage = await openWithKeys()
    const other = await stage.newKey('viewer')
    const refused = await burst(stage, 1_100, bearer(stage.admin.key))
    expect(refused).toHaveLength(100)
    expect(problemOf(refused[0] as never)).toEqual(asProblem(429, 'rate_limited'))
    expect(refused[0]?.headers['retry-after']).toBe('1')
    expect((await stage.get('/api/jobs', bearer(other.key))).status).toBe(200)
    expect((await stage.get('/health')).status).toBe(200)
    stage.clock.set(stage.clock.now() + 100)
    expect(await burst(stage, 101, bearer(stage.admin.key))).toHaveLength(1)
  })

  it('is what the options say, for everybody', async () => {
    const clock = new SettableClock()
    const stage = await openStage({ rateLimit: 5, scheduler: { clock } })
    expect(await burst(stage, 8)).toHaveLength(3)
    clock.set(clock.now() + 1_000)
    expect(await burst(stage, 5)).toHaveLength(0)
  })

  it('saves nothing up: after an hour of silence it is the same', async () => {
    const clock = new SettableClock()
    const stage = await openStage({ rateLimit: 5, scheduler: { clock } })
    expect(await burst(stage, 1)).toHaveLength(0)
    clock.set(clock.now() + 3_600_000)
    expect(await burst(stage, 8)).toHaveLength(3)
  })

  it('keeps nobody out for long when the clock is set back', async () => {
    const clock = new SettableClock()
    const stage = await openStage({ rateLimit: 5, scheduler: { clock } })
    expect(await burst(stage, 1)).toHaveLength(0)
    clock.set(clock.now() - 3_600_000)
    expect(await burst(stage, 4)).toHaveLength(0)
    expect(await burst(stage, 1)).toHaveLength(1)
    clock.set(clock.now() + 1_000)
    expect(await burst(stage, 5)).toHaveLength(0)
  })

  it('can be switched off', async () => {
    const stage = await openStage({ rateLimit: false, scheduler: { clock: new SettableClock() } })
    const { key } = await stage.newKey('viewer')
    expect(await burst(stage, 1_100, bearer(key))).toEqual([])
  })
})
