// What is refused must not even touch the file: others would look at it for nothing, and a disk that is full would answer otherwise.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NOW, newId, newJob } from '../../src/store/conformance/fixtures.ts'
import type { Store } from '../../src/store/store.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { FileWatch } from '../../torture/fuzz/watch-file.ts'

let folder: string
let store: Store
let watch: FileWatch

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pawl-refused-'))
  store = await sqlite(join(folder, 'pawl.db')).open()
  watch = new FileWatch(join(folder, 'pawl.db'))
})

afterAll(async () => {
  watch.close()
  await store.close()
  rmSync(folder, { recursive: true })
})

const orphan = () => newJob({ dependsOn: [newId()] })

test.for([
  ['a list with an unknown parent', () => store.enqueueJobs([newJob(), orphan()], NOW)],
  [
    'a group with an unknown parent',
    () =>
      store.createGroup(
        { groupId: newId(), name: null, mode: 'sequential', onFailure: 'stop', createdBy: null },
        [newJob(), orphan()],
        NOW,
      ),
  ],
] as const)('%s is refused, and nothing is written', async ([, ask]) => {
  watch.hasChanged()
  expect(await ask()).toMatchObject({ kind: 'refused' })
  expect(watch.hasChanged()).toBe(false)
  await store.enqueueJobs([newJob()], NOW)
  expect(watch.hasChanged()).toBe(true)
})
