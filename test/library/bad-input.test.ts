// Every door refuses what is wrong with a code and a sentence that says what was expected, what came, and what to do; and
// nothing is stored. The doors of the file system are in bad-file.test.ts.
import { defineJob, openScheduler, type Scheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler } from 'pawl/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { errorOf } from './stage.ts'

const story = defineJob({
  type: 'story',
  params: z.object({ genre: z.string(), pages: z.array(z.object({ lines: z.number() })).optional() }),
  run: () => null,
})
const plain = defineJob({ type: 'plain', run: () => null })

let scheduler: Scheduler

beforeEach(async () => {
  scheduler = await openScheduler({ store: sqlite(':memory:'), jobs: [story, plain] })
})

afterEach(() => scheduler.close())

async function expectNothingStored(): Promise<void> {
  expect((await scheduler.listJobs()).items).toEqual([])
}

/** The doors that accept a Job, called by somebody who ignores the types. */
const doors: [string, (type: unknown, params: unknown, options?: object) => unknown][] = [
  ['enqueue', (type, params, options) => scheduler.enqueue(type as string, params, options)],
  ['enqueueMany', (type, params, options) => scheduler.enqueueMany([{ type: type as string, params, ...options }])],
  [
    'enqueue of a handler',
    async (type, params, options) => {
      let refusal: unknown = null
      const parent = defineJob({
        type: 'parent',
        retry: { maxRetries: 0 },
        run: async ({ enqueue }) => {
          try {
            await enqueue(type as string, params, options)
          } catch (error) {
            refusal = error
          }
        },
      })
      await using stage = await openTestScheduler({ jobs: [story, plain, parent] })
      await (await stage.scheduler.enqueue(parent, null)).settled()
      expect((await stage.scheduler.listJobs()).items).toHaveLength(1)
      if (refusal !== null) throw refusal
    },
  ],
]

describe.each(doors)('%s', (door, enqueue) => {
  /** `enqueueMany` says as well which item is at fault. */
  const at = (path: string) => (door === 'enqueueMany' ? `jobs.0.${path}` : path)
  const endsWith = (path: string) => expect.stringMatching(new RegExp(`(^|[.])${path.replaceAll('.', '[.]')}$`))

  test('refuses a type that nobody has registered, and lists those that are', async () => {
    const error = await errorOf(() => enqueue('sotry', {}))
    expect(error).toMatchObject({ code: 'unknown_type', path: at('type'), details: { type: 'sotry' } })
    expect(error.message).toContain('plain, story')
  })

  test.each([undefined, null, 7, {}, { type: 7 }])('refuses %j as a type', async (type) => {
    const error = await errorOf(() => enqueue(type, {}))
    expect(error).toMatchObject({ code: 'invalid_option', path: endsWith('type') })
    await expectNothingStored()
  })

  test.each([
    [{ genre: 7 }, 'params.genre'],
    [{}, 'params.genre'],
    [null, 'params'],
    ['horror', 'params'],
    [{ genre: 'a', pages: [{ lines: 1 }, { lines: 'two' }] }, 'params.pages.1.lines'],
  ])('refuses the invalid params %j and names the place %s', async (params, path) => {
    const error = await errorOf(() => enqueue(story, params))
    expect(error).toMatchObject({ code: 'invalid_params', path: at(path) })
    expect(error.message).toContain('`story`')
    expect(error.message).toContain(path)
    await expectNothingStored()
  })

  test('refuses params that are too large and names both numbers', async () => {
    const error = await errorOf(() => enqueue(plain, 'x'.repeat(300_000)))
    expect(error).toMatchObject({
      code: 'params_too_large',
      path: at('params'),
      details: { bytes: 300_002, bytesMax: 262_144 },
    })
    expect(error.message).toContain('262144')
    expect(error.message).toContain('300002')
    await expectNothingStored()
  })

  test.each([
    ['a bigint', { n: 10n }],
    ['a circle', circle()],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
  ])('refuses params that JSON cannot hold: %s', async (_, params) => {
    const error = await errorOf(() => enqueue(plain, params))
    expect(error).toMatchObject({ code: 'unserialisable_params', path: at('params') })
    await expectNothingStored()
  })

  test.each<[path: string, value: string, options: object]>([
    ['priority', '1.5', { priority: 1.5 }],
    ['priority', 'a text', { priority: '5' }],
    ['priority', 'NaN', { priority: Number.NaN }],
    ['priority', '2^31', { priority: 2_147_483_648 }],
    ['priority', 'null', { priority: null }],
    ['delayMs', '-1', { delayMs: -1 }],
    ['delayMs', '0.5', { delayMs: 0.5 }],
    ['delayMs', 'infinity', { delayMs: Number.POSITIVE_INFINITY }],
    ['delayMs', 'a delay besides an instant', { delayMs: 1, runAt: new Date(0) }],
    ['runAt', 'an invalid Date', { runAt: new Date(Number.NaN) }],
    ['runAt', 'a text', { runAt: 'tomorrow' }],
    ['runAt', '-1', { runAt: -1 }],
    ['timeoutMs', '0', { timeoutMs: 0 }],
    ['timeoutMs', 'a text', { timeoutMs: '1s' }],
    ['retry.maxRetries', '-1', { retry: { maxRetries: -1 } }],
    ['retry.backoff.kind', 'an unknown kind', { retry: { backoff: { kind: 'linear' } } }],
    ['retry', 'a number', { retry: 3 }],
    ['tags', 'a text', { tags: 'one' }],
    ['tags', '33 of them', { tags: Array.from({ length: 33 }, () => 'tag') }],
    ['tags.1', 'an empty text', { tags: ['ok', ''] }],
    ['tags.0', 'U+0000', { tags: ['with\u0000zero'] }],
    ['name', 'a number', { name: 7 }],
    ['name', '513 characters', { name: 'n'.repeat(513) }],
    ['createdBy', 'half a surrogate pair', { createdBy: 'half \ud800' }],
    ['businessKey', 'U+0000', { businessKey: 'with\u0000zero' }],
    ['businessKey', 'an empty text', { businessKey: '' }],
    ['businessKey', '513 characters', { businessKey: 'k'.repeat(513) }],
    ['idempotencyKey', 'U+0000', { idempotencyKey: 'with\u0000zero' }],
    ['idempotencyKey', 'a number', { idempotencyKey: 5 }],
    ['idempotencyKey', 'half a surrogate pair', { idempotencyKey: '\udc00 half' }],
    ['prio', 'an option that nobody knows', { prio: 1 }],
  ])('refuses as %s: %s', async (path, _, options) => {
    const error = await errorOf(() => enqueue(plain, null, options))
    expect(error).toMatchObject({ code: 'invalid_option', path: endsWith(path) })
    expect(error.message).toContain(path.split('.').at(-1))
    await expectNothingStored()
  })
})

describe('enqueueMany', () => {
  test.each([undefined, null, {}, 'list'])('refuses %j as a list', async (items) => {
    expect(await errorOf(() => scheduler.enqueueMany(items as never))).toMatchObject({ code: 'invalid_option' })
  })

  test('says which item has a wrong option', async () => {
    const good = { type: plain, params: null }
    const error = await errorOf(() => scheduler.enqueueMany([good, good, { ...good, priority: 0.5 }]))
    expect(error).toMatchObject({ code: 'invalid_option', path: 'jobs.2.priority', details: { index: 2 } })
    await expectNothingStored()
  })

  test.each([null, undefined, 7, 'story'])('refuses %j as an item and says which', async (item) => {
    const error = await errorOf(() => scheduler.enqueueMany([{ type: plain, params: null }, item] as never))
    expect(error).toMatchObject({ code: 'invalid_option', path: expect.stringMatching(/^jobs\.1/) })
    await expectNothingStored()
  })

  test('refuses more than 10,000 at once', async () => {
    const items = Array.from({ length: 10_001 }, () => ({ type: plain, params: null }))
    expect(await errorOf(() => scheduler.enqueueMany(items))).toMatchObject({ code: 'invalid_option', path: 'jobs' })
    await expectNothingStored()
  })
})

describe('defineJob', () => {
  test.each<[string, unknown]>([
    ['type', { type: 'With Blanks', run: () => null }],
    ['type', { type: '', run: () => null }],
    ['type', { run: () => null }],
    ['run', { type: 'a', run: 'code' }],
    ['params', { type: 'a', run: () => null, params: { genre: 'string' } }],
    ['timeoutMs', { type: 'a', run: () => null, timeoutMs: -1 }],
    ['concurrency', { type: 'a', run: () => null, concurrency: 0 }],
    ['resources', { type: 'a', run: () => null, resources: 'gpu' }],
    ['resources', { type: 'a', run: () => null, resources: ['GPU 1'] }],
    ['retry.maxRetries', { type: 'a', run: () => null, retry: { maxRetries: 0.5 } }],
    ['retry.shouldRetry', { type: 'a', run: () => null, retry: { shouldRetry: true } }],
    ['isolation', { type: 'a', run: () => null, isolation: 'process' }],
    ['isolation', { type: 'a', module: new URL('file:///a.js') }],
    ['module', { type: 'a', module: new URL('https://example.org/a.js'), isolation: 'thread' }],
    ['command', { type: 'a', command: 'ls -l' }],
    ['command', { type: 'a', command: [] }],
    ['killGraceMs', { type: 'a', command: ['ls'], killGraceMs: -1 }],
    ['killGraceMs', { type: 'a', run: () => null, killGraceMs: 5 }],
    ['env.inhert', { type: 'a', command: ['ls'], env: { inhert: [] } }],
    ['retires', { type: 'a', run: () => null, retires: 3 }],
    ['defineJob()', null],
    ['defineJob()', 'a'],
  ])('refuses a wrong `%s` (case %#)', async (path, definition) => {
    const error = await errorOf(() => defineJob(definition as never))
    expect(error.code).toBe('invalid_option')
    expect(error.path).toBe(path)
  })

  test.each([
    ['none', { type: 'a' }],
    ['run and command', { type: 'a', run: () => null, command: ['ls'] }],
  ])('refuses %s of run, module and command', async (words, definition) => {
    const error = await errorOf(() => defineJob(definition as never))
    expect(error.code).toBe('invalid_option')
    expect(error.message).toContain(words)
  })
})

describe('openScheduler', () => {
  const store = sqlite(':memory:')

  test('refuses a type that is given twice', async () => {
    const error = await errorOf(() => openScheduler({ store, jobs: [story, plain, story] }))
    expect(error).toMatchObject({ code: 'duplicate_type', path: 'jobs.2' })
    expect(error.message).toContain('`story`')
  })

  test.each<[string, object]>([
    ['store', { store: 'pawl.db' }],
    ['store', {}],
    ['jobs', { store, jobs: story }],
    ['jobs.0', { store, jobs: [() => null] }],
    ['jobs.1', { store, jobs: [plain, null] }],
    ['concurrency', { store, concurrency: 0 }],
    ['concurrency', { store, concurrency: 1.5 }],
    ['concurrency', { store, concurrency: 1001 }],
    ['maxRunning', { store, maxRunning: 0 }],
    ['resources.gpu', { store, resources: { gpu: 0 } }],
    ['resources', { store, resources: { 'GPU 1': 1 } }],
    ['shutdownTimeoutMs', { store, shutdownTimeoutMs: -1 }],
    ['concurency', { store, concurency: 5 }],
    ['name', { store, name: 7 }],
    ['clock', { store, clock: Date }],
    ['random', { store, random: Math.random }],
    ['logger', { store, logger: () => {} }],
    ['concurrencyPolicy', { store, concurrencyPolicy: () => new Map() }],
    ['handleSignals', { store, handleSignals: 'yes' }],
  ])('refuses a wrong `%s` (case %#)', async (path, options) => {
    expect(await errorOf(() => openScheduler(options as never))).toMatchObject({ code: 'invalid_option', path })
  })

  test('refuses to be called with nothing', async () => {
    expect(await errorOf(() => openScheduler(undefined as never))).toMatchObject({ code: 'invalid_option' })
  })
})

describe('sqlite', () => {
  test.each<[unknown, object?]>([
    [''],
    [undefined],
    [7],
    [{}],
    ['pawl.db', { durability: 'none' }],
    ['pawl.db', { readonly: true }],
    ['pawl.db', { driver: 'better-sqlite3' }],
  ])('refuses %j with %j', async (path, options) => {
    const error = await errorOf(() => openScheduler({ store: sqlite(path as string, options) }))
    expect(error.code).toBe('invalid_option')
  })
})

describe('starting and stopping', () => {
  test('a second start is refused, also while the first is under way', async () => {
    const first = scheduler.start()
    const meanwhile = await errorOf(() => scheduler.start())
    await first
    const afterwards = await errorOf(() => scheduler.start())
    expect([meanwhile.code, afterwards.code]).toEqual(['already_started', 'already_started'])
    expect(afterwards.message).toContain('stop()')
    await scheduler.stop()
    await scheduler.start()
  })

  test.each([-1, 1.5, Number.NaN, '5s', null])('stop(%j) is refused', async (timeout) => {
    expect(await errorOf(() => scheduler.stop(timeout as never))).toMatchObject({
      code: 'invalid_option',
      path: 'timeoutMs',
    })
  })
})

test('everything after close is refused with `closed`, and closing again is not', async () => {
  const { jobId } = await scheduler.enqueue(plain, null)
  const handle = await scheduler.enqueue(plain, null)
  await scheduler.close()
  const calls: Record<string, () => unknown> = {
    enqueue: () => scheduler.enqueue(plain, null),
    enqueueMany: () => scheduler.enqueueMany([{ type: plain, params: null }]),
    enqueueSync: () => scheduler.enqueueSync({}, plain, null),
    start: () => scheduler.start(),
    stop: () => scheduler.stop(),
    cancel: () => scheduler.cancel(jobId),
    retry: () => scheduler.retry(jobId),
    move: () => scheduler.move(jobId, { to: 'front' }),
    reprioritise: () => scheduler.reprioritise(jobId, 1),
    setLimit: () => scheduler.setLimit('running', 1),
    listLimits: () => scheduler.listLimits(),
    getJob: () => scheduler.getJob(jobId),
    getChain: () => scheduler.getChain(jobId),
    getRun: () => scheduler.getRun('id'),
    findRunOfJob: () => scheduler.findRunOfJob(jobId),
    listJobs: () => scheduler.listJobs(),
    listRuns: () => scheduler.listRuns(),
    listQueue: () => scheduler.listQueue(),
    readLogs: () => scheduler.readLogs('id'),
    listNodes: () => scheduler.listNodes(),
    prune: () => scheduler.prune({ olderThanMs: 0 }),
    backup: () => scheduler.backup('copy.db'),
    on: () => scheduler.on('job.finished', () => {}),
    'handle.settled': () => handle.settled(),
    'handle.get': () => handle.get(),
    'handle.cancel': () => handle.cancel(),
    'handle.onProgress': () => handle.onProgress(() => {}),
  }
  const codes = await Promise.all(
    Object.entries(calls).map(async ([name, call]) => [name, (await errorOf(call)).code] as const),
  )
  expect(codes.filter(([, code]) => code !== 'closed')).toEqual([])
  await scheduler.close()
})

describe('steering and reading', () => {
  test.each<[string, string, () => unknown]>([
    ['cancel', 'mode', () => scheduler.cancel('id', { mode: 'kill' as never })],
    ['cancel', 'why', () => scheduler.cancel('id', { why: 'x' } as never)],
    ['move', 'target.to', () => scheduler.move('id', { to: 'top' as never })],
    ['move', 'target', () => scheduler.move('id', {} as never)],
    ['move', 'target', () => scheduler.move('id', { to: 'front', before: 'b' } as never)],
    ['move', 'target', () => scheduler.move('id', undefined as never)],
    ['move', 'target.before', () => scheduler.move('id', { before: 7 as never })],
    ['reprioritise', 'priority', () => scheduler.reprioritise('id', 0.5)],
    ['retry', 'priority', () => scheduler.retry('id', { priority: 0.5 })],
    ['setLimit', 'name', () => scheduler.setLimit('gpu', 1)],
    ['setLimit', 'max', () => scheduler.setLimit('running', 0)],
    ['listJobs', 'limit', () => scheduler.listJobs({ limit: 0 })],
    ['listJobs', 'limit', () => scheduler.listJobs({ limit: 201 })],
    ['listJobs', 'cursor', () => scheduler.listJobs({ cursor: 'abc' })],
    ['listJobs', 'status', () => scheduler.listJobs({ status: 'DONE' as never })],
    ['listJobs', 'state', () => scheduler.listJobs({ state: 'QUEUED' } as never)],
    ['listRuns', 'status', () => scheduler.listRuns({ status: 'QUEUED' as never })],
    ['readLogs', 'limit', () => scheduler.readLogs('id', { limit: 0 })],
    ['readLogs', 'after', () => scheduler.readLogs('id', { after: -1 })],
    ['prune', 'olderThanMs', () => scheduler.prune({ olderThanMs: -1 })],
    ['prune', 'olderThanMs', () => scheduler.prune({} as never)],
    ['backup', 'path', () => scheduler.backup(7 as never)],
    ['on', 'kind', () => scheduler.on('job.done' as never, () => {})],
    ['on', 'listener', () => scheduler.on('job.finished', undefined as never)],
  ])('%s refuses a wrong %s', async (_, path, call) => {
    expect(await errorOf(call)).toMatchObject({ code: 'invalid_option', path })
  })

  test.each<[string, (id: never) => unknown]>([
    ['cancel', (id) => scheduler.cancel(id)],
    ['retry', (id) => scheduler.retry(id)],
    ['retry by run', (id) => scheduler.retry({ runId: id })],
    ['move', (id) => scheduler.move(id, { to: 'front' })],
    ['reprioritise', (id) => scheduler.reprioritise(id, 1)],
    ['getJob', (id) => scheduler.getJob(id)],
    ['getChain', (id) => scheduler.getChain(id)],
    ['getRun', (id) => scheduler.getRun(id)],
    ['findRunOfJob', (id) => scheduler.findRunOfJob(id)],
    ['readLogs', (id) => scheduler.readLogs(id)],
  ])('%s refuses an id that is no text', async (_, call) => {
    for (const id of [undefined, null, 7, {}]) {
      const { code } = await errorOf(() => call(id as never))
      expect(['invalid_option', 'job_not_found', 'run_not_found']).toContain(code)
    }
  })
})

function circle(): object {
  const self: { self?: unknown } = {}
  self.self = self
  return self
}
