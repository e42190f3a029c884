// What is left of a database that lost bytes: a clear word, from whoever looks first.
import { closeSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { openScheduler } from '../../src/library/open-scheduler.ts'
import { examineStore } from '../../src/operations/doctor.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { SettableClock } from '../../src/testing/index.ts'
import { type LivelyDatabase, makeLivelyDatabase } from './lively-database.ts'
import { contextOn, copyOf, damage, openStore, select } from './stage.ts'

let lively: LivelyDatabase

beforeAll(async () => {
  lively = await makeLivelyDatabase()
})

afterAll(() => lively.remove())

const examine = async (path: string) => examineStore(contextOn(await openStore(path), new SettableClock(lively.now)))

const PAGE_BYTES = 4_096

/** Writes noise over the page on which this text stands. */
function spoilPageOf(path: string, text: string): void {
  const at = readFileSync(path).indexOf(text)
  expect(at).toBeGreaterThan(PAGE_BYTES)
  const file = openSync(path, 'r+')
  const noise = Buffer.from(Array.from({ length: PAGE_BYTES }, (_, index) => (index * 7_919 + 13) % 256))
  writeSync(file, noise, 0, PAGE_BYTES, at - (at % PAGE_BYTES))
  closeSync(file)
}

test('a page of noise is found, and what could not be read because of it is told', async () => {
  const path = copyOf(lively.path)
  spoilPageOf(path, 'not hungry')
  const { ok, checks } = await examine(path)
  expect(ok).toBe(false)
  const integrity = checks.find(({ id }) => id === 'I17')
  expect(integrity).toMatchObject({ status: 'fault' })
  expect(integrity?.findings[0]).toMatchObject({ message: expect.stringContaining('damaged'), remedy: null })
  expect(integrity?.findings[0]?.advice).toContain('restore a backup')
  expect(checks.filter(({ status }) => status === 'ok').map(({ id }) => id)).toContain('api-keys')
  const unread = checks.flatMap(({ findings }) => findings).filter(({ message }) => message.includes('malformed'))
  expect(unread.length).toBeGreaterThan(0)
})

test('a file that was cut off is refused when it is opened', async () => {
  const path = copyOf(lively.path)
  truncateSync(path, 2 * PAGE_BYTES)
  await expect(sqlite(path).open()).rejects.toMatchObject({ code: 'database_corrupt' })
})

test('a table that was dropped is told, and the other checks go on', async () => {
  const path = copyOf(lively.path)
  damage(path, 'drop table pawl_job_tags')
  const store = await openStore(path)
  const checked = await store.checkInvariants(lively.now)
  const found = checked.filter(({ findings }) => findings.length > 0).map(({ invariant }) => invariant)
  expect(found).toEqual(['I17', 'tags'])
})

test('a policy that cannot be read is told, and a node that handles the type writes it anew', async () => {
  const path = copyOf(lively.path)
  damage(path, "update pawl_types set policy = '{'", "update pawl_policies set body = '{' || policy_id")
  const { checks } = await examine(path)
  expect(checks.find(({ id }) => id === 'policies')?.findings.map(({ severity }) => severity)).toEqual([
    'fault',
    'fault',
  ])
  const { type } = select(path, 'select type from pawl_types limit 1')[0] ?? {}
  const job = defineJob({ type: String(type), run: () => null })
  await (await openScheduler({ store: sqlite(path), jobs: [job] })).close()
  expect(select(path, `select json_valid(policy) as ok from pawl_types where type = '${type}'`)).toEqual([{ ok: 1 }])
})
