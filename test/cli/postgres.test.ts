// The command line on PostgreSQL: what it prints, what it refuses, and what it leaves alone.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openScheduler } from '../../src/index.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { type PostgresServer, startServer } from '../../torture/servers/server.ts'
import { newSchema, postgresPool, postgresUrl } from '../postgres/schemas.ts'
import { JOBS, newFolder, pawl, RESOURCES } from './cli-stage.ts'
import { call, Project, pawl as pawlProcess, startPawl } from './serve-process.ts'

/** The address of a schema, as it is written on a command line. */
function addressOf(schema: string): string {
  return `${postgresUrl()}?pawl_schema=${schema}`
}

/** The same as it is shown. */
function shown(schema: string): string {
  const { host, pathname } = new URL(postgresUrl())
  return `the store postgres ${host}${pathname} (schema ${schema})`
}

async function schemaExists(schema: string): Promise<boolean> {
  return (await postgresPool().query('select from pg_namespace where nspname = $1', [schema])).rowCount === 1
}

/** A store with the types of the stage, of which jobs are executed once the scheduler is started. */
async function newStore() {
  const schema = newSchema()
  const store = postgres(addressOf(schema))
  const scheduler = await openScheduler({ store, jobs: JOBS, resources: RESOURCES, shutdownTimeoutMs: 100 })
  onTestFinished(() => scheduler.close())
  return { schema, scheduler, run: (...argv: string[]) => pawl([...argv, '--store', addressOf(schema)]) }
}

describe('migrate', () => {
  test('makes the schema, says so, and has nothing to do then', async () => {
    const schema = newSchema()
    const on = ['--store', addressOf(schema)]
    const dry = await pawl(['migrate', '--dry-run', ...on])
    expect(dry).toEqual({
      exitCode: 0,
      stdout: [
        `Would be migrated: ${shown(schema)}`,
        '  version before  none: there is no schema of Pawl',
        '  would become    9',
        '  pending         schema, enqueue-function, readable-views, waiting-in-lanes, bulk-operations, fewest-digits, exact-numbers, minutes, deliveries-by-status',
        '',
      ].join('\n'),
      stderr: '',
    })
    expect(await schemaExists(schema)).toBe(false)
    expect((await pawl(['migrate', ...on])).stdout).toContain('\n  version now     9\n')
    expect((await pawl(['migrate', ...on])).stdout).toMatch(/^The schema is up to date: the store postgres /)
    expect(JSON.parse((await pawl(['migrate', '--json', ...on])).stdout)).toMatchObject({
      version_before: 9,
      version_after: 9,
      applied: [],
    })
  })

  test('is done by any number of processes at once', async () => {
    const on = ['--store', addressOf(newSchema())]
    const ended = await Promise.all([1, 2, 3, 4].map(() => pawl(['migrate', '--json', ...on])))
    expect(ended.map(({ exitCode, stderr }) => ({ exitCode, stderr }))).toEqual(
      Array(4).fill({ exitCode: 0, stderr: '' }),
    )
  })

  test('refuses the schema of another program, and a newer one, and leaves them alone', async () => {
    const schema = newSchema()
    await postgresPool().query(`create schema "${schema}"; create table "${schema}".orders ()`)
    const foreign = await pawl(['migrate', '--store', addressOf(schema)])
    expect(foreign.exitCode).toBe(1)
    expect(foreign.stderr).toMatch(/^error: Expected the schema of postgres .* to be empty or made by Pawl/)
    const { schema: newer, run } = await newStore()
    const insert = `insert into "${newer}".migrations values (99, 'later', '', 0)`
    await postgresPool().query(insert)
    expect((await run('migrate')).stderr).toContain('has schema version 99, but this Pawl knows versions up to 9')
    await postgresPool().query(`delete from "${newer}".migrations where version = 99`)
  })
})

test('jobs are enqueued, shown, explained and cancelled as on SQLite', async () => {
  const { schema, scheduler, run } = await newStore()
  const enqueued = await run('enqueue', 'story', '-p', 'genre=gothic', '--tag', 'urgent', '--delay', '1h', '--json')
  expect(enqueued).toMatchObject({ exitCode: 0, stderr: '' })
  const { job_id: jobId } = JSON.parse(enqueued.stdout) as { job_id: string }
  expect((await run('jobs', 'list', '--tag', 'urgent')).stdout).toContain(jobId)
  expect((await run('why', jobId)).stdout).toMatch(/delayed until /)
  expect((await run('jobs', 'cancel', jobId)).exitCode).toBe(0)
  expect((await run('jobs', 'cancel', jobId)).exitCode).toBe(0)
  expect((await run('jobs', 'show', '01975bb0-7c1e-7d6a-9d0c-3f6f8e0f9a41')).exitCode).toBe(4)
  expect((await run('enqueue', 'nonsense')).exitCode).toBe(2)
  const { stdout } = await run('status')
  expect(stdout).toContain(`Status of ${shown(schema)}\n`)
  expect(stdout).toMatch(/\n {2}cancelled +1\n/)
  await scheduler.start()
  expect((await run('enqueue', 'story', '--wait')).exitCode).toBe(0)
  expect((await run('run', 'story', '--json')).exitCode).toBe(0)
})

test('doctor finds a sound store well, and says what was damaged', async () => {
  const { schema, scheduler, run } = await newStore()
  const sound = await run('doctor')
  expect(sound.stdout).toContain(`Examined ${shown(schema)}\n`)
  expect(sound).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Everything is well.') })
  await scheduler.enqueue('story', {})
  await postgresPool().query(`delete from "${schema}".queue`)
  const damaged = await run('doctor')
  expect(damaged.exitCode).toBe(1)
  expect(damaged.stdout).toMatch(/checks found faults\./)
})

test('backup is refused with the tool that does it, and exits with 2', async () => {
  const { run } = await newStore()
  const { exitCode, stdout, stderr } = await run('backup', join(newFolder(), 'copy.db'))
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
  expect(stderr).toBe(
    'error: A PostgreSQL database is copied by its own tools: use `pg_dump`, or your base backups. See docs/postgres.md.\n',
  )
})

describe('where Pawl has no schema yet', () => {
  test.each([
    [['jobs', 'list'], 1],
    [['status'], 1],
    [['doctor'], 1],
    [['backup', 'copy.db'], 1],
    [['jobs', 'cancel', '01975bb0-7c1e-7d6a-9d0c-3f6f8e0f9a41'], 1],
    [['enqueue', 'nonsense'], 2],
    [['schedules', 'preview', '--cron', '@daily'], 0],
  ])('%j makes none', async (argv, exitCode) => {
    const schema = newSchema()
    const ended = await pawl([...argv, '--store', addressOf(schema)])
    expect(ended.exitCode).toBe(exitCode)
    if (exitCode === 1) expect(ended.stderr).toContain(`There is no schema of Pawl yet: ${shown(schema)}.`)
    expect(await schemaExists(schema)).toBe(false)
  })
})

describe('an address that leads nowhere', () => {
  let server: PostgresServer

  beforeAll(async () => {
    server = await startServer()
    const client = new Client({ connectionString: server.url })
    await client.connect()
    await client.query("create role locked login password 'open sesame'")
    const file = join(server.folder, 'data', 'pg_hba.conf')
    writeFileSync(file, `host all locked all scram-sha-256\nhost all banned all reject\n${readFileSync(file, 'utf8')}`)
    await client.query('create role banned login; create role guest login')
    await client.query('select pg_reload_conf()')
    await client.end()
  })

  afterAll(() => server.remove())

  const at = (user: string, database = 'postgres') => `postgres://${user}@127.0.0.1:${server.port}/${database}`

  /** One sentence on stderr, or two, without the password and without a stack. */
  async function told(store: string, ...argv: string[]) {
    const { exitCode, stdout, stderr } = await pawl([...(argv.length > 0 ? argv : ['jobs', 'list']), '--store', store])
    expect(stdout).toBe('')
    expect(stderr).toMatch(/^error: [^\n]+\n$/)
    expect(stderr).not.toMatch(/sesame|    at /)
    return { exitCode, message: stderr.slice('error: '.length, -1) }
  }

  const place = () => `The database postgres 127.0.0.1:${server.port}/postgres`

  test('a wrong password', async () => {
    // The server takes a moment to read its configuration again.
    await vi.waitFor(async () =>
      expect((await told(at('locked:wrong-sesame'))).message).toContain('refused the password'),
    )
    expect(await told(at('locked:wrong-sesame'))).toEqual({
      exitCode: 1,
      message: `${place()} refused the password. Check the user and the password.`,
    })
    expect((await pawl(['migrate', '--dry-run', '--store', at('locked:open%20sesame')])).exitCode).toBe(0)
  })

  test('no password where one is wanted', async () => {
    expect(await told(at('locked'))).toEqual({
      exitCode: 1,
      message: `${place()} wants a password. Give it in the URL, as PGPASSWORD or in the file .pgpass.`,
    })
  })

  test('a user that is not let in, or that there is not', async () => {
    expect(await told(at('banned'))).toEqual({
      exitCode: 1,
      message: `${place()} refused the user. Check its pg_hba.conf and the user.`,
    })
    expect((await told(at('nobody-here'))).message).toContain('refused the user')
  })

  test('no such database', async () => {
    expect(await told(at('pawl', 'nowhere'))).toEqual({
      exitCode: 1,
      message: `The database postgres 127.0.0.1:${server.port}/nowhere does not exist. Create it first.`,
    })
  })

  test('a user that may not make a schema', async () => {
    expect(await told(at('guest'), 'migrate')).toEqual({
      exitCode: 1,
      message: `${place()} does not let this user do that. docs/postgres.md says which rights it needs.`,
    })
  })

  test.each(['127.0.0.1:1', 'localhost:1', 'nowhere.invalid'])('no server: %s', async (host) => {
    const { exitCode, message } = await told(`postgres://ada:sesame@${host}/app`)
    expect(exitCode).toBe(1)
    expect(message).toMatch(
      /^The database postgres \S+\/app cannot be reached \(.*(ECONNREFUSED|ENOTFOUND|EAI_AGAIN).*\)\.$/,
    )
  })

  test('--json tells the same with its code', async () => {
    const { stderr } = await pawl(['jobs', 'list', '--json', '--store', 'postgres://ada:sesame@127.0.0.1:1/app'])
    expect(JSON.parse(stderr)).toMatchObject({ code: 'database_unavailable' })
    expect(stderr).not.toContain('sesame')
  })

  test.each([
    'postgres:ada:sesame@host/app',
    'postgres://ada:ses#sesame@host/app',
    'postgresql://ada:%sesame@host/app',
  ])('what is no address exits with 2: %s', async (store) => {
    const { exitCode, message } = await told(store)
    expect(exitCode).toBe(2)
    expect(message).toMatch(
      /^--store is not right\. Expected the address of a database such as postgres:\/\/user:password@host/,
    )
  })

  test('a schema that no schema can be called exits with 2', async () => {
    const { exitCode, message } = await told(`${at('pawl')}?pawl_schema=a-b`)
    expect({ exitCode, message }).toEqual({
      exitCode: 2,
      message: expect.stringContaining('Expected `schema` to be a name of letters, digits and underscores'),
    })
  })

  test('a driver that is not installed', async () => {
    const hook = `export async function resolve(name, context, next) {
      if (name === 'pg') throw Object.assign(new Error("Cannot find package 'pg'"), { code: 'ERR_MODULE_NOT_FOUND' })
      return next(name, context)
    }`
    const url = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`
    const register = url(`import { register } from 'node:module'; register(${JSON.stringify(url(hook))})`)
    const env = { NODE_OPTIONS: `--import "${register}"` }
    const { exit, stderr } = await pawlProcess(
      ['jobs', 'list', '--store', 'postgres://localhost/app'],
      newFolder(),
      env,
    )
    expect({ exit, stderr }).toEqual({
      exit: 1,
      stderr: 'error: Expected the package `pg` to be installed. Run `npm install pg`.',
    })
  })
})

describe('as processes', () => {
  const config = (store: string) => `
import { defineConfig, defineJob } from 'pawl'
const quick = defineJob({ type: 'quick', run: ({ params }) => params })
export default defineConfig({ store: ${JSON.stringify(store)}, jobs: [quick], concurrency: 2 })
`

  test('a server and workers share the store of the configuration, and end in good order', async () => {
    const schema = newSchema()
    const project = new Project(config(addressOf(schema)))
    const server = project.start('serve', '--port', '0', '--paused')
    const [, url = '', store] = await server.prints(/^Pawl is ready at (\S+) \((.*)\)/)
    expect(store).toContain(shown(schema).slice('the store '.length))
    const workers = [project.start('worker'), startPawl(['worker'], project.folder)]
    for (const worker of workers) await worker.prints(/^Pawl executes the jobs of postgres .* \(1 job type\)$/)
    const bulk = { jobs: Array.from({ length: 20 }, (_, n) => ({ type: 'quick', params: { n } })) }
    expect((await call(url, 'POST', '/api/jobs/bulk', bulk)).status).toBe(201)
    await vi.waitFor(
      async () => {
        const { body } = await call(url, 'GET', '/api/scheduler/status')
        expect(body).toMatchObject({ queue_length: 0, cumulative_stats: { succeeded: 20 } })
      },
      { timeout: 20_000, interval: 50 },
    )
    for (const each of [server, ...workers]) each.kill('SIGTERM')
    expect(await Promise.all([server, ...workers].map(({ exited }) => exited))).toEqual([0, 0, 0])
    for (const each of [server, ...workers]) expect(each.stderr).toEqual([])
  })

  test('PAWL_STORE names it too, and worker --once executes what is ready', async () => {
    const project = new Project(config('sqlite:other.db'))
    const env = { PAWL_STORE: addressOf(newSchema()) }
    expect((await pawlProcess(['enqueue', 'quick'], project.folder, env)).exit).toBe(0)
    const once = await pawlProcess(['worker', '--once'], project.folder, env)
    expect(once).toEqual({ exit: 0, stdout: 'Executed 1 job: 1 completed, 0 failed, 0 skipped.', stderr: '' })
  })

  test('serve on a store that cannot be reached exits with 1', async () => {
    const project = new Project(config('postgres://ada:sesame@127.0.0.1:1/app'))
    const { exit, stderr } = await project.run('serve', '--port', '0')
    expect(exit).toBe(1)
    expect(stderr).toMatch(/^error: The database postgres 127\.0\.0\.1:1\/app cannot be reached/)
  })
})
