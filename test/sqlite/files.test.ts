// What stands in a database may be secret: its file and its copies are their owner's alone, wherever links lead.
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PawlError } from '../../src/domain/errors.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { newDatabasePath, withHandle } from './stage.ts'

const modeOf = (path: string) => statSync(path).mode & 0o777

async function refusalOf(work: () => Promise<unknown>): Promise<PawlError> {
  const error = await work().then(
    () => expect.fail('it was not refused'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof PawlError)) throw error
  return error
}

async function makeStore(path: string): Promise<void> {
  const store = await sqlite(path).open()
  await store.close()
}

describe('a backup', () => {
  test.each([
    ['a link that leads nowhere', (path: string) => symlinkSync(join(dirname(path), 'target'), path)],
    ['an empty file', (path: string) => writeFileSync(path, '')],
    ['a folder', (path: string) => mkdirSync(path)],
  ])('is not written to %s', async (_, prepare) => {
    const path = newDatabasePath()
    const copy = join(dirname(path), 'copy')
    prepare(copy)
    const store = await sqlite(path).open()
    const { code, message } = await refusalOf(() => store.backup(copy))
    await store.close()
    expect([code, message]).toEqual(['invalid_option', expect.stringContaining('exists already')])
    expect(existsSync(join(dirname(path), 'target'))).toBe(false)
  })

  test('is readable for its owner alone', async () => {
    const path = newDatabasePath()
    const store = await sqlite(path).open()
    await store.backup(`${path}-copy`)
    await store.close()
    expect(modeOf(`${path}-copy`)).toBe(0o600)
  })
})

describe('a store', () => {
  test('is not made through a link that leads nowhere', async () => {
    const path = newDatabasePath()
    symlinkSync(join(dirname(path), 'target'), path)
    for (const work of [() => sqlite(path).open(), () => sqlite(path).inspect()]) {
      const { code, message } = await refusalOf(work)
      expect([code, message]).toEqual([
        'database_unavailable',
        expect.stringContaining('a link to a file that does not'),
      ])
    }
    expect(existsSync(join(dirname(path), 'target'))).toBe(false)
  })

  test('is opened through a link that leads to it', async () => {
    const path = newDatabasePath()
    await makeStore(path)
    symlinkSync(path, `${path}-link`)
    await makeStore(`${path}-link`)
    expect(readdirSync(dirname(path)).filter((name) => name.startsWith('pawl.db-link'))).toEqual(['pawl.db-link'])
  })

  test('that is made of an empty file becomes private; one that exists keeps its mode', async () => {
    const path = newDatabasePath()
    writeFileSync(path, '')
    chmodSync(path, 0o644)
    await makeStore(path)
    expect(modeOf(path)).toBe(0o600)
    chmodSync(path, 0o660)
    await makeStore(path)
    expect(modeOf(path)).toBe(0o660)
  })

  test('is not made of a device', async () => {
    const { code, message } = await refusalOf(() => sqlite('/dev/null').open())
    expect([code, message]).toEqual(['database_unavailable', expect.stringContaining('a device')])
  })

  test.skipIf(process.getuid?.() !== 0 || process.seteuid === undefined)(
    'that this user must not read is refused with a code, by all who look at it',
    async () => {
      const path = newDatabasePath()
      await makeStore(path)
      chmodSync(path, 0o000)
      chmodSync(dirname(path), 0o777)
      // Root may read everything.
      process.seteuid?.(65_534)
      try {
        for (const work of [() => sqlite(path).open(), () => sqlite(path).inspect()]) {
          const { code, message } = await refusalOf(work)
          expect([code, message]).toEqual(['database_unavailable', expect.stringContaining('this user may')])
        }
      } finally {
        process.seteuid?.(0)
      }
    },
  )

  test('of a newer schema is refused also when only its version says so', async () => {
    const path = newDatabasePath()
    await makeStore(path)
    withHandle(path, (handle) => handle.exec('pragma user_version = 99'))
    const { code, details } = await refusalOf(() => sqlite(path).open())
    expect([code, details['version']]).toEqual(['database_too_new', 99])
    expect(await sqlite(path).inspect()).toMatchObject({ kind: 'newer', version: 99 })
    rmSync(path)
  })
})
