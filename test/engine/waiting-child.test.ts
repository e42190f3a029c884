import { defineJob } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler } from 'pawl/testing'
import { expect, test, vi } from 'vitest'
import { listeningLogger, newDatabasePath } from '../lifecycle/stage.ts'
import { FarSource } from './far-store.ts'

test('a command whose child cannot be recorded waits for the database, and is no failure', async () => {
  const store = new FarSource(sqlite(newDatabasePath()))
  const logger = listeningLogger()
  const command = defineJob({ type: 'command', command: () => [process.execPath, '--version'] })
  await using stage = await openTestScheduler({ store, jobs: [command], logger })
  store.loseNextAnswer('recordChild')
  const handle = await stage.scheduler.enqueue(command, null)
  await vi.waitFor(() => expect(store.counts.get('recordChild')).toBe(1))
  await vi.waitFor(() => expect(logger.told).toHaveLength(1))
  await stage.advance('1s')
  const settled = await handle.settled()
  expect(settled).toMatchObject({ outcome: 'COMPLETED', attempts: 1 })
  expect(logger.told.map(({ message }) => message)).toEqual([
    'It cannot be written who a child process is; it begins when it can',
  ])
})
