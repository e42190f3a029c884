import { describe, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { plainSql } from '../stores/source-stores.ts'
import { Stage } from './stage.ts'

const failing = defineJob({ type: 'failing', run: () => Promise.reject(new Error('no')) })

describe('of what only a hand from outside can have made, it is told', () => {
  test('that the Run of a running Job is missing', async () => {
    await using stage = await Stage.open([failing])
    await stage.scheduler.stop()
    const job = await stage.scheduler.enqueue(failing, null)
    await plainSql(stage.store, 'delete from pawl_queue')
    expect(await stage.why(job)).toMatchObject({
      state: 'RUNNING',
      summary: 'It counts as running, but its run is missing: the database was damaged, and the next start repairs it.',
      reasons: [{ code: 'running', runId: null, nodeId: null, startedAt: null }],
    })
  })

  test('that a retry which was to follow is missing', async () => {
    await using stage = await Stage.open([failing])
    const job = await stage.scheduler.enqueue(failing, null)
    await stage.worker.runUntilIdle()
    await stage.scheduler.stop()
    await plainSql(stage.store, 'delete from pawl_queue')
    await plainSql(stage.store, 'delete from pawl_jobs where retry_of is not null')
    expect(await stage.reason(job, 'retry_follows')).toMatchObject({ jobId: null, attempt: 2, status: null })
  })

  test('that the body for which a retry waits executes nowhere', async () => {
    await using stage = await Stage.open([failing])
    await stage.scheduler.stop()
    const job = await stage.scheduler.enqueue(failing, null)
    await plainSql(stage.store, 'update pawl_queue set awaits_predecessor = true, ready = false')
    expect(await stage.reason(job, 'predecessor_executing')).toMatchObject({ runId: null, nodeId: null })
  })
})
