import { expect, test } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { openScheduler } from '../../src/library/open-scheduler.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { SettableClock } from '../../src/testing/index.ts'
import { FarSource } from './far-store.ts'

const DATABASE_TIME = Date.UTC(2031, 5, 1)

function newFarSource(): FarSource {
  const source = new FarSource(sqlite(':memory:'))
  source.now = () => DATABASE_TIME
  return source
}

const work = defineJob({ type: 'work', run: () => null })

test('all times are those of a store that has a clock, whatever this machine believes', async () => {
  await using scheduler = await openScheduler({ store: newFarSource(), jobs: [work] })
  await scheduler.start()
  const due = await scheduler.enqueue(work, null, { runAt: new Date(DATABASE_TIME) })
  await due.settled()
  expect(await due.get()).toMatchObject({ createdAt: DATABASE_TIME, runAt: DATABASE_TIME })
  expect(await scheduler.findRunOfJob(due.jobId)).toMatchObject({ startedAt: DATABASE_TIME, finishedAt: DATABASE_TIME })
})

test('a clock that the caller brings is the one that counts', async () => {
  const clock = new SettableClock()
  await using scheduler = await openScheduler({ store: newFarSource(), jobs: [work], clock })
  const job = await scheduler.enqueue(work, null)
  expect((await job.get()).createdAt).toBe(clock.now())
})
