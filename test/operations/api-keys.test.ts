// Keys open the HTTP API. They are shown once, kept as hashes, and asked of the store each time.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ROLES } from '../../src/domain/role.ts'
import { authenticate, createKey, getKey, listKeys, requiresKeys, revokeKey } from '../../src/operations/api-keys.ts'
import { fileOf } from '../stores/each-store.ts'
import { newSharedStore, onlyOnSqlite } from '../stores/source-stores.ts'
import { openStage, refusalOf } from './stage.ts'

const DAY_MS = 24 * 3_600_000

describe('a new key', () => {
  test('is 32 random bytes behind a beginning by which it is known', async () => {
    await using stage = await openStage()
    const { key, apiKey } = await createKey(stage.context, { name: 'deploys', role: 'admin', createdBy: 'cli:ada' })
    expect(key).toMatch(/^pawl_[A-Za-z0-9_-]{43}$/)
    expect(Buffer.from(key.slice(5), 'base64url')).toHaveLength(32)
    expect(apiKey).toEqual({
      keyId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: 'deploys',
      role: 'admin',
      prefix: key.slice(0, 11),
      createdBy: 'cli:ada',
      createdAt: stage.clock.now(),
      expiresAt: null,
      revokedAt: null,
    })
    expect(await getKey(stage.context, apiKey.keyId)).toEqual(apiKey)
  })

  test('is another one each time', async () => {
    await using stage = await openStage()
    const made = await Promise.all(
      Array.from({ length: 20 }, () => createKey(stage.context, { name: 'ci', role: 'admin' })),
    )
    expect(new Set(made.map(({ key }) => key)).size).toBe(20)
  })

  onlyOnSqlite('it reads the file')('is nowhere in the database: only its SHA-256 is', async () => {
    const store = newSharedStore()
    const stage = await openStage([], store)
    const { key } = await createKey(stage.context, { name: 'deploys', role: 'admin' })
    await stage.store.close()
    const bytes = readFileSync(fileOf(store) ?? '')
    expect(bytes.includes(key.slice(11))).toBe(false)
    expect(bytes.includes(createHash('sha256').update(key).digest('hex'))).toBe(true)
  })

  test('has a name, a role and an end that make sense, or is not made', async () => {
    await using stage = await openStage()
    const now = stage.clock.now()
    const wrong: readonly (readonly [object, string])[] = [
      [{ role: 'admin' }, 'name'],
      [{ name: '', role: 'admin' }, 'name'],
      [{ name: 'x'.repeat(129), role: 'admin' }, 'name'],
      [{ name: 'a\u0000b', role: 'admin' }, 'name'],
      [{ name: 'ci', role: 'root' }, 'role'],
      [{ name: 'ci' }, 'role'],
      [{ name: 'ci', role: 'admin', expiresInMs: 0 }, 'expiresInMs'],
      [{ name: 'ci', role: 'admin', expiresInMs: 1.5 }, 'expiresInMs'],
      [{ name: 'ci', role: 'admin', expiresAt: now }, 'expiresAt'],
      [{ name: 'ci', role: 'admin', expiresAt: new Date(Number.NaN) }, 'expiresAt'],
      [{ name: 'ci', role: 'admin', expiresAt: now + 1, expiresInMs: 1 }, 'expiresAt'],
      [{ name: 'ci', role: 'admin', expires: '90d' }, 'expires'],
    ]
    for (const [options, path] of wrong) {
      const error = await refusalOf(() => createKey(stage.context, options as Parameters<typeof createKey>[1]))
      expect([error.code, error.path]).toEqual(['invalid_option', path])
    }
    expect(await requiresKeys(stage.context)).toBe(false)
    const longest = await createKey(stage.context, { name: 'x'.repeat(128), role: 'admin' })
    expect(longest.apiKey.name).toHaveLength(128)
  })
})

test.each(ROLES)('the first key of a store may be of role %s', async (role) => {
  await using stage = await openStage()
  const { key, apiKey } = await createKey(stage.context, { name: 'ci', role })
  expect(await authenticate(stage.context, key)).toEqual({ kind: 'valid', apiKey })
  expect(await requiresKeys(stage.context)).toBe(true)
})

describe('authenticating', () => {
  test('finds the key with its role', async () => {
    await using stage = await openStage()
    for (const role of ROLES.toReversed()) {
      const { key, apiKey } = await createKey(stage.context, { name: role, role })
      expect(await authenticate(stage.context, key)).toEqual({ kind: 'valid', apiKey })
    }
  })

  test('knows nothing of a key that was never made, however close it comes', async () => {
    await using stage = await openStage()
    const { key } = await createKey(stage.context, { name: 'ci', role: 'admin' })
    const last = key.endsWith('A') ? 'B' : 'A'
    const hash = createHash('sha256').update(key).digest('hex')
    const others = [`${key.slice(0, -1)}${last}`, key.slice(0, -1), `${key}A`, key.toLowerCase(), ` ${key}`, hash, '']
    for (const other of others) expect(await authenticate(stage.context, other)).toEqual({ kind: 'unknown' })
    expect(await authenticate(stage.context, undefined as unknown as string)).toEqual({ kind: 'unknown' })
  })

  test('says that a key has expired, from that instant on', async () => {
    await using stage = await openStage()
    const kept = await createKey(stage.context, { name: 'a', role: 'admin', expiresInMs: 90 * DAY_MS })
    const end = new Date(stage.clock.now() + DAY_MS)
    const short = await createKey(stage.context, { name: 'b', role: 'admin', expiresAt: end })
    expect(kept.apiKey.expiresAt).toBe(stage.clock.now() + 90 * DAY_MS)
    stage.clock.set(end.getTime() - 1)
    expect((await authenticate(stage.context, short.key)).kind).toBe('valid')
    stage.clock.set(end.getTime())
    expect(await authenticate(stage.context, short.key)).toEqual({ kind: 'expired', apiKey: short.apiKey })
    expect((await authenticate(stage.context, kept.key)).kind).toBe('valid')
  })

  test('says that a key was revoked, also when it has expired since', async () => {
    await using stage = await openStage()
    const { key, apiKey } = await createKey(stage.context, { name: 'ci', role: 'admin', expiresInMs: DAY_MS })
    const revoked = await revokeKey(stage.context, apiKey.keyId)
    expect(revoked).toEqual({ ...apiKey, revokedAt: stage.clock.now() })
    stage.clock.set(stage.clock.now() + 2 * DAY_MS)
    expect(await authenticate(stage.context, key)).toEqual({ kind: 'revoked', apiKey: revoked })
    expect(await revokeKey(stage.context, apiKey.keyId)).toEqual(revoked)
  })
})

test('once a key was made keys are asked for, and revoking the last one does not open the store to everybody', async () => {
  await using stage = await openStage()
  expect(await requiresKeys(stage.context)).toBe(false)
  const { apiKey } = await createKey(stage.context, { name: 'only', role: 'admin' })
  await revokeKey(stage.context, apiKey.keyId)
  expect(await requiresKeys(stage.context)).toBe(true)
})

test('keys are listed newest first, without their hashes, page by page', async () => {
  await using stage = await openStage()
  const names = ['a', 'b', 'c']
  for (const name of names) await createKey(stage.context, { name, role: 'admin' })
  const first = await listKeys(stage.context, { limit: 2 })
  const second = await listKeys(stage.context, { limit: 2, cursor: first.nextCursor })
  expect([...first.items, ...second.items].map(({ name }) => name)).toEqual(['c', 'b', 'a'])
  expect(second.nextCursor).toBeNull()
  expect(Object.keys(first.items[0] ?? {})).not.toContain('hash')
  expect((await refusalOf(() => listKeys(stage.context, { limit: 201 }))).path).toBe('limit')
})

test('a key that does not exist cannot be read or revoked', async () => {
  await using stage = await openStage()
  for (const call of [getKey, revokeKey]) {
    const error = await refusalOf(() => call(stage.context, 'nobody'))
    expect([error.code, error.details]).toEqual(['key_not_found', { keyId: 'nobody' }])
  }
})
