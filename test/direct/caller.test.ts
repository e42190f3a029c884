// The caller’s side: what keeps a ticket alive, what ends the wait, and the life of a scheduler that only waits.
import { defineJob, openScheduler, type Store } from 'pawl'
import { onFaultPoint, SettableClock } from 'pawl/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { listeningLogger, newGate, newSharedStore, newStore, openTestScheduler, refusalOf } from '../lifecycle/stage.ts'
import { PATIENCE } from '../recovery/processes.ts'

afterEach(() => onFaultPoint(null))

/** One place, taken until the gate opens. */
async function openBusyStage() {
  const gate = newGate()
  const begun: unknown[] = []
  const work = defineJob({
    type: 'work',
    resources: ['gpu'],
    run: async ({ params }) => {
      begun.push(params)
      if (params === 'running') await gate.passed
      if (params === 'long') await new Promise<void>((resolve) => stage.clock.after(3_600_000, resolve))
      return params
    },
  })
  const place = newStore()
  const store = await place.open()
  const logger = listeningLogger()
  const source = { ...place, open: async () => store }
  const stage = await openTestScheduler({ store: source, jobs: [work], resources: { gpu: 1 }, concurrency: 2, logger })
  await stage.scheduler.enqueue(work, 'running')
  await stage.runUntilIdle()
  return { stage, store, scheduler: stage.scheduler, gate, begun, work, logger }
}

describe('a ticket', () => {
  test('is renewed every 15 seconds, all of a process together', async () => {
    const { stage, scheduler, gate, work } = await openBusyStage()
    const calls = ['a', 'b'].map((params) => scheduler.runDirect(work, params))
    const openedAt = stage.clock.now()
    const renewedAfter = async () =>
      (await scheduler.listReservations()).items.map(({ renewedAt }) => renewedAt - openedAt)
    await stage.advance('14s')
    expect(await renewedAfter()).toEqual([0, 0])
    await stage.advance('2s')
    expect(await renewedAfter()).toEqual([15_000, 15_000])
    await stage.advance('30s')
    expect(await renewedAfter()).toEqual([45_000, 45_000])
    gate.open()
    await Promise.all(calls)
    await stage.close()
  })

  test('survives a renewal that the store does not take', async () => {
    const { stage, scheduler, gate, work, logger } = await openBusyStage()
    const call = scheduler.runDirect(work, 'patient')
    await stage.advance('14s')
    onFaultPoint((point) => {
      if (point === 'store:before-commit') throw new Error('the disk is full')
    })
    await stage.advance('20s')
    onFaultPoint(null)
    expect(logger.told.map(({ message }) => message)).toContain(
      'Tickets could not be renewed; trying again before they expire',
    )
    await stage.advance('40s')
    gate.open()
    expect(await call).toMatchObject({ result: 'patient' })
    await stage.close()
  })

  test('that holds back a resource while its caller hangs stops doing so after a minute', async () => {
    const { stage, scheduler, store, gate, begun, work } = await openBusyStage()
    const other = { nodeId: 'other', name: 'other', host: 'h', pid: 1, concurrency: 1, startedAt: 0, claims: true }
    const life = await store.liveness.begin('other')
    await store.registerNode({ ...other, types: ['elsewhere'] })
    await openAbandonedTicket(store, stage.clock, 'elsewhere')
    await scheduler.enqueue(work, 'behind it')
    gate.open()
    await stage.advance('59s')
    expect(begun).toEqual(['running'])
    await stage.advance('10s')
    expect(begun).toEqual(['running', 'behind it'])
    expect((await scheduler.listReservations()).items).toMatchObject([{ status: 'EXPIRED', reason: 'expired' }])
    await life.end()
    await stage.close()
  })

  test('that has expired is told to its caller as such', async () => {
    const { stage, scheduler, store, gate, work } = await openBusyStage()
    const call = refusalOf(scheduler.runDirect(work, 'lost'))
    await stage.runUntilIdle()
    expect(await store.expireTickets(stage.clock.now() + 1, stage.clock.now())).toBe(1)
    expect(await call).toMatchObject({ code: 'direct_expired' })
    gate.open()
    await stage.close()
  })

  test('that is served in the moment of its timeout is waited for to its end', async () => {
    const { stage, scheduler, store, gate, begun, work } = await openBusyStage()
    const call = scheduler.runDirect(work, 'long', { waitTimeoutMs: 10_000 })
    await stage.runUntilIdle()
    const release = store.releaseTicket.bind(store)
    vi.spyOn(store, 'releaseTicket').mockImplementation(async (...request) => {
      // The place comes free between the timer and the write.
      gate.open()
      await vi.waitFor(() => expect(begun).toContain('long'), PATIENCE)
      return release(...request)
    })
    await stage.advance('1m')
    expect((await scheduler.listReservations()).items).toMatchObject([{ status: 'RUNNING' }])
    await stage.advance('1h')
    expect(await call).toMatchObject({ result: 'long' })
    await stage.close()
  })
})

/** A ticket whose caller is a living node that never renews it. */
async function openAbandonedTicket(store: Store, clock: SettableClock, type: string): Promise<void> {
  const [node] = await store.listNodes()
  const retry = { maxRetries: 0, maxCrashRetries: 0, backoff: { kind: 'none' } } as const
  const ticket = {
    reservationId: 'hanging',
    type,
    params: '"hanging"',
    policy: { retry, timeoutMs: null, resources: ['gpu'] },
    callerNodeId: node?.nodeId ?? '',
    createdBy: null,
    onBusy: 'wait',
  } as const
  expect(await store.openTicket(ticket, clock.now())).toBe('waiting')
}

describe('a scheduler that was never started', () => {
  /** A worker whose only place is taken until the gate opens, and a caller beside it. */
  async function openPair() {
    const store = newSharedStore()
    const gate = newGate()
    const work = defineJob({
      type: 'work',
      run: async ({ params }) => {
        if (params === 'running') await gate.passed
        return params
      },
    })
    const worker = await openScheduler({ store, jobs: [work], name: 'worker' })
    await worker.start()
    await worker.enqueue(work, 'running')
    await vi.waitFor(() => expect(worker.executing).toHaveLength(1), PATIENCE)
    const caller = await openScheduler({ store, jobs: [work], name: 'caller' })
    const nodes = async () => (await worker.listNodes()).map(({ name, claims }) => ({ name, claims }))
    const waiting = async (count: number) => {
      const read = async () => (await worker.listReservations({ status: 'WAITING' })).items
      await vi.waitFor(async () => expect(await read()).toHaveLength(count), PATIENCE)
    }
    return { worker, caller, work, gate, nodes, waiting }
  }
  const WORKER = { name: 'worker', claims: true }

  test('lives while it waits, and claims nothing; then it is gone, until it waits again', async () => {
    const { worker, caller, work, gate, nodes, waiting } = await openPair()
    expect(await nodes()).toEqual([WORKER])
    const calls = ['a', 'b'].map((params) => caller.runDirect(work, params))
    await waiting(2)
    expect(await nodes()).toEqual([WORKER, { name: 'caller', claims: false }])
    gate.open()
    expect((await Promise.all(calls)).map(({ result }) => result)).toEqual(['a', 'b'])
    expect(await nodes()).toEqual([WORKER])
    expect(await caller.runDirect(work, 'c')).toMatchObject({ result: 'c' })
    expect(await nodes()).toEqual([WORKER])
    await caller.close()
    await worker.close()
  })

  test('and starts while it waits stays when the wait is over', async () => {
    const { worker, caller, work, gate, nodes, waiting } = await openPair()
    const call = caller.runDirect(work, 'a', { waitTimeoutMs: 60_000 })
    await waiting(1)
    await caller.start()
    // It has a free place and a handler, so it serves its own ticket.
    expect(await call).toMatchObject({ result: 'a' })
    expect(await nodes()).toEqual([WORKER, { name: 'caller', claims: true }])
    await caller.stop()
    expect(await nodes()).toEqual([WORKER, { name: 'caller', claims: false }])
    gate.open()
    await caller.close()
    expect(await nodes()).toEqual([WORKER])
    await worker.close()
  })
})

test('a claim of a ticket whose answer is lost is ended by its own node, and the caller is told', async () => {
  const executed: unknown[] = []
  const work = defineJob({ type: 'work', run: ({ params }) => void executed.push(params) })
  await using stage = await openTestScheduler({ jobs: [work], logger: listeningLogger(), clock: new SettableClock() })
  onFaultPoint((point) => {
    if (point !== 'dispatcher:claimed') return
    onFaultPoint(null)
    throw new Error('the answer is lost')
  })
  const call = refusalOf(stage.scheduler.runDirect(work, 'lost'))
  await stage.runUntilIdle()
  expect(stage.scheduler.executingDirect).toEqual([])
  await stage.advance('10s')
  expect(await call).toMatchObject({ code: 'direct_failed', details: { reason: 'crash' } })
  expect(executed).toEqual([])
  expect(await stage.scheduler.runDirect(work, 'next')).toMatchObject({ result: null })
})

test('an outcome that the store cannot take is written when it can: the body runs once, and the caller gets it', async () => {
  const gate = newGate()
  let executions = 0
  const work = defineJob({
    type: 'work',
    run: async () => {
      executions++
      await gate.passed
      return 'the effect'
    },
  })
  await using stage = await openTestScheduler({ jobs: [work], logger: listeningLogger() })
  const call = stage.scheduler.runDirect(work, null)
  await stage.runUntilIdle()
  onFaultPoint((point) => {
    if (point === 'store:before-commit') throw Object.assign(new Error('disk full'), { errcode: 13, code: '53100' })
  })
  gate.open()
  await stage.advance('30s')
  expect((await stage.scheduler.listReservations()).items).toMatchObject([{ status: 'RUNNING' }])
  onFaultPoint(null)
  await stage.advance('1s')
  expect(await call).toMatchObject({ result: 'the effect' })
  expect(executions).toBe(1)
})
