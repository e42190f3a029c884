import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, vi } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { openScheduler } from '../../src/library/open-scheduler.ts'
import { revokeKey } from '../../src/operations/api-keys.ts'
import { DOOR } from '../../src/operations/door.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { SettableClock } from '../../src/testing/settable-clock.ts'
import { startScript } from '../recovery/processes.ts'
import { EventReader } from './server-events.ts'
import { afterwards, asProblem, newFolder, noop, openStage, PATIENCE, problemOf, type Stage } from './server-stage.ts'

const follow = async ({ port }: Stage, query = '', after: string | null = null, headers = {}) =>
  new EventReader(port, `/api/events${query}`, headers, after).opened()

const jobOf = async (stage: Stage) => String((await stage.post('/api/jobs', { type: 'noop' })).body['job_id'])

describe('the stream of events', () => {
  it('tells every step of a job as it happens', async () => {
    const talkative = defineJob({
      type: 'talkative',
      run: ({ progress }) => {
        progress(0.5, 'half way')
        return null
      },
    })
    const stage = await openStage({ scheduler: { jobs: [talkative] } })
    const reader = await follow(stage)
    expect(reader.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
    })
    await stage.scheduler.start()
    const job = await stage.scheduler.enqueue(talkative, null)
    await job.settled()
    const events = await reader.has(4)
    const about = { job_id: job.jobId, chain_id: job.jobId, job_type: 'talkative', attempt: 1 }
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(events.find(({ event }) => event === 'job.queued')?.data).toEqual({
      ...about,
      run_id: null,
      status: 'QUEUED',
      outcome: null,
      reason: null,
      at,
    })
    expect(events.find(({ event }) => event === 'job.started')?.data).toMatchObject({ ...about, status: 'RUNNING' })
    expect(events.find(({ event }) => event === 'run.progress')?.data).toMatchObject({
      ...about,
      progress: 0.5,
      message: 'half way',
    })
    expect(events.find(({ event }) => event === 'job.finished')?.data).toMatchObject({
      ...about,
      run_id: expect.any(String),
      status: 'FINISHED',
      outcome: 'COMPLETED',
    })
  })

  it('tells what another process does, within a moment', async () => {
    const file = join(newFolder(), 'pawl.db')
    const stage = await openStage({ file })
    const reader = await follow(stage)
    const writer = startScript(new URL('./fixtures/writer.mjs', import.meta.url), { file, lists: 1, length: 3 })
    const ids = await writer.tells<string[]>('ids')
    expect((await reader.has(3)).map(({ data }) => data['job_id'])).toEqual(ids)
  })

  it('tells all that another process has done while this one was held up', async () => {
    const file = join(newFolder(), 'pawl.db')
    const stage = await openStage({ file })
    const reader = await follow(stage)
    const writer = fileURLToPath(new URL('./fixtures/writer.mjs', import.meta.url))
    // Synchronously: meanwhile nothing here has a turn, and then there is one sign for all fifty commits.
    const told = execFileSync(process.execPath, [writer, JSON.stringify({ file, lists: 50, length: 1 })])
    const { ids } = JSON.parse(String(told)) as { readonly ids: readonly string[] }
    expect((await reader.has(50)).map(({ data }) => data['job_id'])).toEqual(ids)
  })

  it('misses nothing that others write between two commits of its own process, and keeps the order', async () => {
    const file = join(newFolder(), 'pawl.db')
    const stage = await openStage({ file })
    const other = await openScheduler({ store: sqlite(file), jobs: [noop] })
    afterwards(() => other.close())
    const reader = await follow(stage)
    const ids: string[] = []
    for (let round = 0; round < 20; round++) {
      for (const scheduler of [other, stage.scheduler]) ids.push((await scheduler.enqueue(noop, null)).jobId)
    }
    expect((await reader.has(40)).map(({ data }) => data['job_id'])).toEqual(ids)
  })

  it('gives every transition of one commit an id of its own, from which it can be resumed', async () => {
    const stage = await openStage()
    const reader = await follow(stage)
    const handles = await stage.scheduler.enqueueMany(Array.from({ length: 5 }, () => ({ type: 'noop', params: {} })))
    const ids = handles.map(({ jobId }) => jobId)
    const events = await reader.has(5)
    expect(new Set(events.map(({ id }) => id.split('.')[0])).size).toBe(1)
    expect(events.map(({ id }) => id.split('.')[1])).toEqual(['0', '1', '2', '3', '4'])
    for (const [index, { id }] of events.entries()) {
      const resumed = await follow(stage, '', id)
      if (index < 4) await resumed.has(4 - index)
      expect(resumed.events.map(({ data }) => data['job_id'])).toEqual(ids.slice(index + 1))
      resumed.cut()
    }
  })

  it('goes on in the middle of a commit also after jobs of it were pruned', async () => {
    const clock = new SettableClock()
    const stage = await openStage({ scheduler: { clock } })
    const reader = await follow(stage)
    const handles = await stage.scheduler.enqueueMany(Array.from({ length: 6 }, () => ({ type: 'noop', params: {} })))
    const ids = handles.map(({ jobId }) => jobId)
    const events = [...(await reader.has(6))]
    reader.cut()
    for (const index of [0, 1, 4]) await stage.scheduler.cancel(ids[index] as string)
    clock.set(clock.now() + 3_600_000)
    expect(await stage.scheduler.prune({ olderThanMs: 60_000 })).toMatchObject({ jobsRemoved: 3 })
    for (const [index, { id }] of events.entries()) {
      const rest = ids.slice(index + 1).filter((_, offset) => ![0, 1, 4].includes(index + 1 + offset))
      const resumed = await follow(stage, '?types=job.queued', id)
      const last = await jobOf(stage)
      await vi.waitFor(() => expect(resumed.events.at(-1)?.data['job_id']).toBe(last), PATIENCE)
      expect(resumed.events.slice(0, rest.length).map(({ data }) => data['job_id'])).toEqual(rest)
      expect(resumed.events.slice(0, rest.length).map((event) => event.id)).toEqual(
        rest.map((jobId) => events[ids.indexOf(jobId)]?.id),
      )
      resumed.cut()
    }
  })

  it('resumes also for a reader that was told of nothing yet', async () => {
    const stage = await openStage()
    const reader = await follow(stage)
    reader.cut()
    const jobId = await jobOf(stage)
    const resumed = await follow(stage, '', reader.lastId)
    expect((await resumed.has(1))[0]?.data['job_id']).toBe(jobId)
  })

  it('takes the last id in the URL too, for a reader that cannot send a header', async () => {
    const stage = await openStage()
    const reader = await follow(stage)
    const jobId = await jobOf(stage)
    const resumed = await follow(stage, `?last_event_id=${reader.lastId}`)
    expect((await resumed.has(1))[0]?.data['job_id']).toBe(jobId)
  })

  it('loses nothing and doubles nothing, however often it is cut while others write', async () => {
    const file = join(newFolder(), 'pawl.db')
    const stage = await openStage({ file })
    let reader = await follow(stage)
    const plan = { file, lists: 100, length: 7 }
    const writer = startScript(new URL('./fixtures/writer.mjs', import.meta.url), plan)
    const read: string[] = []
    let cuts = 0
    const isComplete = () => read.length + reader.events.length >= plan.lists * plan.length + 50
    const here = (async () => {
      for (let n = 0; n < 50; n++) await stage.scheduler.enqueue('noop', { n })
    })()
    const deadline = performance.now() + 30_000
    while (!isComplete() && performance.now() < deadline) {
      const enough = 1 + ((cuts * 7_919) % 40)
      await vi.waitFor(() => {
        if (reader.events.length < enough && !isComplete()) throw new Error('not yet')
      }, PATIENCE)
      reader.cut()
      cuts++
      read.push(...reader.events.map(({ event, data }) => `${event} ${String(data['job_id'])}`))
      reader = await follow(stage, '', reader.lastId)
    }
    await here
    const elsewhere = await writer.tells<string[]>('ids')
    read.push(...reader.events.map(({ event, data }) => `${event} ${String(data['job_id'])}`))
    expect(cuts).toBeGreaterThan(10)
    expect(read).toHaveLength(plan.lists * plan.length + 50)
    expect(new Set(read).size).toBe(read.length)
    expect(read.filter((line) => elsewhere.includes(line.split(' ')[1] as string))).toEqual(
      elsewhere.map((id) => `job.queued ${id}`),
    )
  })

  it('goes through what a reader missed, however much it is, before it tells what is new', async () => {
    const stage = await openStage()
    const reader = await follow(stage)
    reader.cut()
    const ids: string[] = []
    for (let list = 0; list < 60; list++) {
      const items = Array.from({ length: 200 }, () => ({ type: 'noop', params: {} }))
      ids.push(...(await stage.scheduler.enqueueMany(items)).map(({ jobId }) => jobId))
    }
    const resumed = await follow(stage, '', reader.lastId)
    ids.push(await jobOf(stage))
    const events = await resumed.has(ids.length)
    expect(events.map(({ data }) => data['job_id'])).toEqual(ids)
  })
})

describe('a stream that cannot go on where it was', () => {
  const resetOf = async (stage: Stage, id: string) => {
    const reader = await follow(stage, '', id)
    const [first] = await reader.has(1)
    const jobId = await jobOf(stage)
    const [, second] = await reader.has(2)
    expect(second?.data['job_id']).toBe(jobId)
    reader.cut()
    return first
  }

  it('begins with `reset` and tells what happens from now on', async () => {
    const stage = await openStage()
    await jobOf(stage)
    for (const [id, reason] of [
      ['nonsense', 'malformed'],
      ['1', 'malformed'],
      ['-1.0', 'malformed'],
      ['1.0; drop', 'malformed'],
      ['999999.0', 'unknown'],
    ] as const) {
      expect(await resetOf(stage, id), id).toMatchObject({ event: 'reset', data: { reason } })
    }
  })

  it('says so when what it was told last has been removed since', async () => {
    const clock = new SettableClock()
    const stage = await openStage({ scheduler: { clock } })
    const reader = await follow(stage)
    await jobOf(stage)
    const [{ id } = { id: '' }] = await reader.has(1)
    reader.cut()
    await jobOf(stage)
    await jobOf(stage)
    await stage.scheduler[DOOR].context.store.pruneEvents(clock.now() + 1, 2)
    const reset = await resetOf(stage, id)
    expect(reset).toMatchObject({ event: 'reset', data: { reason: 'pruned' } })
    const resumed = await follow(stage, '', reset?.id ?? null)
    expect((await resumed.has(1)).map(({ event }) => event)).toEqual(['job.queued'])
  })
})

describe('a filter', () => {
  it('lets through only the events, the job type or the job that were asked for', async () => {
    const other = defineJob({ type: 'other', run: () => null })
    const stage = await openStage({ scheduler: { jobs: [noop, other] } })
    const first = await jobOf(stage)
    const readers = [
      await follow(stage, '?types=job.cancelled,job.moved'),
      await follow(stage, '?job_type=other'),
      await follow(stage, `?job_id=${first}`),
    ]
    const second = (await stage.scheduler.enqueue(other, null)).jobId
    await stage.scheduler.cancel(first)
    await stage.scheduler.cancel(second)
    const [cancelled, ofOther, ofFirst] = readers as [EventReader, EventReader, EventReader]
    const lines = ({ events }: EventReader) => events.map(({ event, data }) => `${event} ${String(data['job_id'])}`)
    await Promise.all([cancelled.has(2), ofOther.has(2), ofFirst.has(1)])
    expect(lines(cancelled)).toEqual([`job.cancelled ${first}`, `job.cancelled ${second}`])
    expect(lines(ofOther)).toEqual([`job.queued ${second}`, `job.cancelled ${second}`])
    expect(lines(ofFirst)).toEqual([`job.cancelled ${first}`])
  })

  it('for a job lets through its retries too', async () => {
    const failing = defineJob({
      type: 'failing',
      retry: { maxRetries: 1, backoff: { kind: 'none' } },
      run: () => Promise.reject(new Error('no')),
    })
    const stage = await openStage({ scheduler: { jobs: [noop, failing] } })
    const [job] = await stage.scheduler.enqueueMany([
      { type: failing, params: null },
      { type: noop, params: null },
    ])
    const reader = await follow(stage, `?job_id=${job.jobId}&types=job.queued,job.finished`)
    await stage.scheduler.start()
    const events = await reader.has(3)
    expect(events.map(({ event, data }) => `${event} ${String(data['attempt'])} ${String(data['chain_id'])}`)).toEqual([
      `job.finished 1 ${job.jobId}`,
      `job.queued 2 ${job.jobId}`,
      `job.finished 2 ${job.jobId}`,
    ])
  })

  it('that means nothing is refused', async () => {
    const { get } = await openStage()
    for (const query of ['types=job.exploded', 'types=', 'type=job.queued', 'job_id=', 'types=job.queued&types=x']) {
      expect(problemOf(await get(`/api/events?${query}`)), query).toEqual(asProblem(422, 'invalid_option'))
    }
  })
})

describe('a reader', () => {
  it('hears a heartbeat every 15 seconds of silence, with the place from which to resume', async () => {
    const clock = new SettableClock()
    const stage = await openStage({ scheduler: { clock } })
    const reader = await follow(stage, '?types=job.finished')
    await jobOf(stage)
    expect(reader.comments).toEqual([])
    clock.set(clock.now() + 15_000)
    await vi.waitFor(() => expect(reader.comments).toEqual(['heartbeat']), PATIENCE)
    expect(reader.lastId).toBe('1.0')
    clock.set(clock.now() + 15_000)
    await vi.waitFor(() => expect(reader.comments).toHaveLength(2), PATIENCE)
  })

  it('that takes nothing is let go, and can resume without a loss', async () => {
    const clock = new SettableClock()
    const stage = await openStage({ scheduler: { clock } })
    const reader = await follow(stage)
    reader.pause()
    const ids: string[] = []
    for (let list = 0; list < 2; list++) {
      const items = Array.from({ length: 10_000 }, () => ({ type: 'noop', params: {} }))
      ids.push(...(await stage.scheduler.enqueueMany(items)).map(({ jobId }) => jobId))
    }
    for (let turn = 0; turn < 200; turn++) {
      clock.set(clock.now() + 30_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    reader.resume()
    await reader.ended()
    expect(reader.hasEnded).toBe(false)
    expect(reader.events.length).toBeLessThan(ids.length)
    const resumed = await follow(stage, '', reader.lastId)
    const missing = ids.length - reader.events.length
    await resumed.has(missing)
    expect([...reader.events, ...resumed.events].map(({ data }) => data['job_id'])).toEqual(ids)
  })

  it('with a key that is revoked is told nothing more', async () => {
    const stage = await openStage()
    const { key, keyId } = await stage.newKey('viewer')
    const reader = await follow(stage, '', null, { authorization: `Bearer ${key}` })
    await revokeKey(stage.scheduler[DOOR].context, keyId)
    await stage.scheduler.enqueue('noop', {})
    await reader.ended()
    expect(reader.events).toEqual([])
  })

  it('is one of at most a hundred', async () => {
    const stage = await openStage()
    const readers = await Promise.all(Array.from({ length: 100 }, () => follow(stage)))
    expect(problemOf(await stage.get('/api/events'))).toEqual(asProblem(429, 'rate_limited'))
    readers[0]?.cut()
    const late = await vi.waitFor(() => follow(stage), PATIENCE)
    const jobId = await jobOf(stage)
    for (const reader of [...readers.slice(1), late]) expect((await reader.has(1))[0]?.data['job_id']).toBe(jobId)
  })
})
