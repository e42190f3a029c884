// A QUEUED Job can still be changed: its priority, its params, its instant.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { jobVersion } from '../../src/domain/job.ts'
import { PARAMS_BYTES_MAX } from '../../src/domain/json.ts'
import { defineJob } from '../../src/library/define-job.ts'
import type { OperationContext } from '../../src/operations/context.ts'
import { type EditOptions, editJob } from '../../src/operations/edit-job.ts'
import { getJob } from '../../src/operations/read-history.ts'
import { position } from '../stores/source-stores.ts'
import { openStage, refusalOf } from './stage.ts'

const story = defineJob({
  type: 'story',
  params: z.object({ genre: z.string(), length: z.number().int().default(1200) }),
  run: () => null,
})

const HOUR = 3_600_000

describe('an edit', () => {
  test('changes what it names, and answers with the Job as it is then', async () => {
    await using stage = await openStage([story])
    const jobId = await stage.enqueue('story', { genre: 'horror' }, { delayMs: HOUR })
    const before = await getJob(stage.context, jobId)
    const edited = await editJob(stage.context, jobId, { priority: 7, params: { genre: 'gothic' }, runAt: null })
    expect(edited).toEqual({
      ...before,
      priority: 7,
      position: position(100),
      params: { genre: 'gothic', length: 1200 },
      runAt: stage.clock.now(),
      hold: null,
    })
    expect(await getJob(stage.context, jobId)).toEqual(edited)
  })

  test('takes an instant as a Date or as a number', async () => {
    await using stage = await openStage([story])
    const jobId = await stage.enqueue('story', { genre: 'horror' })
    const instant = stage.clock.now() + HOUR
    expect(await editJob(stage.context, jobId, { runAt: new Date(instant) })).toMatchObject({
      runAt: instant,
      hold: 'delayed',
    })
    expect(await editJob(stage.context, jobId, { runAt: instant + 1 })).toMatchObject({ runAt: instant + 1 })
  })

  test('holds params to the schema of the type, where this process has it', async () => {
    await using stage = await openStage([story])
    const jobId = await stage.enqueue('story', { genre: 'horror' })
    const error = await refusalOf(() => editJob(stage.context, jobId, { params: { genre: 7 } }))
    expect([error.code, error.path]).toEqual(['invalid_params', 'params.genre'])
    const large = await refusalOf(() =>
      editJob(stage.context, jobId, { params: { genre: 'x'.repeat(PARAMS_BYTES_MAX) } }),
    )
    expect(large.code).toBe('params_too_large')
    const circular: Record<string, unknown> = {}
    circular['self'] = circular
    expect((await refusalOf(() => editJob(stage.context, jobId, { params: circular }))).code).toBe(
      'unserialisable_params',
    )
    expect((await getJob(stage.context, jobId)).params).toEqual({ genre: 'horror', length: 1200 })
  })

  test('takes any params of a type that only others handle, or that nobody registered', async () => {
    await using stage = await openStage([story])
    const jobId = await stage.enqueue('story', { genre: 'horror' })
    for (const types of [
      {
        get: async (type: string) => ({ ...(await stage.context.types.get(type)), handler: null }),
        paramsSchemaOf: () => null,
      },
      (await openStage([])).context.types,
    ]) {
      const context: OperationContext = { ...stage.context, types }
      expect((await editJob(context, jobId, { params: { genre: 7 } })).params).toEqual({ genre: 7 })
    }
  })

  test('that changes nothing, or says what makes no sense, is refused', async () => {
    await using stage = await openStage([story])
    const jobId = await stage.enqueue('story', { genre: 'horror' })
    const wrong: readonly (readonly [object, string | undefined])[] = [
      [{}, undefined],
      [{ version: jobVersion(await getJob(stage.context, jobId)) }, undefined],
      [{ priority: 1.5 }, 'priority'],
      [{ priority: 2 ** 31 }, 'priority'],
      [{ runAt: 'tomorrow' }, 'runAt'],
      [{ runAt: new Date(Number.NaN) }, 'runAt'],
      [{ runAt: -1 }, 'runAt'],
      [{ priority: 1, version: '' }, 'version'],
      [{ priority: 1, name: 'x' }, 'name'],
    ]
    for (const [options, path] of wrong) {
      const error = await refusalOf(() => editJob(stage.context, jobId, options as EditOptions))
      expect([error.code, error.path]).toEqual(['invalid_option', path])
    }
    expect((await refusalOf(() => editJob(stage.context, '', { priority: 1 }))).path).toBe('jobId')
  })

  test('comes too late for a Job that has started, and says what became of it', async () => {
    await using stage = await openStage([story])
    const jobId = await stage.enqueue('story', { genre: 'horror' })
    await stage.claim(['story'])
    for (const options of [{ priority: 1 }, { params: { genre: 'gothic' } }, { runAt: null }]) {
      const error = await refusalOf(() => editJob(stage.context, jobId, options))
      expect([error.code, error.details]).toEqual(['job_not_queued', { jobId, status: 'RUNNING' }])
    }
    for (const options of [{ priority: 1 }, { params: { genre: 'gothic' } }]) {
      expect((await refusalOf(() => editJob(stage.context, 'nobody', options))).code).toBe('job_not_found')
    }
  })

  test('with a version changes only the Job that was seen', async () => {
    await using stage = await openStage([story])
    const jobId = await stage.enqueue('story', { genre: 'horror' })
    const version = jobVersion(await getJob(stage.context, jobId))
    const edited = await editJob(stage.context, jobId, { priority: 1, version })
    const error = await refusalOf(() => editJob(stage.context, jobId, { priority: 2, version }))
    expect([error.code, error.path]).toEqual(['conflict', 'version'])
    expect(await getJob(stage.context, jobId)).toEqual(edited)
    expect((await editJob(stage.context, jobId, { priority: 2, version: jobVersion(edited) })).priority).toBe(2)
  })
})

describe('the version of a Job', () => {
  const job = {
    status: 'QUEUED',
    priority: 0,
    position: 100,
    runAt: 5,
    params: { a: 1 },
    cancelRequestedAt: null,
  } as const

  test('is a short text that can stand in a header', () => {
    expect(jobVersion(job)).toMatch(/^[A-Za-z0-9_-]{16}$/)
    expect(jobVersion({ ...job })).toBe(jobVersion(job))
  })

  test('changes with whatever an edit may change or makes it come too late', () => {
    const others = [
      { ...job, status: 'RUNNING' as const },
      { ...job, priority: 1 },
      { ...job, position: 200 },
      { ...job, runAt: 6 },
      { ...job, params: { a: 2 } },
      { ...job, cancelRequestedAt: 5 },
    ]
    expect(new Set([job, ...others].map(jobVersion)).size).toBe(7)
  })
})
