import { writeFileSync } from 'node:fs'
import { openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { expect, test, vi } from 'vitest'
import { newDatabase, select } from '../recovery/database.ts'
import { PATIENCE, startScript } from '../recovery/processes.ts'

const SCRIPT = new URL('./fixtures/two-schedulers.mjs', import.meta.url)
const NODES = 'select name from pawl_nodes where ended_at is null'

test('one signal closes all schedulers of a process: it waits for the body of the one that is not idle', async () => {
  const idle = newDatabase()
  const busy = newDatabase()
  const go = `${busy}.go`
  const script = startScript(SCRIPT, { idle, busy, go })
  await script.tells('begun')
  script.kill('SIGTERM')
  await vi.waitFor(() => expect(select(idle, NODES)).toEqual([]), PATIENCE)
  writeFileSync(go, '')
  expect(await script.exited).toBe(0)

  expect(select(busy, NODES)).toEqual([])
  await using reader = await openScheduler({ store: sqlite(busy) })
  const { items } = await reader.listRuns()
  expect(items).toMatchObject([{ status: 'COMPLETED', result: 'its own end' }])
})
