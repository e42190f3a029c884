// The server goes away and comes back. Processes go on by themselves, and none of them ends of it.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Scheduler } from '../../../src/library/scheduler.ts'
import type { PostgresServer } from '../../../torture/servers/server.ts'
import { startServer } from '../../../torture/servers/server.ts'
import { attemptsOf, isSound, listeners, type NodeProcess, openObserver, startNode } from './nodes.ts'

const SCHEMA = 'restarted'
const PATIENCE = { timeout: 30_000, interval: 20 }
const TIMEOUT = { timeout: 90_000 }

const ways: readonly [string, (server: PostgresServer) => Promise<void>][] = [
  ['in good order', (server) => server.stop('fast')],
  ['as if the power went', (server) => server.stop('immediate')],
  ['by a kill of its first process', (server) => server.kill()],
]

describe('a server that stops', () => {
  let server: PostgresServer
  let node: NodeProcess
  let observer: Scheduler

  beforeAll(async () => {
    server = await startServer()
    observer = await openObserver(server, SCHEMA)
    node = await startNode({ url: server.url, schema: SCHEMA, name: 'node', options: { shutdownTimeoutMs: 0 } })
  }, 60_000)

  afterAll(async () => {
    await observer.close()
    await server.remove()
  })

  test.each(ways)(
    '%s: a job that is executed meanwhile is finished, and others are heard again',
    TIMEOUT,
    async (...given) => {
      const [way, stop] = given
      const job = await persistently(() => observer.enqueue('wait', way))
      await node.tells({ begun: `${way} 1` })
      await stop(server)
      node.order(`go ${way}`)
      await node.tells({ ended: `${way} 1` })
      node.order(`enqueue ${way}`)
      const refused = await vi.waitFor(() => {
        const found = node.told.findLast((told) => told['refused'] !== undefined)
        expect(found?.['at']).toBeGreaterThan(Number(node.told.find((told) => told['ended'] === `${way} 1`)?.['at']))
        return found?.['refused']
      }, PATIENCE)
      expect(refused).toEqual({
        code: 'database_unavailable',
        // Its other processes may outlive the first one by a moment.
        message: expect.stringMatching(
          /^The (connection to the )?database postgres 127\.0\.0\.1:\d+\/postgres \(schema \w+\) (cannot be reached|was lost)/,
        ),
      })
      node.isWell()

      await server.start()
      expect(await persistently(() => observer.settled(job.jobId))).toMatchObject({
        outcome: 'COMPLETED',
        result: `done ${way} by node`,
        attempts: 1,
      })
      await hearsOthersAtOnce(way)
      node.isWell()
      await isSound(server, SCHEMA)
    },
  )

  /** The node, and this process, listen again. So jobs start without waiting for the next look. */
  async function hearsOthersAtOnce(way: string): Promise<void> {
    await vi.waitFor(async () => expect(await listeners(server, SCHEMA)).toHaveLength(2), PATIENCE)
    const STARTS = 10
    const begunAt = performance.now()
    for (let number = 0; number < STARTS; number++) {
      await observer.enqueue('quick', `${way} ${number}`)
      await node.tells({ begun: `${way} ${number} 1` })
    }
    // Looking once a second, it would need half a second for each.
    expect(performance.now() - begunAt).toBeLessThan(STARTS * 400)
  }

  test('while it is away, a node can be closed, and its process ends', TIMEOUT, async () => {
    const job = await observer.enqueue('wait', 'left')
    await node.tells({ begun: 'left 1' })
    await server.stop()
    const askedAt = performance.now()
    node.order('close')
    await node.tells({ closed: true })
    expect(await node.exited).toBe(0)
    // The outcome of the aborted body is tried to be written for some seconds.
    expect(performance.now() - askedAt).toBeLessThan(20_000)
    expect(node.all('unhandled')).toEqual([])

    await server.start()
    // It could not sign off. Others find it dead, and recover what it left.
    expect(await persistently(() => attemptsOf(observer, job.jobId))).toEqual(['open'])
    await isSound(server, SCHEMA)
  })
})

/** This process has connections too, which break. */
async function persistently<T>(call: () => Promise<T>): Promise<T> {
  return await vi.waitFor(call, PATIENCE)
}
