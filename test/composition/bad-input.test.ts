// What is wrong with dependencies and groups is refused at the door with a code and a sentence, and nothing is stored.
import { defineJob, openScheduler, PawlError, type Scheduler } from 'pawl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { newStore } from '../stores/package-stores.ts'

const step = defineJob({ type: 'step', params: z.string(), run: () => null })
const MISSING = '01900000-0000-7000-8000-000000000000'

let scheduler: Scheduler

beforeEach(async () => {
  scheduler = await openScheduler({ store: newStore(), jobs: [step] })
})

afterEach(async () => {
  expect((await scheduler.listJobs()).items).toEqual([])
  expect((await scheduler.groups.list()).items).toEqual([])
  await scheduler.close()
})

async function refusal(call: Promise<unknown>): Promise<PawlError> {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect.assert(error instanceof PawlError, `refused with a PawlError, not ${String(error)}`)
  return error
}

const item = (more: object = {}) => ({ type: step, params: 'a', ...more })

describe('enqueue', () => {
  test.for([
    ['a text', 'id'],
    ['a number', 7],
    ['null', null],
    ['a list of numbers', [7]],
    ['a list with an empty text', ['']],
    ['a list with a hole', [undefined]],
    ['1,001 parents', Array.from({ length: 1_001 }, (_, index) => `id ${index}`)],
    ['a text with U+0000', ['a\u0000b']],
  ] as const)('refuses %s as `dependsOn`', async ([, dependsOn]) => {
    const error = await refusal(scheduler.enqueue(step, 'a', { dependsOn: dependsOn as never }))
    expect(error).toMatchObject({ code: 'invalid_option', path: expect.stringMatching(/^dependsOn/) })
    expect(error.message.length).toBeLessThan(1_000)
  })

  test('refuses another word as `onParentFailure`', async () => {
    for (const word of ['skip', '', 1, {}]) {
      const error = await refusal(scheduler.enqueue(step, 'a', { onParentFailure: word as never }))
      expect(error).toMatchObject({ code: 'invalid_option', path: 'onParentFailure' })
    }
  })

  test('refuses a parent that does not exist', async () => {
    const error = await refusal(scheduler.enqueue(step, 'a', { dependsOn: [MISSING] }))
    expect(error).toMatchObject({ code: 'parent_not_found', path: 'dependsOn', details: { jobId: MISSING } })
  })
})

describe('enqueueMany', () => {
  test('refuses a local name that is given twice, or wrong, or unknown', async () => {
    const wrong: [object[], string][] = [
      [[item({ ref: 'a' }), item({ ref: 'a' })], 'jobs.1.ref'],
      [[item({ ref: '' })], 'jobs.0.ref'],
      [[item({ ref: 7 })], 'jobs.0.ref'],
      [[item({ ref: 'a'.repeat(129) })], 'jobs.0.ref'],
      [[item({ ref: 'a' }), item({ dependsOn: ['#b'] })], 'jobs.1.dependsOn'],
    ]
    for (const [list, path] of wrong) {
      expect(await refusal(scheduler.enqueueMany(list as never))).toMatchObject({ code: 'invalid_option', path })
    }
  })

  test('refuses the whole list for one unknown parent, and says which', async () => {
    const error = await refusal(scheduler.enqueueMany([item(), item({ dependsOn: [MISSING] })]))
    expect(error).toMatchObject({ code: 'parent_not_found', path: 'jobs.1.dependsOn', details: { index: 1 } })
  })

  test('refuses a Job that would wait for itself by way of a repeated key', async () => {
    const error = await refusal(
      scheduler.enqueueMany([
        item({ ref: 'c', idempotencyKey: 'k', dependsOn: ['#b'] }),
        item({ ref: 'b', dependsOn: ['#a'] }),
        item({ ref: 'a', idempotencyKey: 'k' }),
      ]),
    )
    expect(error.code).toBe('dependency_cycle')
  })
})

describe('enqueueGraph', () => {
  test.for([
    ['that depends on itself', { a: ['a'] }, 'a → a'],
    ['of two', { a: ['b'], b: ['a'] }, 'a → b → a'],
    ['behind a line', { a: ['b'], b: ['c'], c: ['d'], d: ['c'] }, 'c → d → c'],
    ['of four', { a: ['d'], b: ['a'], c: ['b'], d: ['c'] }, 'a → d → c → b → a'],
  ] as const)('refuses a cycle %s, with its path', async ([, edges, cycle]) => {
    const graph = Object.fromEntries(Object.entries(edges).map(([name, dependsOn]) => [name, item({ dependsOn })]))
    const error = await refusal(scheduler.enqueueGraph(graph as never))
    expect(error).toMatchObject({ code: 'dependency_cycle', details: { cycle } })
    expect(error.message).toContain(cycle)
  })

  test('refuses a cycle of 10,000, at once and with a message that can be read', async () => {
    const graph = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, index) => [
        `job ${index}`,
        item({ dependsOn: [`job ${(index + 1) % 10_000}`] }),
      ]),
    )
    const error = await refusal(scheduler.enqueueGraph(graph as never))
    expect(error.code).toBe('dependency_cycle')
    expect(error.message.length).toBeLessThan(10_000)
  })

  test('refuses more than 10,000 Jobs', async () => {
    const graph = Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`job ${index}`, item()]))
    expect(await refusal(scheduler.enqueueGraph(graph))).toMatchObject({ code: 'invalid_option' })
  })

  test('refuses what is no graph', async () => {
    for (const graph of [null, undefined, 7, 'a', [], [item()], { a: null }, { a: 7 }, { a: {} }, { '': item() }]) {
      expect(await refusal(scheduler.enqueueGraph(graph as never))).toBeInstanceOf(PawlError)
    }
  })

  test('says by name which Job is wrong', async () => {
    const wrong: [object, string][] = [
      [{ first: item(), second: item({ dependsOn: 'first' }) }, 'second.dependsOn'],
      [{ first: item(), second: item({ dependsOn: [7] }) }, 'second.dependsOn.0'],
      [{ first: item(), second: item({ priority: 'high' }) }, 'second.priority'],
      [{ first: item(), second: item({ colour: 'red' }) }, 'second.colour'],
      [{ first: item(), second: item({ dependsOn: ['third'] }) }, 'second.dependsOn'],
    ]
    for (const [graph, path] of wrong) {
      const error = await refusal(scheduler.enqueueGraph(graph as never))
      expect(error.path).toBe(path)
      expect(error.message).toContain('`second`')
    }
  })

  test('of nothing is nothing', async () => {
    expect(await scheduler.enqueueGraph({})).toEqual({})
  })
})

describe('groups', () => {
  test('refuses a group without members, or what is none', async () => {
    for (const options of [undefined, null, 7, {}, { jobs: null }, { jobs: 'a' }, { jobs: [] }, { jobs: {} }]) {
      const error = await refusal(scheduler.groups.create(options as never))
      expect(error).toMatchObject({ code: 'invalid_option' })
    }
    const error = await refusal(scheduler.groups.create({ jobs: [] }))
    expect(error.path).toBe('jobs')
  })

  test('refuses wrong and unknown options, by name', async () => {
    const wrong: [object, string][] = [
      [{ mode: 'serial' }, 'mode'],
      [{ mode: 1 }, 'mode'],
      [{ onFailure: 'cancel' }, 'onFailure'],
      [{ name: '' }, 'name'],
      [{ name: 7 }, 'name'],
      [{ name: 'a'.repeat(513) }, 'name'],
      [{ createdBy: 'a\u0000' }, 'createdBy'],
      [{ colour: 'red' }, 'colour'],
    ]
    for (const [options, path] of wrong) {
      const error = await refusal(scheduler.groups.create({ jobs: [item()], ...options } as never))
      expect(error).toMatchObject({ code: 'invalid_option', path })
    }
  })

  test('refuses the group for one wrong member, and says which', async () => {
    const wrong: [object, string, string][] = [
      [item({ params: 7 }), 'invalid_params', 'jobs.1.'],
      [{ type: 'nobody-knows', params: null }, 'unknown_type', 'jobs.1'],
      [item({ idempotencyKey: 'k' }), 'invalid_option', 'jobs.1.idempotencyKey'],
      [item({ dependsOn: [MISSING] }), 'parent_not_found', 'jobs.1.dependsOn'],
      [null as never, 'invalid_option', 'jobs.1'],
    ]
    for (const [member, code, path] of wrong) {
      const error = await refusal(scheduler.groups.create({ jobs: [item(), member] as never }))
      expect(error).toMatchObject({ code, path: expect.stringContaining(path) })
    }
  })

  test('refuses a member of a sequential group that depends on a later one', async () => {
    const jobs = [item({ dependsOn: ['#last'] }), item(), item({ ref: 'last' })]
    const error = await refusal(scheduler.groups.create({ mode: 'sequential', jobs }))
    expect(error).toMatchObject({ code: 'dependency_cycle', path: 'jobs.0.dependsOn' })
  })

  test('refuses members that depend on each other in a circle', async () => {
    const jobs = [item({ ref: 'a', dependsOn: ['#b'] }), item({ ref: 'b', dependsOn: ['#a'] })]
    expect(await refusal(scheduler.groups.create({ jobs }))).toMatchObject({ code: 'dependency_cycle' })
  })

  test('knows no group that nobody made', async () => {
    const { groups } = scheduler
    const calls = [() => groups.get(MISSING), () => groups.cancel(MISSING), () => groups.settled(MISSING)]
    for (const call of calls) expect(await refusal(call())).toMatchObject({ code: 'group_not_found' })
    for (const id of [undefined, null, 7, '']) {
      expect((await refusal(groups.get(id as never))).code).toMatch(/^(invalid_option|group_not_found)$/)
    }
  })

  test('refuses wrong options of a cancellation and of a list', async () => {
    const { groups } = scheduler
    const calls = [
      () => groups.cancel(MISSING, { mode: 'softly' as never }),
      () => groups.cancel(MISSING, { colour: 'red' } as never),
      () => groups.list({ limit: 0 }),
      () => groups.list({ limit: 1.5 }),
      () => groups.list({ colour: 'red' } as never),
    ]
    for (const call of calls) expect(await refusal(call())).toMatchObject({ code: 'invalid_option' })
  })

  test('refuses everything when the scheduler is closed', async () => {
    const closed = await openScheduler({ store: newStore(), jobs: [step] })
    await closed.close()
    const calls = [
      () => closed.groups.create({ jobs: [item()] }),
      () => closed.groups.get(MISSING),
      () => closed.groups.list(),
      () => closed.enqueueGraph({ a: item() }),
    ]
    for (const call of calls) expect(await refusal(call())).toMatchObject({ code: 'closed' })
  })
})

describe('retry', () => {
  test('refuses `dependents` that is no yes or no', async () => {
    for (const dependents of ['yes', 1, null]) {
      const error = await refusal(scheduler.retry(MISSING, { dependents: dependents as never }))
      expect(error).toMatchObject({ code: 'invalid_option', path: 'dependents' })
    }
  })
})
