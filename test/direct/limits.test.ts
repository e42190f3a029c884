// A ticket waits for the same permits as a Job, and holds back its own kind while it waits; never a place that it could not
// use yet.
import { defineJob } from 'pawl'
import { expect, test } from 'vitest'
import { type Gate, newGate, openTestScheduler, refusalOf } from '../lifecycle/stage.ts'

/** Types whose bodies end when they are told to, and the order in which they began. */
async function openStage(options: { readonly maxRunning?: number } = {}) {
  const begun: unknown[] = []
  const gates = new Map<string, Gate>()
  const gateOf = (name: string) => {
    const gate = gates.get(name) ?? newGate()
    gates.set(name, gate)
    return gate
  }
  const run = async ({ params }: { params: unknown }) => {
    begun.push(params)
    await gateOf(String(params)).passed
  }
  const plain = defineJob({ type: 'plain', run })
  const printing = defineJob({ type: 'printing', resources: ['printer'], run })
  const single = defineJob({ type: 'single', concurrency: 1, run })
  const both = defineJob({ type: 'both', resources: ['printer', 'ink'], run })
  const inky = defineJob({ type: 'inky', resources: ['ink'], run })
  const stage = await openTestScheduler({
    jobs: [plain, printing, single, both, inky],
    concurrency: 4,
    resources: { printer: 1, ink: 1 },
    ...options,
  })
  const letGo = async (...names: readonly string[]) => {
    for (const name of names) gateOf(name).open()
    await stage.runUntilIdle()
  }
  return { stage, scheduler: stage.scheduler, begun, letGo, plain, printing, single, both, inky }
}

test('a ticket waits for its resource, and no Job behind it gets the resource first', async () => {
  const { stage, scheduler, begun, letGo, printing, plain } = await openStage()
  await scheduler.enqueue(printing, 'running')
  await stage.runUntilIdle()
  const direct = scheduler.runDirect(printing, 'direct')
  await stage.runUntilIdle()
  await scheduler.enqueueMany([
    { type: printing, params: 'urgent', priority: 9 },
    { type: plain, params: 'plain' },
  ])
  await stage.runUntilIdle()
  expect(begun).toEqual(['running', 'plain'])
  await letGo('running')
  expect(begun).toEqual(['running', 'plain', 'direct'])
  await letGo('direct', 'urgent', 'plain')
  await direct
  expect(begun).toEqual(['running', 'plain', 'direct', 'urgent'])
  await stage.close()
})

test('what it needs besides is kept for it, too', async () => {
  const { stage, scheduler, begun, letGo, printing, both, inky } = await openStage()
  await scheduler.enqueue(printing, 'running')
  await stage.runUntilIdle()
  const direct = scheduler.runDirect(both, 'direct')
  await stage.runUntilIdle()
  await scheduler.enqueue(inky, 'inky')
  await stage.advance('1m')
  expect(begun).toEqual(['running'])
  await letGo('running', 'direct', 'inky')
  await direct
  expect(begun).toEqual(['running', 'direct', 'inky'])
  await stage.close()
})

test('a ticket waits for the limit of its type', async () => {
  const { stage, scheduler, begun, letGo, single } = await openStage()
  await scheduler.enqueueMany(['running', 'waiting'].map((params) => ({ type: single, params })))
  await stage.runUntilIdle()
  expect(await refusalOf(scheduler.runDirect(single, 'now', { onBusy: 'reject' }))).toMatchObject({
    code: 'direct_busy',
  })
  const direct = scheduler.runDirect(single, 'direct')
  await stage.runUntilIdle()
  await letGo('running', 'direct', 'waiting')
  await direct
  expect(begun).toEqual(['running', 'direct', 'waiting'])
  await stage.close()
})

test('a ticket waits for `maxRunning`, and is the next to run', async () => {
  const { stage, scheduler, begun, letGo, plain } = await openStage({ maxRunning: 1 })
  await scheduler.enqueueMany(['running', 'waiting'].map((params) => ({ type: plain, params })))
  await stage.runUntilIdle()
  expect(await refusalOf(scheduler.runDirect(plain, 'now', { onBusy: 'reject' }))).toMatchObject({
    code: 'direct_busy',
  })
  const direct = scheduler.runDirect(plain, 'direct')
  await stage.runUntilIdle()
  await letGo('running', 'direct', 'waiting')
  await direct
  expect(begun).toEqual(['running', 'direct', 'waiting'])
  await stage.close()
})

test('a ticket for a busy resource lets a later ticket for something else go ahead', async () => {
  const { stage, scheduler, begun, letGo, printing, plain } = await openStage()
  await scheduler.enqueue(printing, 'running')
  await stage.runUntilIdle()
  const calls = [scheduler.runDirect(printing, 'first'), scheduler.runDirect(plain, 'second')]
  await stage.runUntilIdle()
  expect(begun).toEqual(['running', 'second'])
  await letGo('running', 'first', 'second')
  await Promise.all(calls)
  await stage.close()
})

test('a ticket that is given back frees what it held back', async () => {
  const { stage, scheduler, begun, letGo, printing, both, inky } = await openStage()
  await scheduler.enqueue(printing, 'running')
  await stage.runUntilIdle()
  const call = refusalOf(scheduler.runDirect(both, 'direct', { waitTimeoutMs: 10_000 }))
  await stage.runUntilIdle()
  await scheduler.enqueue(inky, 'inky')
  await stage.advance('9s')
  expect(begun).toEqual(['running'])
  await stage.advance('1s')
  expect(begun).toEqual(['running', 'inky'])
  expect(await call).toMatchObject({ code: 'direct_wait_timeout' })
  await letGo('running', 'inky')
  await stage.close()
})
