import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FakePipe, Session } from './watch-terminal.ts'

const folder = mkdtempSync(join(tmpdir(), 'pawl-completion-'))
const script = join(folder, 'pawl.bash')

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function scriptFor(shell: string): Promise<string> {
  const pipe = new FakePipe()
  expect(await new Session(['completion', shell], pipe, folder).exited).toBe(0)
  return pipe.text
}

describe('the script for bash, in a real bash', () => {
  beforeAll(async () => writeFileSync(script, await scriptFor('bash')))

  /** What bash would offer after these words; the last one is being typed. */
  function offers(...words: string[]): string[] {
    const program = `set -eu
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_pawl
printf '%s\\n' "\${COMPREPLY[@]-}"`
    const output = execFileSync('bash', ['--norc', '-c', program, 'bash', script, ...words], { encoding: 'utf8' })
    return output.split('\n').filter((line) => line !== '')
  }

  test('completes commands', () => {
    expect(offers('pawl', 'wa')).toEqual(['watch'])
    expect(offers('pawl', '')).toEqual(expect.arrayContaining(['serve', 'worker', 'init', 'jobs', 'completion']))
  })

  test('completes what follows a command, also after its options and their values', () => {
    expect(offers('pawl', 'jobs', 'ca')).toEqual(['cancel'])
    expect(offers('pawl', '--server', 'http://127.0.0.1:4747', '--json', 'jobs', 'ca')).toEqual(['cancel'])
  })

  test('completes options of the command and those of all commands', () => {
    expect(offers('pawl', 'serve', '--con')).toEqual(['--concurrency', '--config'])
    expect(offers('pawl', 'jobs', 'cancel', '<job>', '--ab')).toEqual(['--abort'])
    expect(offers('pawl', 'worker', '--host')).toEqual([])
  })

  test('completes values where there are only a few', () => {
    expect(offers('pawl', 'completion', 'z')).toEqual(['zsh'])
    expect(offers('pawl', 'jobs', 'list', '--status', 'Q')).toEqual(['QUEUED'])
    expect(offers('pawl', 'keys', 'create', '--role', '')).toEqual(['viewer', 'operator', 'admin'])
    expect(offers('pawl', 'jobs', 'move', '--to', '')).toEqual(['front', 'back'])
    expect(offers('pawl', 'schedules', 'create', '--missed', '')).toEqual(['one', 'all', 'none'])
    expect(offers('pawl', 'schedules', 'create', '--overlap', 'q')).toEqual(['queue-one'])
    expect(offers('pawl', 'enqueue', '--on-parent-failure', '')).toEqual(['cancel', 'run', 'wait'])
    expect(offers('pawl', 'groups', 'create', '--mode', '')).toEqual(['parallel', 'sequential'])
  })

  test('leaves other values to the names of files', () => {
    expect(offers('pawl', 'serve', '--config', '')).toEqual([])
  })
})

test.each(['bash', 'zsh', 'fish'])('the script for %s knows every command and option of the program', async (shell) => {
  const text = await scriptFor(shell)
  for (const word of [
    'serve',
    'worker',
    'init',
    'watch',
    'schedules',
    'accept-any-type',
    'shutdown-timeout',
    'no-color',
  ]) {
    expect(text).toContain(word)
  }
})

test('another shell is refused', async () => {
  const session = new Session(['completion', 'powershell'], new FakePipe(), folder)
  expect(await session.exited).toBe(2)
  expect(session.stderr.text).toContain('bash, zsh, fish')
})
