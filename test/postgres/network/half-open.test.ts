// What takes long: the server, or the way to it, is away for longer than others wait before they take a node for dead. The
// tests run together, because all they do is wait.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { JobHandle } from '../../../src/library/job-handle.ts'
import type { Scheduler } from '../../../src/library/scheduler.ts'
import { startProxy } from '../../../torture/servers/proxy.ts'
import { type PostgresServer, startServer } from '../../../torture/servers/server.ts'
import { newSchema, postgresPool, postgresUrl } from '../schemas.ts'
import { attemptsOf, isSound, type NodeProcess, openObserver, startNode } from './nodes.ts'

/** After this others take a node for dead that they see, and that does not beat. */
const LEASE_MS = 15_000
const FAILOVER_MS = 30_000
/** A statement that is not answered is given up after this. */
const STATEMENT_PATIENCE_MS = 30_000
const TIMEOUT = { timeout: 120_000 }
const PATIENCE = { timeout: 60_000, interval: 50 }

const CANNOT_PROVE = 'This node cannot prove to others that it lives; until it can, it claims nothing'
const PROVES_AGAIN = 'This node can prove again that it lives; it goes on'
const TAKEN_FOR_DEAD = 'This node was taken for dead; it registers anew'

/** Waits until so much time has gone by since then. That it does is what these tests are about. */
async function hasGoneBy(ms: number, sinceMs: number): Promise<void> {
  await vi.waitFor(() => expect(performance.now() - sinceMs).toBeGreaterThanOrEqual(ms), {
    timeout: ms + 10_000,
    interval: 100,
  })
}

describe.concurrent('a server that is away for half a minute', () => {
  const schema = 'failover'
  let server: PostgresServer
  let observer: Scheduler

  beforeAll(async () => {
    server = await startServer()
    observer = await openObserver(server, schema)
  }, 60_000)

  afterAll(async () => {
    await observer.close()
    await server.remove()
  })

  test('makes nobody take anybody for dead, and the results of all bodies stand', TIMEOUT, async () => {
    await using proxyOfA = await startProxy(server)
    await using proxyOfB = await startProxy(server)
    const jobs: { readonly params: string; readonly by: string; readonly handle: JobHandle }[] = []
    const startFilled = async (name: string, url: string): Promise<NodeProcess> => {
      const node = await startNode({ url, schema, name, options: { concurrency: 2 } })
      // Whoever was there before has no place for these.
      for (const params of [`${name} meanwhile`, `${name} afterwards`]) {
        jobs.push({ params, by: name, handle: await observer.enqueue('wait', params) })
        await node.tells({ begun: `${params} 1` })
      }
      return node
    }
    const a = await startFilled('a', proxyOfA.url)
    const b = await startFilled('b', proxyOfB.url)
    await server.stop('immediate')
    const stoppedAt = performance.now()
    for (const node of [a, b]) await node.tells({ warned: CANNOT_PROVE })
    a.order('go a meanwhile')
    b.order('go b meanwhile')
    await hasGoneBy(FAILOVER_MS, stoppedAt)
    // One is back before the other, looks, and sees a number that has not changed for half a minute.
    proxyOfB.refuse()
    await server.start()
    await a.tells({ info: PROVES_AGAIN })
    for (let looks = 0; looks < 3; looks++) await proxyOfA.hears(/select beat from "failover"\.lives/)
    proxyOfB.heal()
    await b.tells({ info: PROVES_AGAIN })
    a.order('go a afterwards')
    b.order('go b afterwards')

    for (const { params, by, handle } of jobs) {
      const settled = await vi.waitFor(() => observer.settled(handle.jobId), PATIENCE)
      expect(settled).toMatchObject({ outcome: 'COMPLETED', result: `done ${params} by ${by}`, attempts: 1 })
    }
    for (const node of [a, b]) {
      node.isWell()
      expect(node.all('recovered')).toEqual([])
      expect(node.all('late')).toEqual([])
      expect(node.all('warned')).not.toContain(TAKEN_FOR_DEAD)
    }
    expect((await observer.listNodes()).map(({ name }) => name).sort()).toEqual(['a', 'b'])
    await isSound(server, schema)
  })
})

describe.concurrent('a way to the server that is half-open', () => {
  const direct = { url: postgresUrl() }

  test('for longer than the lease: others take over, late outcomes are refused, and the node registers anew', {
    ...TIMEOUT,
  }, async () => {
    const schema = newSchema()
    await using proxy = await startProxy(direct)
    await using observer = await openObserver(direct, schema)
    const cut = await startNode({ url: proxy.url, schema, name: 'cut' })
    const holder = await observer.enqueue('holder', 'holder')
    const free = await observer.enqueue('wait', 'free')
    for (const params of ['holder', 'free']) await cut.tells({ begun: `${params} 1` })
    const other = await startNode({ url: direct.url, schema, name: 'other' })
    proxy.freeze()
    const frozenAt = performance.now()
    await cut.tells({ aborted: 'holder 1' })
    // Before others may take over what it held; and what holds nothing goes on.
    expect(performance.now() - frozenAt).toBeLessThan(LEASE_MS)
    expect(cut.all('aborted')).toEqual(['holder 1'])
    await other.tells({ recovered: 'cut' })
    expect(performance.now() - frozenAt).toBeLessThan(25_000)
    for (const params of ['holder', 'free']) await other.tells({ begun: `${params} 2` })

    cut.order('go free')
    await cut.tells({ ended: 'free 1' })
    proxy.heal()
    await cut.tells({ late: free.jobId })
    await cut.tells({ warned: TAKEN_FOR_DEAD })
    for (const params of ['holder', 'free']) other.order(`go ${params}`)
    for (const [job, params] of [
      [holder, 'holder'],
      [free, 'free'],
    ] as const) {
      expect(await job.settled()).toMatchObject({ outcome: 'COMPLETED', result: `done ${params} by other` })
      expect(await attemptsOf(observer, job.jobId)).toEqual(['FAILED crash', 'COMPLETED'])
    }
    // It is one of them again, and works.
    expect((await observer.listNodes()).map(({ name }) => name).sort()).toEqual(['cut', 'other'])
    await observer.enqueueMany(Array.from({ length: 10 }, (_, number) => ({ type: 'wait', params: `after ${number}` })))
    await vi.waitFor(
      () => expect(cut.all('begun').filter((one) => String(one).startsWith('after'))).toHaveLength(5),
      PATIENCE,
    )
    for (const node of [cut, other]) node.isWell()
    await isSound(direct, schema)
  })

  test('for good: it is noticed within the patience of a statement, and the node goes on by new connections', {
    ...TIMEOUT,
  }, async () => {
    const schema = newSchema()
    await using proxy = await startProxy(direct)
    await using observer = await openObserver(direct, schema)
    const node = await startNode({ url: proxy.url, schema, name: 'node' })
    const [free, holder] = await observer.enqueueMany([
      { type: 'wait', params: 'free' },
      { type: 'holder', params: 'holder' },
    ])
    for (const params of ['free', 'holder']) await node.tells({ begun: `${params} 1` })
    const beats = () => postgresPool().query<{ beat: string }>(`select beat from "${schema}".lives`)
    const beat = async () => Number((await beats()).rows[0]?.beat)
    await vi.waitFor(async () => expect(await beat()).toBeGreaterThan(1), PATIENCE)
    const before = await beat()
    const lookForNodes = new RegExp(`from "${schema}"\\.nodes\\s+where ended_at is null`)
    await proxy.hears(lookForNodes)
    // In the middle of that look, when only the end of its transaction has no answer yet.
    await proxy.silenceAt(/^commit$/)
    const silentAt = performance.now()
    node.order('go free')
    const later = await observer.enqueue('quick', 'later')
    // Its heart tries another connection early enough, so that nothing has to stop.
    await vi.waitFor(async () => expect(await beat()).toBeGreaterThan(before + 1), PATIENCE)

    for (const job of [free, later]) expect(await job?.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 1 })
    await proxy.hears(lookForNodes)
    expect(performance.now() - silentAt).toBeLessThan(STATEMENT_PATIENCE_MS + 30_000)
    node.order('go holder')
    expect(await holder?.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 1 })
    expect(node.all('aborted')).toEqual([])
    node.isWell()
    await isSound(direct, schema)
  })

  test('does not keep a node from being closed, nor its process from ending', TIMEOUT, async () => {
    const schema = newSchema()
    await using proxy = await startProxy(direct)
    await using observer = await openObserver(direct, schema)
    const node = await startNode({ url: proxy.url, schema, name: 'node', options: { shutdownTimeoutMs: 0 } })
    await observer.enqueue('wait', 'left')
    await node.tells({ begun: 'left 1' })
    proxy.freeze()
    const askedAt = performance.now()
    node.order('close')
    await node.tells({ closed: true }, 80_000)
    expect(await node.exited).toBe(0)
    expect(performance.now() - askedAt).toBeLessThan(STATEMENT_PATIENCE_MS + 30_000)
    expect(node.all('unhandled')).toEqual([])
  })
})
