// The command line itself: help, mistakes, which target is chosen, and hostile texts from a real store.
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { Cli } from '../../src/cli/cli.ts'
import { exitCodeOfStatus } from '../../src/cli/exit-codes.ts'
import type { Io } from '../../src/cli/io.ts'
import { widthOf } from '../../src/cli/output/width.ts'
import { createProgram } from '../../src/cli/program.ts'
import { defineJob, openScheduler } from '../../src/index.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { enqueue, newFolder, openTarget, pawl, TARGETS, writeInto } from './cli-stage.ts'

const NOBODY = '01975bb0-7c1e-7d6a-9d0c-3f6f8e0f9a41'

/** Every command that does something, with the words that lead to it. */
function allCommands(): readonly (readonly [words: string, command: Command])[] {
  const program = createProgram(new Cli({ stdout: {}, stderr: {}, env: {} } as unknown as Io))
  const walk = (command: Command, words: readonly string[]): [string, Command][] =>
    command.commands.length === 0
      ? [[words.join(' '), command]]
      : command.commands.flatMap((each) => walk(each, [...words, each.name()]))
  return walk(program, [])
}

describe('help', () => {
  test('of the program lists every command with a line about it, the targets and the exit codes', async () => {
    const { exitCode, stdout, stderr } = await pawl(['--help'])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    for (const name of new Set(allCommands().map(([words]) => words.split(' ')[0] ?? ''))) {
      expect(stdout).toMatch(new RegExp(`^  ${name}\\b.* {2}\\w`, 'm'))
    }
    expect(stdout).toContain('then PAWL_SERVER or PAWL_STORE')
    expect(stdout).toContain('Exit codes: 0 done, 1 failed, 2 wrong usage or value, 4 not found, 5 ')
  })

  test.each(allCommands())(
    'of `pawl %s` says what it does, what it takes, and shows it in use',
    async (words, command) => {
      const { exitCode, stdout } = await pawl([...words.split(' '), '--help'])
      expect(exitCode).toBe(0)
      expect(command.description()).toMatch(/^[a-z].{10,120}[^.]$/)
      expect(stdout).toContain(command.description().split(' ').slice(0, 3).join(' '))
      for (const option of command.options) expect(option.description).not.toBe('')
      expect(stdout).toMatch(/\nExamples:\n {2}# .+\n {2}\$ .*pawl /)
      expect(stdout).toContain('--json')
    },
  )

  test.each([80, 100, 200])('fits a terminal of %i columns', async (columns) => {
    const { stdout } = await pawl(['jobs', 'list', '--help'], { columns })
    const own = stdout.slice(0, stdout.indexOf('Examples:')).split('\n')
    for (const line of own) expect(widthOf(line)).toBeLessThanOrEqual(columns)
  })

  test.each([
    [['help'], ['--help']],
    [
      ['help', 'jobs'],
      ['jobs', '--help'],
    ],
    [
      ['jobs', 'help', 'list'],
      ['jobs', 'list', '--help'],
    ],
    [
      ['help', 'jobs', 'ls'],
      ['jobs', 'list', '--help'],
    ],
    [
      ['jobs', 'help'],
      ['jobs', '--help'],
    ],
  ])('can be asked for as `pawl %j`', async (asked, meant) => {
    expect(await pawl(asked)).toEqual({ ...(await pawl(meant)), exitCode: 0 })
  })

  test.each([[['help', 'nope']], [['jobs', 'help', 'nope']], [['help', 'jobs', 'nope']]])(
    'for a command that is not there says so: `pawl %j`',
    async (argv) => {
      const { exitCode, stdout, stderr } = await pawl(argv)
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
      expect(stderr).toContain("Unknown command 'nope'.")
    },
  )

  test('is what a group of commands without a verb prints, as a mistake', async () => {
    const { exitCode, stdout, stderr } = await pawl(['jobs'])
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).toContain('Usage: pawl jobs')
  })

  test('--version prints the version alone', async () => {
    expect((await pawl(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\S*\n$/)
  })
})

describe('a mistake on the command line', () => {
  test.each([
    [['jbos', 'list'], "Unknown command 'jbos'. Did you mean jobs?"],
    [['jobs', 'shwo'], "Unknown command 'shwo'. Did you mean show?"],
    [['jobs', 'list', '--statsu', 'x'], "Unknown option '--statsu'. Did you mean --status?"],
    [['jobs', 'show'], "Missing required argument 'job'."],
    [['jobs', 'show', 'a', 'b'], 'Too many arguments'],
    [['jobs', 'list', '--limit'], 'argument missing'],
    [['keys', 'create', '--name', 'x'], "Required option '--role <role>' not specified."],
  ])('%j exits with 2, a sentence, and where to look', async (argv, words) => {
    const { exitCode, stdout, stderr } = await pawl(argv)
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).toContain(words)
    expect(stderr).toMatch(/^error: [A-Z]/)
    expect(stderr).toMatch(/See `pawl.* --help`\.\n$/)
  })

  test('is told as JSON to who asked for JSON', async () => {
    const { exitCode, stderr } = await pawl(['jobs', 'list', '--nonsense', '--json'])
    expect(exitCode).toBe(2)
    expect(JSON.parse(stderr)).toEqual({ code: 'usage', detail: expect.stringContaining("'--nonsense'") })
  })

  test('cannot steer the terminal', async () => {
    const { stderr } = await pawl(['\u001b[2J\u202e'])
    expect(stderr).toContain("Unknown command '\\x1b[2J\\u202e'")
    expect(stderr).not.toContain('\u001b')
  })
})

describe('the target', () => {
  test('may be named before the command or after it', async () => {
    const on = await openTarget('store')
    await enqueue(on, 'story')
    const [before, after] = await Promise.all([
      pawl(['--store', 'sqlite:pawl.db', '--json', 'jobs', 'list'], { cwd: on.folder }),
      pawl(['jobs', 'list', '--store', 'sqlite:pawl.db', '--json'], { cwd: on.folder }),
    ])
    expect(before.exitCode).toBe(0)
    expect(before.stdout).toBe(after.stdout)
  })

  test.each([
    ['sqlite: and a path', (folder: string) => `sqlite:${folder}/pawl.db`],
    ['sqlite: and a relative path', () => 'sqlite:./pawl.db'],
    ['a file URL without a host', (folder: string) => `sqlite://${folder}/pawl.db`],
    ['a plain path', (folder: string) => `${folder}/pawl.db`],
    ['a plain relative path', () => 'pawl.db'],
  ])('may be %s', async (_, address) => {
    const on = await openTarget('store')
    const { exitCode } = await pawl(['jobs', 'list', '--store', address(on.folder)], { cwd: on.folder })
    expect(exitCode).toBe(0)
  })

  test.each([
    ['postgres:pawl', 'Expected the address of a database such as postgres://'],
    ['mysql://localhost/x', "unknown kind 'mysql:'"],
    ['sqlite:', 'got no name'],
    ['', 'got no name'],
    ['sqlite://pawl.db', 'without slashes'],
  ])('%j is refused with the reason', async (address, words) => {
    const { exitCode, stderr } = await pawl(['jobs', 'list', '--store', address])
    expect(exitCode).toBe(2)
    expect(stderr).toContain(words)
  })

  test.each([
    'nonsense',
    'ftp://example.com',
    'http://user:password@example.com',
    'http://example.com/?a=1',
    'http://example.com/#a',
    '',
  ])('the server %j is refused', async (url) => {
    const { exitCode, stderr } = await pawl(['jobs', 'list', '--server', url])
    expect(exitCode).toBe(2)
    expect(stderr).not.toContain('user:password')
  })

  test('a key that can be none is refused, and not shown', async () => {
    const { exitCode, stderr } = await pawl([
      'jobs',
      'list',
      '--server',
      'http://127.0.0.1:9',
      '--key',
      'pawl_secret\n',
    ])
    expect(exitCode).toBe(2)
    expect(stderr).not.toContain('secret')
  })

  test('is one, not two', async () => {
    const both = await pawl(['jobs', 'list', '--server', 'http://127.0.0.1:1', '--store', 'x.db'])
    expect(both.exitCode).toBe(2)
    const env = { PAWL_SERVER: 'http://127.0.0.1:1', PAWL_STORE: 'x.db' }
    expect((await pawl(['jobs', 'list'], { env })).exitCode).toBe(2)
    expect((await pawl(['jobs', 'list', '--key', 'k', '--store', 'x.db'])).exitCode).toBe(2)
  })

  test('comes from the command line, then the environment, then the configuration, then is pawl.db', async () => {
    const server = await openTarget('server')
    const job = await enqueue(server, 'story')
    const folder = newFolder()
    mkdirSync(join(folder, 'data'))
    writeInto(folder, 'pawl.config.mjs', "export default { store: 'sqlite:data/configured.db', jobs: [] }")
    const looked = async (env: Record<string, string>, ...argv: string[]) => {
      const { stderr, exitCode } = await pawl(['jobs', 'show', NOBODY, ...argv], { cwd: folder, env })
      return `${exitCode} ${stderr}`
    }
    const url = String(server.flags[1])
    expect(await looked({ PAWL_SERVER: url })).toContain(`Looked in the server ${url}.`)
    expect(await looked({ PAWL_SERVER: url }, '--store', 'a.db')).toContain('the store sqlite:a.db')
    expect(await looked({ PAWL_STORE: 'b.db' })).toContain('the store sqlite:b.db')
    expect(await looked({})).toContain('the store sqlite:data/configured.db')
    expect(
      await pawl(['jobs', 'show', job], { cwd: folder, env: { PAWL_STORE: 'b.db' } }).then(({ exitCode }) => exitCode),
    ).toBe(1)
    const bare = newFolder()
    expect((await pawl(['jobs', 'show', NOBODY], { cwd: bare })).stderr).toContain('the store sqlite:pawl.db')
  })

  test.each([['migrate'], ['backup', 'x.db'], ['doctor'], ['serve'], ['worker']])(
    '%s works on a store only, and says why',
    async (...argv) => {
      const { exitCode, stderr } = await pawl([
        ...argv.filter((word) => word !== undefined),
        '--server',
        'http://127.0.0.1:1',
      ])
      expect(exitCode).toBe(2)
      expect(stderr).toContain('Use --store instead of the server http://127.0.0.1:1, which --server names.')
    },
  )

  test.each([
    ['jobs', 'list'],
    ['jobs', 'cancel', NOBODY],
    ['why', NOBODY],
    ['status'],
    ['types'],
    ['doctor'],
    ['backup', 'copy.db'],
    ['prune', '--older-than', '1d'],
  ])('%s %s on a database that is not there says so, and makes none', async (...argv) => {
    const folder = newFolder()
    const { exitCode, stdout, stderr } = await pawl(
      argv.filter((word) => word !== undefined),
      { cwd: folder },
    )
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toContain('There is no database yet: the store sqlite:pawl.db.')
    expect(readdirSync(folder)).toEqual([])
  })

  test('a file of another program is refused, and left alone', async () => {
    const folder = newFolder()
    writeInto(folder, 'pawl.db', 'this is no database, but a shopping list: milk, eggs, bread')
    const { exitCode, stderr } = await pawl(['jobs', 'list'], { cwd: folder })
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(/^error: /)
    expect(stderr).not.toContain('    at ')
  })
})

describe('an error', () => {
  test.each([
    [400, 2],
    [401, 1],
    [403, 1],
    [404, 4],
    [409, 5],
    [412, 5],
    [413, 2],
    [422, 2],
    [429, 1],
    [500, 1],
    [502, 1],
    [503, 1],
    [504, 1],
    [0, 1],
  ])('that the API answers with %i exits with %i', (status, exitCode) => {
    expect(exitCodeOfStatus(status)).toBe(exitCode)
  })

  test('has a stack with --verbose only', async () => {
    const folder = newFolder()
    writeInto(folder, 'pawl.db', 'x'.repeat(5_000))
    expect((await pawl(['jobs', 'list'], { cwd: folder })).stderr).not.toContain('    at ')
    expect((await pawl(['jobs', 'list', '--verbose'], { cwd: folder })).stderr).toContain('    at ')
  })
})

// What a handler, a caller or a webhook can write into a store, a person will see.
const HOSTILE = '\u001b]0;owned\u0007\u001b[2J\u009b31m\r\u202eEVIL'
const COMMANDS = [
  ['jobs', 'list'],
  ['runs', 'list'],
  ['audit'],
  ['nodes'],
  ['status'],
  ['keys', 'list'],
  ['templates', 'list'],
  ['schedules', 'list'],
  ['groups', 'list'],
  ['webhooks', 'list'],
]

describe.each(TARGETS)('hostile texts on a %s', (kind) => {
  test('steer nothing, in no command', async () => {
    const on = await openTarget(kind)
    const hostile = defineJob({
      type: 'hostile',
      retry: { maxRetries: 0 },
      run: ({ log, progress }) => {
        log.info(`${HOSTILE}\nsecond line`, { [HOSTILE]: HOSTILE })
        progress(0.5, HOSTILE)
        throw new Error(HOSTILE)
      },
    })
    const worker = await openScheduler({
      store: sqlite(join(on.folder, 'pawl.db')),
      jobs: [hostile],
      name: `node ${HOSTILE}`,
    })
    await worker.start()
    const named = [
      '--name',
      HOSTILE,
      '--tag',
      HOSTILE,
      '--business-key',
      HOSTILE,
      '-p',
      `${HOSTILE.replaceAll('.', '')}=${HOSTILE}`,
    ]
    const job = await enqueue(on, 'hostile', ...named)
    await worker.settled(job)
    const { webhook_id } = await on.json<{ webhook_id: string }>(
      'webhooks',
      'create',
      'https://example.com/',
      '--name',
      HOSTILE,
    )
    await on.json('templates', 'create', HOSTILE, '--type', 'hostile', '--description', HOSTILE)
    await on.json('schedules', 'create', HOSTILE, '--type', 'hostile', '--every', '1h')
    writeInto(on.folder, 'jobs.json', [{ type: 'hostile', name: HOSTILE }])
    await on.json('groups', 'create', HOSTILE, '--file', 'jobs.json')
    if (kind === 'store') await on.json('keys', 'create', '--name', HOSTILE, '--role', 'admin')
    const waiting = await enqueue(on, 'hostile', '--delay', '1h')
    await on.json('jobs', 'cancel', waiting, '--reason', HOSTILE)
    const more = [
      ['jobs', 'show', job],
      ['jobs', 'show', waiting],
      ['jobs', 'logs', job],
      ['why', job],
      ['why', waiting],
      ['webhooks', 'show', webhook_id],
      ['jobs', 'show', HOSTILE],
      ['run', 'hostile'],
      ['enqueue', HOSTILE],
      ['limits', 'set', HOSTILE, '1'],
    ]
    for (const argv of [...COMMANDS, ...more]) {
      for (const columns of [undefined, 40, 80, 200]) {
        for (const flags of [[], ['--json'], ['--verbose']]) {
          const options = columns === undefined ? { env: { NO_COLOR: '1' } } : { columns, env: { NO_COLOR: '1' } }
          const { stdout, stderr } = await on.pawlWith(options, ...argv, ...flags)
          // Only newlines may be left of all that steers.
          expect({ argv, text: `${stdout}${stderr}` }).toEqual({
            argv,
            text: expect.not.stringMatching(/(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u),
          })
        }
      }
    }
    const { stdout } = await on.pawl('jobs', 'logs', job)
    expect(stdout.split('\n')[1]).toBe(`    second line ${stdout.split('\n')[1]?.slice('    second line '.length)}`)
    await worker.close()
  }, 120_000)
})

describe('colour', () => {
  test('is on a terminal only, and NO_COLOR and --no-color switch it off', async () => {
    const on = await openTarget('store')
    await on.scheduler.start()
    await on.scheduler.settled(await enqueue(on, 'story'))
    const list = async (options: object, ...flags: string[]) =>
      (await on.pawlWith(options, 'jobs', 'list', ...flags)).stdout
    expect(await list({})).not.toContain('\u001b[')
    expect(await list({ columns: 120 })).toContain('\u001b[32m')
    expect(await list({ columns: 120, env: { NO_COLOR: '1' } })).not.toContain('\u001b[')
    expect(await list({ columns: 120 }, '--no-color')).not.toContain('\u001b[')
    expect(await list({ env: { FORCE_COLOR: '1' } })).toContain('\u001b[32m')
    expect(await list({ columns: 120 }, '--json')).not.toContain('\u001b[')
  })
})
