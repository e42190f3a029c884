// The servers and the proxy that other tests rely on do what those tests believe.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { startProxy } from '../../torture/servers/proxy.ts'
import { startServer } from '../../torture/servers/server.ts'
import { newSchema, postgresUrl } from './schemas.ts'

const PATIENCE = { timeout: 20_000, interval: 10 }

async function connectTo(
  { url }: { readonly url: string },
  options: { readonly pipeline?: boolean } = {},
): Promise<Client & AsyncDisposable> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000, ...options })
  // Connections are to break here, and nobody else listens.
  client.on('error', () => {})
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

describe('a server of a test', () => {
  test('has the settings it was given, and keeps its data and its port over a restart', async () => {
    await using server = await startServer({ settings: { fsync: 'on', work_mem: '5MB' } })
    {
      await using client = await connectTo(server)
      expect((await client.query('show fsync')).rows).toEqual([{ fsync: 'on' }])
      expect((await client.query('show work_mem')).rows).toEqual([{ work_mem: '5MB' }])
      await client.query('create table kept as select 7 as number')
    }

    await server.restart()
    for (const mode of ['fast', 'immediate'] as const) await server.restart(mode)

    await using client = await connectTo(server)
    expect((await client.query('select number from kept')).rows).toEqual([{ number: 7 }])
  })

  test('ends the connections when it is stopped, and accepts none until it is started', async () => {
    await using server = await startServer()
    await using client = await connectTo(server)
    await server.stop('immediate')
    await expect(client.query('select 1')).rejects.toThrow()
    await expect(connectTo(server)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    await server.start()
    await using again = await connectTo(server)
    expect((await again.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  })

  test('comes from the npm package where nothing is installed', async () => {
    await using server = await startServer({ binaries: 'embedded' })
    expect(server.origin).toBe('embedded')
    await using client = await connectTo(server)
    expect((await client.query('show server_version')).rows).toEqual([{ server_version: server.version }])
  })

  test('is gone, with its data, when its owner was killed', async () => {
    const jiti = fileURLToPath(new URL('../../node_modules/jiti/lib/jiti-cli.mjs', import.meta.url))
    const fixture = fileURLToPath(new URL('fixtures/owner.ts', import.meta.url))
    const owner = spawn(process.execPath, [jiti, fixture], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(createInterface(owner.stdout), 'line')) as [string]
    const { folder, url } = JSON.parse(line) as { folder: string; url: string }
    await (await connectTo({ url })).end()

    owner.kill('SIGKILL')

    await vi.waitFor(() => expect(existsSync(folder)).toBe(false), PATIENCE)
    await expect(connectTo({ url })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})

describe('a proxy', () => {
  const open = () => startProxy({ url: postgresUrl() })

  test('forwards everything, until it is cut; then new connections work', async () => {
    await using proxy = await open()
    await using client = await connectTo(proxy)
    expect((await client.query("select repeat('x', 100000) as text")).rows[0].text).toHaveLength(100_000)
    const asked = client.query('select pg_sleep(60)')
    asked.catch(() => {})
    proxy.cut()
    await expect(asked).rejects.toThrow(/terminated|ECONNRESET/)
    await using again = await connectTo(proxy)
    expect((await again.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  })

  test('refuses everybody, until it is healed', async () => {
    await using proxy = await open()
    await using _client = await connectTo(proxy)
    proxy.refuse()
    expect(proxy.connections).toBe(0)
    await expect(connectTo(proxy)).rejects.toThrow()
    proxy.heal()
    await using again = await connectTo(proxy)
    expect((await again.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  })

  test('lets nothing overtake when the delay changes again and again', async () => {
    await using proxy = await open()
    await using client = await connectTo(proxy, { pipeline: true })
    const answers: Promise<unknown>[] = []
    const everyTurn = async (count: number) => {
      for (let turn = 0; turn < count; turn++) {
        const number = answers.length
        answers.push(client.query(`select ${number} as number`).then(({ rows }) => rows[0].number === number))
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    for (let change = 0; change < 60; change++) {
      proxy.delay(change % 2 === 0 ? 7 : 0)
      await everyTurn(30)
    }
    expect((await Promise.all(answers)).filter((isOwn) => !isOwn)).toEqual([])
  })

  test('delays each way, and lets nothing overtake', async () => {
    await using proxy = await open()
    await using client = await connectTo(proxy)
    proxy.delay(60)
    const begunAt = performance.now()
    const first = client.query('select 1 as n')
    proxy.delay(0)
    const answers = await Promise.all([first, client.query('select 2 as n')])
    expect(answers.map(({ rows }) => rows[0].n)).toEqual([1, 2])
    proxy.delay(60)
    await client.query('select 3')
    expect(performance.now() - begunAt).toBeGreaterThanOrEqual(119)
  })

  test('half-open: keeps silent without an end, and forwards the rest when it is healed', async () => {
    await using proxy = await open()
    await using client = await connectTo(proxy)
    proxy.freeze()
    const answered = vi.fn<() => void>()
    const asked = client.query('select 1 as one').finally(answered)
    await using direct = await connectTo({ url: postgresUrl() })
    for (let turn = 0; turn < 20; turn++) await direct.query('select 1')
    expect(answered).not.toHaveBeenCalled()
    expect(proxy.connections).toBe(1)
    proxy.heal()
    expect((await asked).rows).toEqual([{ one: 1 }])
  })

  test('drops replies: the server does what it is told, and nobody hears of it', async () => {
    await using proxy = await open()
    await using direct = await connectTo({ url: postgresUrl() })
    await using client = await connectTo(proxy)
    const lock = Math.floor(Math.random() * 1e9)
    proxy.dropReplies()
    const asked = client.query('select pg_advisory_lock($1)', [lock])
    asked.catch(() => {})
    const findLock = () => direct.query("select 1 from pg_locks where locktype = 'advisory' and objid = $1", [lock])
    await vi.waitFor(async () => expect((await findLock()).rowCount).toBe(1), PATIENCE)
    proxy.heal()
    await expect(asked).rejects.toThrow(/terminated|ECONNRESET/)
  })

  test('is silent for good on the connections of that moment, and forwards what comes on others', async () => {
    await using proxy = await open()
    await using client = await connectTo(proxy)
    proxy.silence()
    const asked = client.query('select 1 as one')
    asked.catch(() => {})
    await using again = await connectTo(proxy)
    for (let turn = 0; turn < 20; turn++) expect((await again.query('select 2 as two')).rows).toEqual([{ two: 2 }])
    expect(proxy.connections).toBe(2)
    proxy.heal()
    await expect(asked).rejects.toThrow(/terminated|ECONNRESET/)
    expect((await again.query('select 2 as two')).rows).toEqual([{ two: 2 }])
  })

  test('cuts all connections when a certain statement is sent, and the server never hears of it', async () => {
    await using proxy = await open()
    await using bystander = await connectTo(proxy)
    await using client = await connectTo(proxy)
    await client.query('create temporary sequence numbers')
    const cut = proxy.cutAt(/nextval/)
    await client.query('select 1')
    await expect(client.query("select nextval('numbers')")).rejects.toThrow(/terminated|ECONNRESET/)
    await cut
    await expect(bystander.query('select 1')).rejects.toThrow()
    await using again = await connectTo(proxy)
    expect((await again.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  })

  const commits: readonly [string, string, (client: Client, insert: string) => Promise<unknown>][] = [
    [
      'a transaction',
      'COMMIT',
      async (client, insert) => {
        await client.query('begin')
        await client.query({ text: insert, values: [7] })
        await client.query('commit')
      },
    ],
    [
      'a transaction that is sent at once',
      'COMMIT',
      (client, insert) =>
        Promise.all([client.query('begin'), client.query({ text: insert, values: [7] }), client.query('commit')]),
    ],
    ['a statement by itself', 'INSERT 0 1', (client, insert) => client.query({ text: insert, values: [7] })],
    [
      'a prepared statement',
      'INSERT 0 1',
      (client, insert) => client.query({ name: 'keep', text: insert, values: [7] }),
    ],
  ]

  test.each(commits)(
    'loses the reply to %s: what was committed stays, and the client cannot know',
    async (...given) => {
      const [, tag, commit] = given
      await using proxy = await open()
      await using client = await connectTo(proxy, { pipeline: true })
      const schema = newSchema()
      await client.query(`create schema ${schema}; create table ${schema}.kept (number integer)`)
      const insert = `insert into ${schema}.kept values ($1)`
      await client.query({ name: 'keep', text: insert, values: [6] })
      const lost = proxy.loseReplyTo(/insert into/)
      await expect(commit(client, insert)).rejects.toThrow(/terminated|ECONNRESET/)
      expect(await lost).toBe(tag)
      await using again = await connectTo(proxy)
      const { rows } = await again.query(`select number from ${schema}.kept order by number`)
      expect(rows).toEqual([{ number: 6 }, { number: 7 }])
    },
  )
})
