import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { sqlite } from '../../src/stores/sqlite/index.ts'

const home = mkdtempSync(join(tmpdir(), 'pawl-unfinished-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** A journal as SQLite leaves it when the power fails during the first transaction of a file, which had no pages before. */
function journalOf(pagesBefore: number): Buffer {
  const journal = Buffer.alloc(512)
  Buffer.from('d9d505f920a163d7', 'hex').copy(journal)
  journal.writeUInt32BE(0xfa9ab0f7, 12)
  journal.writeUInt32BE(pagesBefore, 16)
  journal.writeUInt32BE(512, 20)
  journal.writeUInt32BE(4096, 24)
  return journal
}

function leftByPowerCut(name: string, pagesBefore: number): string {
  const path = join(home, name)
  // Of its first page only the last sectors reached the disk.
  writeFileSync(path, Buffer.concat([Buffer.alloc(2048), Buffer.alloc(2048, 7)]))
  writeFileSync(`${path}-journal`, journalOf(pagesBefore))
  return path
}

test('a file whose first page was half written when the power failed is made anew', async () => {
  const path = leftByPowerCut('first-page.db', 0)
  expect(await sqlite(path).inspect()).toMatchObject({ kind: 'missing' })

  const store = await sqlite(path).open()
  expect(await store.listLimits()).toEqual([])
  await store.close()
  expect(await sqlite(path).inspect()).toMatchObject({ kind: 'current' })
})

test('a file that had pages before is refused and left untouched when it is no database of ours', async () => {
  const path = leftByPowerCut('other.db', 3)
  const before = readFileSync(path)
  expect(await sqlite(path).inspect()).toMatchObject({ kind: 'foreign' })
  await expect(sqlite(path).open()).rejects.toMatchObject({ code: 'database_not_ours' })
  expect(readFileSync(path)).toEqual(before)
})
