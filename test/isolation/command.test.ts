import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { commandIsolation } from '../../dist/engine/isolation/command.js'
import type { ProcessIdentity } from '../../dist/platform/processes.js'
import { areGone, identityOf, LONG_GRACE_MS, newFolder, PATIENCE, stage } from './stage.ts'

const onLinux = process.platform === 'linux'

/** A command made of a program for `node -e` and arguments for it. */
function script(code: string, ...args: string[]) {
  return { argv: () => [process.execPath, '-e', code, ...args] }
}

/** Runs a script that prints JSON, and reads what it printed. */
async function printed(options: Parameters<typeof commandIsolation>[0], params: unknown = {}) {
  const logPath = join(newFolder(), 'run.log')
  const end = await stage(commandIsolation(options), params, { logPath }).ended
  expect(end).toEqual({ kind: 'returned', value: null, exitCode: 0 })
  return JSON.parse(readFileSync(logPath, 'utf8'))
}

describe('a command', () => {
  test('that exits with 0 has returned', async () => {
    const { ended } = stage(commandIsolation({ argv: () => ['true'] }), {})
    expect(await ended).toEqual({ kind: 'returned', value: null, exitCode: 0 })
  })

  test('that exits with another code has failed, with its last lines', async () => {
    const { ended } = stage(commandIsolation(script('console.log("a"); console.error("b"); process.exitCode = 7')), {})
    const end = await ended
    expect(end).toMatchObject({ kind: 'threw', retryable: true, exitCode: 7 })
    if (end.kind !== 'threw') expect.fail(JSON.stringify(end))
    expect((end.error as Error).message).toMatch(/^Command exited with code 7\n(a\nb|b\na)$/)
    expect((end.error as Error).stack).not.toContain('body-end')
  })

  test('that is killed has failed without a code', async () => {
    const { ended } = stage(commandIsolation(script('process.kill(process.pid, "SIGKILL")')), {})
    const error = { message: 'Command was killed by SIGKILL' }
    expect(await ended).toMatchObject({ kind: 'threw', error, retryable: true, exitCode: null })
  })

  test('that is not there has failed, and says so', async () => {
    const { ended } = stage(commandIsolation({ argv: () => ['no-such-command-of-pawl'] }), {})
    const error = { message: expect.stringContaining('no-such-command-of-pawl was not found') }
    expect(await ended).toMatchObject({ kind: 'threw', error, retryable: true, exitCode: null })
  })

  test('that is not executable has failed, and says so', async () => {
    const { ended } = stage(commandIsolation({ argv: () => ['/etc/passwd'] }), {})
    expect(await ended).toMatchObject({ error: { message: expect.stringContaining('may not be executed') } })
  })

  test('cannot start in a folder that does not exist', async () => {
    const { ended } = stage(commandIsolation({ argv: () => ['true'], cwd: '/nonexistent' }), {})
    expect(await ended).toMatchObject({ error: { message: expect.stringContaining('no such folder') } })
  })

  test('starts in its folder', async () => {
    const cwd = newFolder()
    expect(await printed({ ...script('console.log(JSON.stringify(process.cwd()))'), cwd })).toBe(cwd)
  })

  test('reads its params from its input, and then the end', async () => {
    const params = { name: 'Zoë', list: [1, null] }
    expect(await printed({ argv: () => ['cat'] }, params)).toEqual(params)
  })

  test('need not read its input', async () => {
    const { ended } = stage(commandIsolation({ argv: () => ['true'] }), { text: 'x'.repeat(5_000_000) })
    expect(await ended).toMatchObject({ kind: 'returned' })
  })

  test('gets its arguments as they are: no shell reads them', async () => {
    const folder = newFolder()
    const wild = [
      `$(touch ${folder}/a)`,
      `; touch ${folder}/b`,
      '`id`',
      'a  b',
      '*',
      '"',
      "'",
      '',
      '\n',
      '$HOME',
      '&&',
      '|',
    ]
    expect(await printed(script('console.log(JSON.stringify(process.argv.slice(1)))', '--', ...wild))).toEqual(wild)
    expect(existsSync(`${folder}/a`) || existsSync(`${folder}/b`)).toBe(false)
  })

  test('makes its arguments from the params', async () => {
    const argv = (params: unknown) => ['echo', JSON.stringify(params)]
    expect(await printed({ argv }, { n: 1 })).toEqual({ n: 1 })
  })

  test.each([[[]], [['']], [['echo', 1]], [['echo', 'a\0b']], ['echo'], [null]])(
    'refuses the arguments %j',
    async (argv) => {
      const { ended } = stage(commandIsolation({ argv: () => argv as string[] }), {})
      expect(await ended).toMatchObject({ kind: 'threw', error: { name: 'TypeError' } })
    },
  )

  test('whose arguments cannot be made has failed', async () => {
    const error = Object.assign(new Error('no'), { name: 'NonRetryableError' })
    const argv = () => {
      throw error
    }
    expect(await stage(commandIsolation({ argv }), {}).ended).toMatchObject({ kind: 'threw', error, retryable: false })
  })

  test('prints into a log file that only we can read', async () => {
    const logPath = join(newFolder(), 'run.log')
    await stage(commandIsolation({ argv: () => ['sh', '-c', 'echo out; echo err >&2'] }), {}, { logPath }).ended
    expect(readFileSync(logPath, 'utf8').split('\n').sort()).toEqual(['', 'err', 'out'])
    expect(statSync(logPath).mode & 0o777).toBe(0o600)
  })
})

describe('the environment of a command', () => {
  const show = script('console.log(JSON.stringify(process.env))')

  test('has the ids of its Job and a few harmless variables, and no secret of ours', async () => {
    withSecret()
    const env = await printed(show)
    expect(env).toMatchObject({
      PATH: process.env['PATH'],
      PAWL_JOB_ID: 'j-1',
      PAWL_RUN_ID: 'r-1',
      PAWL_CHAIN_ID: 'c-1',
    })
    expect(env).toMatchObject({ PAWL_ATTEMPT: '2' })
    const allowed = /^(PATH|HOME|LANG|LC_ALL|TZ|TMPDIR|USER|PAWL_(JOB_ID|RUN_ID|CHAIN_ID|ATTEMPT))$/
    expect(Object.keys(env).filter((name) => !allowed.test(name))).toEqual([])
  })

  test.runIf(onLinux)('is not found in that of its parent either', async () => {
    withSecret()
    const text = await printed(
      script('console.log(JSON.stringify(require("fs").readFileSync(`/proc/${process.ppid}/environ`, "utf8")))'),
    )
    expect(text).toContain('PATH=')
    expect(text).not.toContain('hush')
  })

  test('has what was allowed and what was set', async () => {
    withSecret()
    const inherit = ['PAWL_TEST_SECRET', 'PAWL_TEST_NOT_THERE']
    const env = await printed({ ...show, env: { inherit, set: { GREETING: 'hello', PAWL_JOB_ID: 'forged' } } })
    expect(env).toMatchObject({ PAWL_TEST_SECRET: 'hush', GREETING: 'hello', PAWL_JOB_ID: 'j-1' })
    expect(env).toHaveProperty('PATH')
    expect(env).not.toHaveProperty('PAWL_TEST_NOT_THERE')
  })

  test('does not reach the launcher', async () => {
    // This option would keep the launcher from starting.
    const set = { NODE_OPTIONS: '--require=/nonexistent.js' }
    const { ended } = stage(commandIsolation({ argv: () => ['sh', '-c', 'test -n "$NODE_OPTIONS"'], env: { set } }), {})
    expect(await ended).toMatchObject({ kind: 'returned', exitCode: 0 })
  })

  function withSecret(): void {
    process.env['PAWL_TEST_SECRET'] = 'hush'
    onTestFinished(() => {
      delete process.env['PAWL_TEST_SECRET']
    })
  }
})

describe('an interrupted command', () => {
  test('is asked to end by SIGTERM, and may end in good order', async () => {
    const code = 'process.on("SIGTERM", () => process.exit(0)); console.log("ready"); setInterval(() => {}, 1000)'
    const { body, ended, logPath } = running(script(code), LONG_GRACE_MS)
    await reads(logPath, /ready/)
    body.interrupt('cancelled')
    expect(await ended).toEqual({ kind: 'returned', value: null, exitCode: 0 })
  })

  test('that does not heed it is killed after the grace, with all that it started', async () => {
    const { body, ended, logPath } = running(
      { argv: () => ['sh', '-c', 'trap "" TERM; sleep 1000 & echo "$! $$ ready"; wait; wait'] },
      20,
    )
    const pids = await reads(logPath, /^(\d+) (\d+) ready/)
    body.interrupt('timeout')
    expect(await ended).toMatchObject({ kind: 'died', message: expect.stringContaining('was killed'), exitCode: null })
    await areGone(pids)
  })
})

test('a command does not outlive its launcher', async () => {
  const recorded: ProcessIdentity[] = []
  const { ended, logPath } = running(
    { argv: () => ['sh', '-c', 'echo "$$ ready"; exec sleep 1000'] },
    LONG_GRACE_MS,
    recorded,
  )
  const pids = await reads(logPath, /^(\d+) ready/)
  process.kill(recorded[0]?.pid ?? 0, 'SIGKILL')
  expect(await ended).toMatchObject({ kind: 'died', message: expect.stringContaining('SIGKILL') })
  await areGone(pids)
})

test.runIf(onLinux)('what a command left running in its group is killed when it has exited', async () => {
  const { ended, logPath } = running(
    { argv: () => ['sh', '-c', 'sleep 1000 & echo "$! ready"; read -r end < /dev/null'] },
    20,
  )
  await ended
  // The process was alive when it printed its number; it may be gone by now.
  const [, pid] = /^(\d+) ready/.exec(readFileSync(logPath, 'utf8')) ?? []
  await vi.waitFor(() => expect(stateOf(Number(pid))).toMatch(/^[ZX-]$/), PATIENCE)
})

function stateOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .slice(0, 1)
  } catch {
    return '-'
  }
}

function running(
  options: Parameters<typeof commandIsolation>[0],
  killGraceMs: number,
  recorded: ProcessIdentity[] = [],
) {
  const logPath = join(newFolder(), 'run.log')
  const staged = stage(
    commandIsolation(options),
    {},
    {
      logPath,
      killGraceMs,
      async recordChild(child) {
        recorded.push(child)
        return 'recorded'
      },
    },
  )
  return { ...staged, logPath }
}

/** Waits for what a command prints; the processes whose numbers the pattern finds. */
async function reads(logPath: string, pattern: RegExp): Promise<ProcessIdentity[]> {
  const found = await vi.waitFor(() => {
    const match = pattern.exec(readFileSync(logPath, 'utf8'))
    if (match === null) throw new Error(`Nothing like ${pattern} in ${logPath} yet.`)
    return match
  }, PATIENCE)
  return found.slice(1).map((pid) => identityOf(Number(pid)))
}
