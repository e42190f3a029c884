import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { encodeJson } from '../../dist/domain/json.js'
import type { BodyReporter } from '../../dist/engine/isolation/body.js'
import { processIsolation } from '../../dist/engine/isolation/process.js'
import { threadIsolation } from '../../dist/engine/isolation/thread.js'
import { HANDLER, stage } from './stage.ts'

// What holds for a handler wherever it runs.
describe.each([
  ['thread', threadIsolation],
  ['process', processIsolation],
])('a handler in a %s', (_name, isolationOf) => {
  const isolation = isolationOf({ module: HANDLER })

  test('gets its params, ids and the results of its parents', async () => {
    const params = { act: 'facts', list: [1, { a: null }] }
    const { ended } = stage(isolation, params, { parents: { 'j-0': { file: 'a.md' } } })
    expect(await ended).toEqual({
      kind: 'returned',
      value: { params, jobId: 'j-1', chainId: 'c-1', runId: 'r-1', attempt: 2, parents: { 'j-0': { file: 'a.md' } } },
      exitCode: null,
    })
  })

  test('without a return returns null', async () => {
    expect(await stage(isolation, { act: 'nothing' }).ended).toMatchObject({ kind: 'returned', value: null })
  })

  test('has the same result as in the own process, as JSON', async () => {
    const { ended } = stage(isolation, { act: 'richResult' })
    const value = { url: 'https://example.org/a', at: '1970-01-01T00:00:00.000Z', list: [1, null] }
    expect(await ended).toEqual({ kind: 'returned', value, exitCode: null })
  })

  test.each([
    ['cyclic', 'circular'],
    ['symbol', 'a symbol has no JSON form'],
  ])('with a result that JSON cannot hold (%s) returns a value that JSON refuses', async (act, message) => {
    const end = await stage(isolation, { act }).ended
    if (end.kind !== 'returned') expect.fail(JSON.stringify(end))
    expect(encodeJson(end.value, 1000)).toEqual({ kind: 'unserialisable', message: expect.stringContaining(message) })
  })

  test('that throws keeps name, message, stack and code', async () => {
    const end = await stage(isolation, { act: 'throw' }).ended
    if (end.kind !== 'threw') expect.fail(JSON.stringify(end))
    expect(end).toMatchObject({ retryable: true, exitCode: null })
    expect(end.error).toBeInstanceOf(Error)
    expect(end.error).toMatchObject({ name: 'RangeError', message: 'too far', code: 'E_FAR' })
    expect((end.error as Error).stack).toMatch(/too far[^]*handler\.mjs/)
  })

  test('that throws something else than an Error keeps its text', async () => {
    const end = await stage(isolation, { act: 'throwText' }).ended
    expect(end).toEqual({ kind: 'threw', error: 'just text', retryable: true, exitCode: null })
  })

  test('that gives up is not retryable', async () => {
    const end = await stage(isolation, { act: 'giveUp' }).ended
    expect(end).toMatchObject({ kind: 'threw', retryable: false, error: { name: 'NonRetryableError' } })
  })

  test('that skips has skipped', async () => {
    expect(await stage(isolation, { act: 'skip' }).ended).toEqual({ kind: 'skipped', reason: 'nothing to do' })
  })

  test('reports in order, before it ends', async () => {
    const { ended, said } = stage(isolation, { act: 'report' })
    await ended
    expect(said).toEqual([
      ['log', 'debug', 'one', undefined],
      ['log', 'info', 'two', { n: 2, at: '1970-01-01T00:00:00.000Z' }],
      ['log', 'warn', 'three', { unserialisable_fields: expect.stringContaining('BigInt') }],
      ['log', 'error', 'four', undefined],
      ['progress', 0.5, undefined],
      ['progress', 1, 'done'],
      ['artifact', '/tmp/out.md', undefined],
      ['artifact', '/tmp/b.md', 'b'],
    ])
  })

  test.each([-0.1, 1.1, Number.NaN, '0.5', null])('refuses the progress %j', async (fraction) => {
    const { ended, said } = stage(isolation, { act: 'progress', fraction })
    expect(await ended).toMatchObject({ kind: 'threw', error: { name: 'TypeError' } })
    expect(said).toEqual([])
  })

  test('enqueues a follow-up and learns its id', async () => {
    const { ended, said } = stage(isolation, { act: 'enqueue', mail: { to: 'a@b.c' } })
    expect(await ended).toMatchObject({ kind: 'returned', value: 'j-2' })
    expect(said).toEqual([['enqueue', 'mail', { to: 'a@b.c' }, { priority: 3 }]])
  })

  const refusing: BodyReporter = {
    log() {},
    progress() {},
    addArtifact() {},
    enqueue() {
      throw Object.assign(new Error('no type mail'), { name: 'PawlError', code: 'unknown_type' })
    },
  }

  test('learns why its follow-up was refused', async () => {
    const { ended } = stage(isolation, { act: 'enqueueRefused' }, { reporter: refusing })
    const value = { isError: true, name: 'PawlError', code: 'unknown_type', message: 'no type mail' }
    expect(await ended).toMatchObject({ kind: 'returned', value })
  })

  test('fails when a follow-up that it did not wait for is refused', async () => {
    const { ended } = stage(isolation, { act: 'enqueueCarelessly' }, { reporter: refusing })
    expect(await ended).toMatchObject({ kind: 'threw', error: { message: 'no type mail' } })
  })

  test('cannot enqueue params that cannot be cloned', async () => {
    const { ended, said } = stage(isolation, { act: 'enqueueUnclonable' })
    expect(await ended).toMatchObject({ kind: 'threw', error: { message: expect.stringContaining('be cloned') } })
    expect(said).toEqual([])
  })

  test.each([
    ['timeout', 'TimeoutError'],
    ['cancelled', 'AbortError'],
    ['shutdown', 'AbortError'],
  ] as const)('sees in its signal that it was interrupted: %s', async (cause, name) => {
    const { body, ended, hears } = stage(isolation, { act: 'heed' })
    await hears('waiting')
    body.interrupt(cause)
    body.interrupt('cancelled')
    expect(await ended).toMatchObject({ kind: 'returned', value: { name, cause, message: expect.any(String) } })
  })

  test.each(['loop', 'ignore'])('that does not heed the interrupt (%s) is killed after the grace', async (act) => {
    const { body, ended, hears } = stage(isolation, { act }, { killGraceMs: 20 })
    await hears(act === 'loop' ? 'looping' : 'waiting')
    body.interrupt('timeout')
    const message = expect.stringMatching(/was killed: it (did|had) not end/)
    expect(await ended).toEqual({ kind: 'died', message, exitCode: null })
  })

  test('that exits dies with that code', async () => {
    const message = expect.stringContaining('exited with code 3')
    expect(await stage(isolation, { act: 'exit', code: 3 }).ended).toEqual({ kind: 'died', message, exitCode: 3 })
  })

  test('that exits with code 0 without an answer has died, too', async () => {
    expect(await stage(isolation, { act: 'exit', code: 0 }).ended).toMatchObject({ kind: 'died', exitCode: 0 })
  })

  test('dies of an error that nobody catches', async () => {
    const message = expect.stringContaining('out of the blue')
    expect(await stage(isolation, { act: 'crashLater' }).ended).toEqual({ kind: 'died', message, exitCode: 1 })
  })

  test('has ended when it returned, whatever it left open', async () => {
    expect(await stage(isolation, { act: 'leaveOpen' }).ended).toMatchObject({ value: 'left a timer' })
  })

  test('may use the channel for messages of its own', async () => {
    expect(await stage(isolation, { act: 'speakForeign' }).ended).toMatchObject({ value: 'own words' })
  })

  test('may be a default export, of an absolute path', async () => {
    const module = fileURLToPath(new URL('./fixtures/default-export.mjs', import.meta.url))
    expect(await stage(isolationOf({ module }), { who: 'me' }).ended).toMatchObject({ value: 'default me' })
  })

  test('may be in a CommonJS module', async () => {
    const module = new URL('./fixtures/common-js.cjs', import.meta.url).href
    expect(await stage(isolationOf({ module }), { who: 'me' }).ended).toMatchObject({ value: 'common me' })
  })

  test.each([
    ['no-handler.mjs', 'export a function `run`'],
    ['missing.mjs', 'Cannot find module'],
  ])('cannot be in %s', async (file, message) => {
    const { ended } = stage(isolationOf({ module: new URL(`./fixtures/${file}`, import.meta.url) }), {})
    const error = { message: expect.stringContaining(message) }
    expect(await ended).toMatchObject({ kind: 'threw', retryable: true, error })
  })

  test.each(['./story.js', 'story', 'https://example.org/a.js', 'data:text/javascript,0'])(
    'cannot be in the module %s',
    (module) => expect(() => isolationOf({ module })).toThrow('Expected `module` to be a file: URL'),
  )

  test('does not begin when its params cannot be cloned, and is not tried again', async () => {
    const { ended } = stage(isolation, { act: 'nothing', callback: () => {} })
    const error = { message: expect.stringContaining('cannot be handed to another thread or process') }
    expect(await ended).toMatchObject({ kind: 'threw', retryable: false, error })
  })
})
