// What the command line must refuse, or say, before it does any harm.
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, expect, onTestFinished, test } from 'vitest'
import { LiveScreen } from '../../src/cli/watch/live-screen.ts'
import { defineJob, openScheduler } from '../../src/index.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { SettableClock } from '../../src/testing/settable-clock.ts'
import { enqueue, interruption, newFolder, openTarget, pawl, TARGETS, writeInto } from './cli-stage.ts'

describe('numbers that JavaScript would change', () => {
  const HUGE = '12345678901234567890'

  test.each([
    [['--params', `{"x":${HUGE}}`]],
    [['--params', `{"x":[{"y":${HUGE}}]}`]],
    [['--params', '{"x":1e400}']],
    [['-p', `x={"y":${HUGE}}`]],
    [['-p', `x=${HUGE}`]],
    [['-p', 'x=-9007199254740993']],
  ])('are refused in %j', async (argv) => {
    const on = await openTarget('store')
    const { exitCode, stderr } = await on.pawl('enqueue', 'story', ...argv)
    expect(exitCode).toBe(2)
    expect(stderr).toMatch(/^error: The number \S+ of \S+.* is too large to be kept exactly\. Give it as text/)
  })

  test('are refused from stdin, from files and in lists of jobs', async () => {
    const on = await openTarget('store')
    const file = writeInto(on.folder, 'jobs.ndjson', `{"type":"story"}\n{"type":"story","params":{"x":${HUGE}}}\n`)
    expect((await on.pawl('enqueue', '--file', file)).exitCode).toBe(2)
    expect((await on.pawlWith({ stdin: `{"x":${HUGE}}` }, 'enqueue', 'story', '--params', '-')).exitCode).toBe(2)
    expect((await on.json<{ items: [] }>('jobs', 'list')).items).toEqual([])
  })

  test('are those only: digits in texts, and large numbers that stay the same, are kept', async () => {
    const on = await openTarget('store')
    const params = `{"text":"${HUGE} \\" 1e400","large":1e21,"safe":9007199254740991,"pi":3.14159265358979323846}`
    const job = await on.json<{ params: object }>('enqueue', 'story', '--params', params)
    expect(job.params).toEqual({
      text: `${HUGE} " 1e400`,
      large: 1e21,
      safe: Number.MAX_SAFE_INTEGER,
      pi: Math.PI,
    })
  })
})

test.each(['2027-02-30T00:00:00Z', '2027-02-29T00:00:00+02:00', '2027-04-31T12:00:00Z'])(
  'a day that no calendar has, %s, is refused',
  async (day) => {
    const on = await openTarget('store')
    const { exitCode, stderr } = await on.pawl('enqueue', 'story', '--run-at', day)
    expect(exitCode).toBe(2)
    expect(stderr).toContain(day)
    expect((await on.pawl('enqueue', 'story', '--run-at', '2028-02-29T00:00:00+02:00')).exitCode).toBe(0)
  },
)

test('--run-at now is taken by enqueue as by jobs edit, and a byte order mark is no fault', async () => {
  const on = await openTarget('store')
  writeInto(on.folder, 'params.json', '\ufeff{"genre":"gothic"}')
  expect(await on.json('enqueue', 'story', '--run-at', 'now', '--params', '@params.json')).toMatchObject({
    hold: null,
    params: { genre: 'gothic' },
  })
})

test('a configuration that is not there is refused by every command', async () => {
  const on = await openTarget('store')
  const { exitCode, stderr } = await on.pawl('jobs', 'list', '--config', 'nothing.ts')
  expect(exitCode).toBe(2)
  expect(stderr).toContain('There is no file nothing.ts, which --config names.')
})

describe('where there is no database', () => {
  test.each([
    [['enqueue', 'nope'], 2],
    [['enqueue', '--file', 'jobs.json'], 2],
    [['run', 'nope'], 4],
    [['keys', 'create', '--name', '', '--role', 'admin'], 2],
    // It looks first whether there is an admin key.
    [['keys', 'create', '--name', '', '--role', 'viewer'], 2],
    [['schedules', 'create', 'x', '--type', 'nope', '--cron', '@daily'], 2],
  ])('%j is refused without making one', async (argv, expected) => {
    const folder = newFolder()
    writeInto(folder, 'jobs.json', [{ type: 'nope' }])
    expect((await pawl(argv, { cwd: folder })).exitCode).toBe(expected)
    expect(readdirSync(folder)).toEqual(['jobs.json'])
  })

  test('what is accepted makes one', async () => {
    const folder = newFolder()
    expect((await pawl(['keys', 'create', '--name', 'boss', '--role', 'admin'], { cwd: folder })).exitCode).toBe(0)
    expect((await pawl(['keys', 'list'], { cwd: folder })).stdout).toContain('boss')
  })

  test('what only reads says how to make one', async () => {
    const { exitCode, stderr } = await pawl(['jobs', 'list'], { cwd: newFolder() })
    expect(exitCode).toBe(1)
    expect(stderr).toContain('`pawl migrate`, `pawl serve` or `pawl enqueue`')
  })
})

describe.each(TARGETS)('on a %s', (kind) => {
  test('a first key that is no admin key is made, with a warning', async () => {
    const on = await openTarget(kind)
    const { exitCode, stderr } = await on.pawl('keys', 'create', '--name', 'eye', '--role', 'viewer')
    expect(exitCode).toBe(0)
    expect(stderr).toContain('nobody can administer it over HTTP until you make an admin key: pawl keys create')
  })

  test('a key beside an admin key is made without a warning', async () => {
    const on = await openTarget(kind)
    const { key } = await on.json<{ key: string }>('keys', 'create', '--name', 'boss', '--role', 'admin')
    const asAdmin = kind === 'server' ? ['--key', key] : []
    const made = await on.pawl('keys', 'create', '--name', 'eye', '--role', 'viewer', ...asAdmin)
    expect(made).toMatchObject({ exitCode: 0, stderr: '' })
  })

  test('a sequential group is shown in its order, and a long list of reasons says nothing twice', async () => {
    const on = await openTarget(kind)
    writeInto(on.folder, 'jobs.json', [{ type: 'story' }, { type: 'broken' }, { type: 'wait' }, { type: 'story' }])
    const made = ['groups', 'create', 'book', '--mode', 'sequential', '--file', 'jobs.json']
    const group = await on.json<{ group_id: string; job_ids: string[] }>(...made)
    const { stdout } = await on.pawl('groups', 'show', group.group_id)
    const shown = stdout.split('\n').map((line) => line.split(' ', 1)[0] ?? '')
    expect(shown.filter((word) => group.job_ids.includes(word))).toEqual(group.job_ids)
    const why = await on.json<{ reasons: { message: string }[] }>('why', group.job_ids[1] ?? '')
    const said = (await on.pawl('why', group.job_ids[1] ?? '')).stdout.toLowerCase()
    for (const { message } of why.reasons) expect(said.split(message.slice(1, -1).toLowerCase())).toHaveLength(2)
  })

  test('enqueue --wait of a job whose history was removed says so', async () => {
    const on = await openTarget(kind)
    const id = await enqueue(on, 'story', '--idempotency-key', 'k')
    await on.scheduler.start()
    await expect.poll(async () => (await on.scheduler.getJob(id)).status).toBe('FINISHED')
    await on.json('prune', '--older-than', '0s')
    const { exitCode, stdout } = await on.pawl('enqueue', 'story', '--idempotency-key', 'k', '--wait')
    expect(exitCode).toBe(0)
    expect(stdout).toBe(`Job ${id} had this idempotency key. It has ended, and its history was removed.\n`)
    expect(await on.json('enqueue', 'story', '--idempotency-key', 'k', '--wait')).toMatchObject({ pruned: true })
  })

  test('a finished job shows its outcome in a list on a terminal of 80 columns', async () => {
    const on = await openTarget(kind)
    const id = await enqueue(on, 'story', '--name', 'a long name for a short story')
    await on.scheduler.start()
    await expect.poll(async () => (await on.scheduler.getJob(id)).status).toBe('FINISHED')
    const { stdout } = await on.pawlWith({ columns: 80 }, 'jobs', 'list', '--no-color')
    expect(stdout).toMatch(new RegExp(`\n${id}  COMPLETED +story `))
  })
})

test('a number for a param that must be a text is refused with the way to write a text', async () => {
  const folder = newFolder()
  const schema = `{ '~standard': { version: 1, vendor: 'test', validate: (value) => typeof value.name === 'string'
    ? { value } : { issues: [{ message: 'Invalid input: expected string, received number', path: ['name'] }] } } }`
  const job = `{ type: 'greet', params: ${schema}, run: () => null }`
  const index = JSON.stringify(new URL('../../src/index.ts', import.meta.url).href)
  writeInto(
    folder,
    'pawl.config.ts',
    `import { defineConfig, defineJob } from ${index}\nexport default defineConfig({ jobs: [defineJob(${job})] })`,
  )
  const refused = await pawl(['enqueue', 'greet', '-p', 'name=1'], { cwd: folder })
  expect(refused.exitCode).toBe(2)
  expect(refused.stderr).toContain(`To give it as text write -p 'name="1"'.`)
  expect((await pawl(['enqueue', 'greet', '-p', 'name="1"'], { cwd: folder })).exitCode).toBe(0)
})

test('types shows what only the configuration here defines, and writes it nowhere', async () => {
  const on = await openTarget('store')
  await on.scheduler.close()
  const index = JSON.stringify(new URL('../../src/index.ts', import.meta.url).href)
  writeInto(
    on.folder,
    'pawl.config.ts',
    `import { defineConfig, defineJob } from ${index}\nexport default defineConfig({ jobs: [defineJob({ type: 'draft', run: () => null })] })`,
  )
  const before = readFileSync(join(on.folder, 'pawl.db'))
  expect((await on.pawl('types')).stdout).toMatch(/\ndraft +local config only /)
  const { items } = await on.json<{ items: { type: string }[] }>('types')
  expect(items).toContainEqual(expect.objectContaining({ type: 'draft', local_config_only: true }))
  expect(readFileSync(join(on.folder, 'pawl.db'))).toEqual(before)
})

test('the reason of a skip is not called an error', async () => {
  const on = await openTarget('store')
  const picky = defineJob({ type: 'picky', run: ({ skip }) => skip('nothing to do') })
  await using worker = await openScheduler({ store: sqlite(join(on.folder, 'pawl.db')), jobs: [picky] })
  const id = await enqueue(on, 'picky')
  await worker.start()
  await expect.poll(async () => (await on.scheduler.getJob(id)).status).toBe('FINISHED')
  const { stdout } = await on.pawl('jobs', 'show', id)
  expect(stdout).toMatch(/\n {2}reason\n {4}nothing to do\n/)
  expect(stdout).not.toMatch(/\n {2}error/)
})

test('a terminal that says it is 0 columns wide is taken for one of 80', async () => {
  const on = await openTarget('store')
  const id = await enqueue(on, 'story')
  expect((await on.pawlWith({ columns: 0 }, 'jobs', 'list')).stdout).toContain(`${id}  QUEUED`)
  const screen = new LiveScreen({ isTTY: true, columns: 0, rows: 0, write: () => {} })
  expect([screen.columns, screen.rows]).toEqual([79, 23])
})

test('serve names the variable that led it to a server', async () => {
  const { exitCode, stderr } = await pawl(['serve'], { cwd: newFolder(), env: { PAWL_SERVER: 'http://127.0.0.1:1' } })
  expect(exitCode).toBe(2)
  expect(stderr).toContain('Use --store instead of the server http://127.0.0.1:1, which PAWL_SERVER names.')
})

test('the first interrupt ends a command that waits for stdin', async () => {
  const on = await openTarget('store')
  const { signal, interrupt } = interruption()
  const silent = new Readable({ read: interrupt })
  const running = on.pawlWith({ interrupted: signal, stdinStream: silent }, 'enqueue', 'story', '--params', '-')
  expect(await running).toMatchObject({ exitCode: 130, stdout: '' })
})

/** A server of ours, and its address. */
async function listening(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a server that never answers is given up after half a minute', async () => {
  const clock = new SettableClock(0)
  const url = await listening(() => clock.set(30_000))
  const { exitCode, stderr } = await pawl(['jobs', 'list', '--server', url], { clock })
  expect(exitCode).toBe(1)
  expect(stderr).toContain(`${url} has not answered within 30 s.`)
})

test.each([
  [['run', 'story'], { result: 'written', skipped: null }],
  [['prune', '--older-than', '1d'], { dry_run: false, jobs_removed: 7 }],
])('what works for as long as it needs to is waited for: %j', async (argv, body) => {
  const clock = new SettableClock(0)
  const url = await listening((_, response) => {
    clock.set(3_600_000)
    setImmediate(() => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(body))
    })
  })
  const { exitCode, stdout, stderr } = await pawl([...argv, '--json', '--server', url], { clock })
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  expect(JSON.parse(stdout)).toMatchObject(body)
})

test('the key on the command line counts, whatever PAWL_API_KEY says', async () => {
  const on = await openTarget('server')
  const { key } = await on.json<{ key: string }>('keys', 'create', '--name', 'boss', '--role', 'admin')
  const other = `pawl_${'x'.repeat(43)}`
  const listed = (said: string, inEnv: string) =>
    on.pawlWith({ env: { PAWL_API_KEY: inEnv } }, 'jobs', 'list', '--key', said)
  expect((await listed(key, other)).exitCode).toBe(0)
  expect((await listed(other, key)).exitCode).toBe(1)
})

test('what follows -- is no option: an error is told in words to who asked about a job of the name --json', async () => {
  const on = await openTarget('store')
  const { exitCode, stderr } = await pawl(['why', ...on.flags, '--', '--json'], { cwd: on.folder })
  expect(exitCode).toBe(4)
  expect(stderr).toMatch(/^error: There is no job --json\./)
})
