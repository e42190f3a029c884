// What must not compile. The compiler is the test: `npm run check` fails when one of these lines is accepted, or refuses
// what must be accepted. Nothing here executes, but a few calls that are safe to make.
import {
  type AnyJobType,
  defineJob,
  type InputOf,
  type JobHandle,
  type JsonValue,
  openScheduler,
  type Progress,
  type ResultOf,
  type Scheduler,
  type Settled,
  type Transition,
} from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler } from 'pawl/testing'
import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'

const story = defineJob({
  type: 'story',
  params: z.object({ genre: z.string(), length: z.number().int().default(1200) }),
  run: async ({ params }) => ({ file: `${params.genre}.md`, words: params.length }),
})

const plain = defineJob({ type: 'plain', run: ({ params }) => params })

const silent = defineJob({ type: 'silent', params: z.string(), run: () => {} })

/** Calls nothing: only the compiler reads what it is given. */
function typesOnly(code: (scheduler: Scheduler) => unknown): void {
  expectTypeOf(code).toBeFunction()
}

describe('params', () => {
  test('are what the schema takes; the handler gets what it returns', () => {
    expectTypeOf<InputOf<typeof story>>().toEqualTypeOf<{ genre: string; length?: number | undefined }>()
    defineJob({
      type: 'reader',
      params: z.object({ at: z.string().transform((text) => new Date(text)), n: z.number().default(1) }),
      run: ({ params }) => {
        expectTypeOf(params).toEqualTypeOf<{ at: Date; n: number }>()
      },
    })
  })

  test('without a schema are any JSON', () => {
    expectTypeOf<InputOf<typeof plain>>().toEqualTypeOf<JsonValue>()
    typesOnly((scheduler) => scheduler.enqueue(plain, { any: ['thing', 1, null] }))
    // @ts-expect-error a Date is no JSON
    typesOnly((scheduler) => scheduler.enqueue(plain, { at: new Date() }))
    // @ts-expect-error neither is a function
    typesOnly((scheduler) => scheduler.enqueue(plain, () => 1))
  })

  test('that are wrong do not compile', () => {
    typesOnly((scheduler) => scheduler.enqueue(story, { genre: 'horror' }))
    // @ts-expect-error genre is missing
    typesOnly((scheduler) => scheduler.enqueue(story, {}))
    // @ts-expect-error genre is a text
    typesOnly((scheduler) => scheduler.enqueue(story, { genre: 7 }))
    // @ts-expect-error there is no such field
    typesOnly((scheduler) => scheduler.enqueue(story, { genre: 'a', gerne: 'b' }))
    // @ts-expect-error params are not optional
    typesOnly((scheduler) => scheduler.enqueue(story))
    // @ts-expect-error not even null
    typesOnly((scheduler) => scheduler.enqueue(story, null))
    // @ts-expect-error the same in the caller's transaction
    typesOnly((scheduler) => scheduler.enqueueSync({}, story, { genre: 7 }))
  })

  test('of a type known only by its name are anything', () => {
    typesOnly((scheduler) => scheduler.enqueue('story', { whatever: true }))
  })

  test('of follow-ups are checked in the handler', () => {
    defineJob({
      type: 'parent',
      run: async ({ enqueue }) => {
        expectTypeOf(await enqueue(story, { genre: 'a' })).toEqualTypeOf<string>()
        // @ts-expect-error genre is a text
        await enqueue(story, { genre: 7 }).catch(() => {})
        // @ts-expect-error there is no such option
        await enqueue(story, { genre: 'a' }, { prio: 1 }).catch(() => {})
      },
    })
  })
})

describe('options', () => {
  test('of a job type that nobody knows do not compile', () => {
    // @ts-expect-error `retires` is misspelt
    typesOnly(() => defineJob({ type: 'a', run: () => null, retires: { maxRetries: 1 } }))
    // @ts-expect-error `maxAttempts` is no option of retry
    typesOnly(() => defineJob({ type: 'a', run: () => null, retry: { maxAttempts: 1 } }))
    // @ts-expect-error there is no such backoff
    typesOnly(() => defineJob({ type: 'a', run: () => null, retry: { backoff: { kind: 'linear' } } }))
    // @ts-expect-error an exponential backoff needs its base
    typesOnly(() => defineJob({ type: 'a', run: () => null, retry: { backoff: { kind: 'exponential' } } }))
    // @ts-expect-error a closure cannot move to another process
    typesOnly(() => defineJob({ type: 'a', run: () => null, isolation: 'process' }))
    // @ts-expect-error a module needs an isolation
    typesOnly(() => defineJob({ type: 'a', module: new URL('file:///a.js') }))
    // @ts-expect-error a command is a list, never a shell line
    typesOnly(() => defineJob({ type: 'a', command: 'rm -rf /' }))
    // @ts-expect-error one of run, module and command
    typesOnly(() => defineJob({ type: 'a' }))
    // @ts-expect-error the type is a text
    typesOnly(() => defineJob({ type: 7, run: () => null }))
    // @ts-expect-error params need a schema
    typesOnly(() => defineJob({ type: 'a', params: { genre: 'string' }, run: () => null }))
  })

  test('of a scheduler that nobody knows do not compile', () => {
    const store = sqlite(':memory:')
    // @ts-expect-error `job` is misspelt
    typesOnly(() => openScheduler({ store, job: [story] }))
    // @ts-expect-error a store is needed
    typesOnly(() => openScheduler({ jobs: [story] }))
    // @ts-expect-error a path is no store
    typesOnly(() => openScheduler({ store: 'pawl.db' }))
    // @ts-expect-error a handler is no job type
    typesOnly(() => openScheduler({ store, jobs: [() => null] }))
    // @ts-expect-error permits are numbers
    typesOnly(() => openScheduler({ store, resources: { gpu: 'one' } }))
    // @ts-expect-error the kit has the same options
    typesOnly(() => openTestScheduler({ concurency: 2 }))
    // @ts-expect-error there is no such durability
    typesOnly(() => sqlite('pawl.db', { durability: 'none' }))
    // @ts-expect-error nor such an option
    typesOnly(() => sqlite('pawl.db', { readonly: true }))
  })

  test('of a Job that nobody knows do not compile', () => {
    // @ts-expect-error `prio` is no option
    typesOnly((scheduler) => scheduler.enqueue(story, { genre: 'a' }, { prio: 1 }))
    // @ts-expect-error a priority is a number
    typesOnly((scheduler) => scheduler.enqueue(story, { genre: 'a' }, { priority: 'high' }))
    // @ts-expect-error the same in a list
    typesOnly((scheduler) => scheduler.enqueueMany([{ type: story, params: { genre: 'a' }, prio: 1 }]))
    // @ts-expect-error the same in the caller's transaction
    typesOnly((scheduler) => scheduler.enqueueSync({}, story, { genre: 'a' }, { prio: 1 }))
    // @ts-expect-error there is no such mode
    typesOnly((scheduler) => scheduler.cancel('id', { mode: 'kill' }))
    // @ts-expect-error there is no such place
    typesOnly((scheduler) => scheduler.move('id', { to: 'top' }))
    // @ts-expect-error a status is one of four
    typesOnly((scheduler) => scheduler.listJobs({ status: 'DONE' }))
    // @ts-expect-error how old?
    typesOnly((scheduler) => scheduler.prune({}))
  })
})

describe('results', () => {
  test('are what the handler returns, without the promise and without a skip', () => {
    expectTypeOf<ResultOf<typeof story>>().toEqualTypeOf<{ file: string; words: number }>()
    const sometimes = defineJob({
      type: 'sometimes',
      run: ({ attempt, skip }) => (attempt > 1 ? skip('enough') : { attempt }),
    })
    expectTypeOf<ResultOf<typeof sometimes>>().toEqualTypeOf<{ attempt: number }>()
    const later = defineJob({
      type: 'later',
      run: async ({ attempt, skip }) => (attempt > 1 ? skip('enough') : [attempt]),
    })
    expectTypeOf<ResultOf<typeof later>>().toEqualTypeOf<number[]>()
  })

  test('reach the caller through `settled()`', () => {
    typesOnly(async (scheduler) => {
      const handle = await scheduler.enqueue(story, { genre: 'a' })
      expectTypeOf(handle).toEqualTypeOf<JobHandle<{ file: string; words: number }>>()
      const settled = await handle.settled()
      expectTypeOf(settled).toEqualTypeOf<Settled<{ file: string; words: number }>>()
      expectTypeOf(settled.result).toEqualTypeOf<{ file: string; words: number } | null>()
      if (settled.outcome === 'COMPLETED') {
        expectTypeOf(settled.result).toEqualTypeOf<{ file: string; words: number }>()
        expectTypeOf(settled.error).toEqualTypeOf<null>()
        // @ts-expect-error there is no such field
        void settled.result.pages
        // @ts-expect-error words is a number
        void settled.result.words.toUpperCase()
      } else {
        expectTypeOf(settled.result).toEqualTypeOf<null>()
        expectTypeOf(settled.error).toEqualTypeOf<string | null>()
      }
    })
  })

  test('of a type known only by its name are unknown', () => {
    typesOnly(async (scheduler) => {
      const handle = await scheduler.enqueue('story', {})
      expectTypeOf(handle).toEqualTypeOf<JobHandle<unknown>>()
    })
  })

  test('may be typed by an interface, nested, optional, or a union', () => {
    interface Page {
      readonly title: string
      readonly subtitle?: string
      readonly lines: readonly (string | null)[]
    }
    interface Book {
      pages: Page[]
      kind: 'novel' | 'poem'
      extra: { [name: string]: number | undefined }
    }
    const book = defineJob({ type: 'book', run: (): Book => ({ pages: [], kind: 'poem', extra: {} }) })
    expectTypeOf<ResultOf<typeof book>>().toEqualTypeOf<Book>()
    const found = defineJob({ type: 'found', run: async (): Promise<Book | null> => null })
    expectTypeOf<ResultOf<typeof found>>().toEqualTypeOf<Book | null>()
    const tuple = defineJob({ type: 'tuple', run: (): [string, number] => ['a', 1] })
    expectTypeOf<ResultOf<typeof tuple>>().toEqualTypeOf<[string, number]>()
    defineJob({ type: 'anything', run: (): unknown => null })
    defineJob({ type: 'json', run: (): JsonValue => null })
    defineJob({ type: 'nothing', run: async () => {} })
  })

  test('that JSON loses or breaks do not compile', () => {
    // @ts-expect-error a function
    typesOnly(() => defineJob({ type: 'a', run: () => () => 1 }))
    // @ts-expect-error a Date comes back as a text
    typesOnly(() => defineJob({ type: 'a', run: () => new Date() }))
    // @ts-expect-error the same in a promise
    typesOnly(() => defineJob({ type: 'a', run: async () => new Date() }))
    // @ts-expect-error a bigint
    typesOnly(() => defineJob({ type: 'a', run: () => 10n }))
    // @ts-expect-error a Map comes back empty
    typesOnly(() => defineJob({ type: 'a', run: () => new Map([['a', 1]]) }))
    // @ts-expect-error a Set, too
    typesOnly(() => defineJob({ type: 'a', run: () => new Set([1]) }))
    // @ts-expect-error a symbol
    typesOnly(() => defineJob({ type: 'a', run: () => Symbol('a') }))
    // @ts-expect-error deep inside
    typesOnly(() => defineJob({ type: 'a', run: () => ({ list: [{ at: new Date() }] }) }))
    // @ts-expect-error in one branch of several
    typesOnly(() => defineJob({ type: 'a', run: ({ attempt }) => (attempt > 1 ? { ok: true } : { at: new Date() }) }))
    // @ts-expect-error with a schema as well
    typesOnly(() => defineJob({ type: 'a', params: z.string(), run: () => ({ at: new Date() }) }))
    // @ts-expect-error an object with methods
    typesOnly(() => defineJob({ type: 'a', run: () => new URL('https://example.org') }))
  })
})

describe('lists', () => {
  test('of enqueueMany give one handle per item, each with its own result', () => {
    typesOnly(async (scheduler) => {
      const handles = await scheduler.enqueueMany([
        { type: story, params: { genre: 'a' }, priority: 1 },
        { type: silent, params: 'text' },
        { type: 'story', params: { whatever: true } },
      ])
      expectTypeOf(handles).toEqualTypeOf<
        [JobHandle<{ file: string; words: number }>, JobHandle<void>, JobHandle<unknown>]
      >()
    })
  })

  test('may be of one type and any length', () => {
    typesOnly(async (scheduler) => {
      const handles = await scheduler.enqueueMany(['a', 'b'].map((genre) => ({ type: story, params: { genre } })))
      expectTypeOf(handles).toEqualTypeOf<JobHandle<{ file: string; words: number }>[]>()
    })
  })

  test('check each item against its own type', () => {
    typesOnly((scheduler) =>
      scheduler.enqueueMany([
        { type: story, params: { genre: 'a' } },
        // @ts-expect-error silent takes a text
        { type: silent, params: { genre: 'a' } },
      ]),
    )
    // @ts-expect-error params are missing
    typesOnly((scheduler) => scheduler.enqueueMany([{ type: story }]))
  })

  test('of job types may be mixed', () => {
    expectTypeOf<typeof story>().toExtend<AnyJobType>()
    expectTypeOf<typeof silent>().toExtend<AnyJobType>()
    const jobs: AnyJobType[] = [story, silent, plain]
    typesOnly(() => openScheduler({ store: sqlite(':memory:'), jobs }))
  })
})

describe('events', () => {
  test('have the type of their kind', () => {
    typesOnly((scheduler) => {
      scheduler.on('job.finished', (event) => expectTypeOf(event).toEqualTypeOf<Transition>())
      scheduler.on('node.recovered', ({ stats }) => expectTypeOf(stats.errors).toEqualTypeOf<readonly string[]>())
      scheduler.on('run.late', ({ ended }) =>
        expectTypeOf(ended).toEqualTypeOf<'returned' | 'skipped' | 'threw' | 'died'>(),
      )
      // @ts-expect-error there is no such event
      scheduler.on('job.done', () => {})
    })
    typesOnly(async (scheduler) => {
      const handle = await scheduler.enqueue(story, { genre: 'a' })
      handle.onProgress((progress) => expectTypeOf(progress).toEqualTypeOf<Progress>())
    })
  })
})
