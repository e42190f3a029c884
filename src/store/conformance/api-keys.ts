import assert from 'node:assert/strict'
import type { ApiKey } from '../keys.ts'
import { HOUR, NOW, newId } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

export function testApiKeys({ test, testShared, testReopened }: Kit): void {
  test('a key is found by its id and by its hash, with the hash to compare', async (stage) => {
    const [hash, otherHash] = [newHash(), newHash()]
    const key = newKey({ role: 'operator', createdBy: 'ada', expiresAt: NOW + HOUR })
    await stage.store.createKey(key, hash)
    await stage.store.createKey(newKey(), otherHash)
    assertSame(await stage.store.findKey(key.keyId), key)
    assertSame(await stage.store.findKeyByHash(hash), { apiKey: key, hash })
  })

  test('a hash that nobody stored, or only a part of one, finds nothing', async (stage) => {
    const hash = newHash()
    await stage.store.createKey(newKey(), hash)
    for (const other of [newHash(), hash.slice(0, 63), hash.toUpperCase(), `${hash} `, '', '%']) {
      assert.equal(await stage.store.findKeyByHash(other), null)
    }
    assert.equal(await stage.store.findKey(newId()), null)
  })

  test('several keys may have the same name', async (stage) => {
    const keys = [newKey({ name: 'ci' }), newKey({ name: 'ci', role: 'viewer' })]
    for (const key of keys) await stage.store.createKey(key, newHash())
    assertSame((await stage.store.listKeys({ limit: 10 })).items, keys.toReversed())
  })

  test('no two keys have the same hash', async (stage) => {
    const hash = newHash()
    await stage.store.createKey(newKey(), hash)
    await stage.changesNothing(() => assert.rejects(stage.store.createKey(newKey(), hash)))
  })

  test('a revoked key is still found, and says since when', async (stage) => {
    const hash = newHash()
    const key = newKey()
    await stage.store.createKey(key, hash)
    assert.equal(await stage.store.revokeKey(key.keyId, NOW + 1), 'revoked')
    const revoked = { ...key, revokedAt: NOW + 1 }
    assertSame(await stage.store.findKey(key.keyId), revoked)
    assertSame(await stage.store.findKeyByHash(hash), { apiKey: revoked, hash })
  })

  test('revoking twice changes nothing, and revoking nothing says so', async (stage) => {
    const key = newKey()
    await stage.store.createKey(key, newHash())
    await stage.store.revokeKey(key.keyId, NOW + 1)
    assert.equal(await stage.changesNothing(() => stage.store.revokeKey(key.keyId, NOW + 2)), 'revoked')
    assert.equal(await stage.changesNothing(() => stage.store.revokeKey(newId(), NOW + 2)), 'not-found')
  })

  testReopened(
    'once a key was made the store has keys, also when all are revoked or expired',
    async (stage, reopen) => {
      assert.equal(await stage.store.hasKeys(), false)
      const key = newKey({ expiresAt: NOW })
      await stage.store.createKey(key, newHash())
      assert.equal(await stage.store.hasKeys(), true)
      await stage.store.revokeKey(key.keyId, NOW)
      const { store } = await reopen()
      assert.equal(await store.hasKeys(), true)
    },
  )

  test('lists are newest first, page by page', async (stage) => {
    const keys = Array.from({ length: 5 }, (_, index) => newKey({ name: `key ${index}` }))
    for (const key of keys) await stage.store.createKey(key, newHash())
    assertSame(await readPages(stage, 2), [...keys].reverse())
    assertSame(await stage.store.listKeys({ limit: 10, cursor: null }), {
      items: [...keys].reverse(),
      nextCursor: null,
    })
  })

  testShared('a key that one process revokes is revoked for all', async (stage, other) => {
    const hash = newHash()
    const key = newKey()
    await stage.store.createKey(key, hash)
    assertSame((await other.store.findKeyByHash(hash))?.apiKey, key)
    await other.store.revokeKey(key.keyId, NOW + 5)
    assert.equal((await stage.store.findKeyByHash(hash))?.apiKey.revokedAt, NOW + 5)
  })
}

export function newKey(overrides: Partial<ApiKey> = {}): ApiKey {
  return {
    keyId: newId(),
    name: 'deploys',
    role: 'admin',
    prefix: 'pawl_abcdef',
    createdBy: null,
    createdAt: NOW,
    expiresAt: null,
    revokedAt: null,
    ...overrides,
  }
}

let lastHash = 0

/** As long as a SHA-256 in hex. */
export function newHash(): string {
  lastHash += 1
  return `${lastHash.toString(16)}abc`.padStart(64, '0')
}

async function readPages(stage: Stage, limit: number): Promise<ApiKey[]> {
  const keys: ApiKey[] = []
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<typeof stage.store.listKeys>> = await stage.store.listKeys({ limit, cursor })
    assert.ok(page.items.length <= limit)
    keys.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== null)
  return keys
}
