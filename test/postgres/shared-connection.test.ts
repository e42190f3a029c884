// Small commits that are under way at the same time go through one connection, behind each other.
import { Pool } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { Connection, TextCache } from '../../src/stores/postgres/connection.ts'
import { onClient, type PgPool } from '../../src/stores/postgres/pool.ts'
import { SharedConnection } from '../../src/stores/postgres/shared-connection.ts'
import { newGate } from '../lifecycle/stage.ts'
import { postgresUrl } from './schemas.ts'

const pool = new Pool({ connectionString: postgresUrl(), max: 4, pipeline: true } as object)
afterAll(() => pool.end())

const dialect = { schema: '"pawl"', prepares: false, pipelines: true, patienceMs: null }

function newShared(): SharedConnection {
  return new SharedConnection((work) =>
    onClient(pool as unknown as PgPool, (client) => work(new Connection(client, dialect, new TextCache()))),
  )
}

const askPid = (connection: Connection) => connection.get<{ pid: number }>('select pg_backend_pid() as pid')

/** Takes the server so long that its answer comes before that of the next. */
const longer = (connection: Connection) => connection.all('select pg_sleep(0.002)')

async function pidOf(shared: SharedConnection): Promise<number> {
  return (await shared.use(askPid))?.pid ?? 0
}

test('whoever comes while it is in use has the same one, and it goes back when nobody uses it', async () => {
  const shared = newShared()
  const begun = newGate()
  const first = shared.use((connection) => {
    begun.open()
    return askPid(connection)
  })
  await begun.passed
  const others = await Promise.all([pidOf(shared), pidOf(shared)])
  const pid = (await first)?.pid
  expect(others).toEqual([pid, pid])
  await expect.poll(() => pool.idleCount).toBe(pool.totalCount)
})

test('a statement that the server refuses fails alone', async () => {
  const shared = newShared()
  const refused = shared.use((connection) => connection.all('select 1 / 0'))
  const other = pidOf(shared)
  await expect(refused).rejects.toThrow('division by zero')
  expect(await other).toBeGreaterThan(0)
  await expect.poll(() => pool.idleCount).toBe(pool.totalCount)
})

test('one that broke is used by nobody any more, also while somebody still has it, and does not go back', async () => {
  const shared = newShared()
  const begun = newGate()
  const ended = newGate()
  let broken = 0
  const lasting = shared.use(async (connection) => {
    broken = (await askPid(connection))?.pid ?? 0
    begun.open()
    await ended.passed
  })
  await begun.passed
  const killed = shared.use((connection) => connection.all('select pg_terminate_backend(pg_backend_pid())'))
  await expect(killed).rejects.toThrow()
  expect(await pidOf(shared)).not.toBe(broken)
  ended.open()
  await lasting
  await expect.poll(() => pool.idleCount).toBe(pool.totalCount)
})

test('it goes back now and then although it is always in use, so that others get their turn', async () => {
  const single = new Pool({ connectionString: postgresUrl(), max: 1, pipeline: true } as object)
  const shared = new SharedConnection((work) =>
    onClient(single as unknown as PgPool, (client) => work(new Connection(client, dialect, new TextCache()))),
  )
  let isServed = false
  const begun = newGate()
  let sent = 1
  const busy = (async () => {
    const first = shared.use((connection) => {
      begun.open()
      return longer(connection)
    })
    await begun.passed
    const underWay: Promise<unknown>[] = [first, shared.use(longer), shared.use(longer), shared.use(longer)]
    for (; !isServed; sent++) {
      underWay.push(shared.use(longer))
      await underWay.shift()
    }
    await Promise.all(underWay)
  })()
  await begun.passed
  const client = await single.connect()
  isServed = true
  expect(sent).toBeLessThan(100)
  client.release()
  await busy
  await single.end()
})
