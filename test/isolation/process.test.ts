import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { processIsolation } from '../../dist/engine/isolation/process.js'
import { isSameProcess, killOrphan, type ProcessIdentity } from '../../dist/platform/processes.js'
import { areGone, HANDLER, identityOf, newFolder, stage } from './stage.ts'

const isolation = processIsolation({ module: HANDLER })

test('a child that is killed has died, and the signal is named', async () => {
  const { ended } = stage(isolation, { act: 'killSelf' })
  expect(await ended).toEqual({ kind: 'died', message: 'The child process was killed by SIGKILL.', exitCode: null })
})

test('a child is recorded as it is, and is gone when its body has ended', async () => {
  const recorded: ProcessIdentity[] = []
  const { body, ended, hears } = stage(
    isolation,
    { act: 'heed' },
    {
      async recordChild(child) {
        recorded.push(child)
        return 'recorded'
      },
    },
  )
  await hears('waiting')
  expect(recorded).toEqual([identityOf(recorded[0]?.pid ?? 0)])
  expect(recorded.every(isSameProcess)).toBe(true)
  body.interrupt('cancelled')
  await ended
  expect(recorded.some(isSameProcess)).toBe(false)
})

test('a child whose Run ended meanwhile never begins', async () => {
  const path = join(newFolder(), 'mark')
  const { ended } = stage(
    isolation,
    { act: 'mark', path },
    {
      async recordChild() {
        // Time enough: a child that was started later has come to its end.
        await stage(isolation, { act: 'mark', path: `${path}-of-the-other` }).ended
        return 'late'
      },
    },
  )
  expect(await ended).toEqual({ kind: 'died', message: 'The Run ended before its child began.', exitCode: null })
  expect(existsSync(`${path}-of-the-other`)).toBe(true)
  expect(existsSync(path)).toBe(false)
})

test('a child that cannot be recorded never begins', async () => {
  const path = join(newFolder(), 'mark')
  const error = new Error('the store is away')
  const { ended } = stage(isolation, { act: 'mark', path }, { recordChild: () => Promise.reject(error) })
  expect(await ended).toEqual({ kind: 'threw', error, retryable: true, exitCode: null })
  expect(existsSync(path)).toBe(false)
})

test('a child that is interrupted before it began is killed at once', async () => {
  const path = join(newFolder(), 'mark')
  const staged = stage(
    isolation,
    { act: 'mark', path },
    {
      async recordChild(child) {
        staged.body.interrupt('shutdown')
        await areGone([child])
        return 'recorded'
      },
    },
  )
  expect(await staged.ended).toMatchObject({ kind: 'died', message: expect.stringContaining('before it began') })
  expect(existsSync(path)).toBe(false)
})

test('a child that cannot be started has died', async () => {
  const { execPath } = process
  process.execPath = '/nonexistent/node'
  onTestFinished(() => {
    process.execPath = execPath
  })
  const { ended } = stage(isolation, { act: 'nothing' })
  const message = expect.stringContaining('The child process could not be started: spawn /nonexistent/node ENOENT')
  expect(await ended).toEqual({ kind: 'died', message, exitCode: null })
})

test('what a child prints is in its log file, whole, when its body has ended; only we can read it', async () => {
  const logPath = join(newFolder(), 'run.log')
  const lines = 20_000
  const { ended, said } = stage(isolation, { act: 'print', lines, text: 'x'.repeat(50) }, { logPath })
  expect(await ended).toMatchObject({ kind: 'returned', value: 'printed' })
  const text = readFileSync(logPath, 'utf8')
  expect(text).toContain('on stderr')
  expect(text.match(/^x+ \d+$/gm)).toHaveLength(lines)
  expect(statSync(logPath).mode & 0o777).toBe(0o600)
  expect(said).toEqual([])
})

test('the log file is appended to', async () => {
  const logPath = join(newFolder(), 'run.log')
  writeFileSync(logPath, 'before\n')
  await stage(isolation, { act: 'print', lines: 1 }, { logPath }).ended
  expect(readFileSync(logPath, 'utf8')).toMatch(/^before\n/)
})

test.each([
  ['a link', (path: string) => symlinkSync(`${path}-target`, path)],
  ['in a folder that does not exist', () => {}],
])('a log file that is %s is a warning, and the body goes on', async (name, prepare) => {
  const logPath = name === 'a link' ? join(newFolder(), 'run.log') : '/nonexistent/run.log'
  prepare(logPath)
  const { ended, said } = stage(isolation, { act: 'print', lines: 1 }, { logPath })
  expect(await ended).toMatchObject({ kind: 'returned' })
  expect(said).toEqual([['log', 'warn', expect.stringContaining(`cannot be kept in ${logPath}`), undefined]])
  expect(existsSync(`${logPath}-target`)).toBe(false)
})

test('a death tells the last lines that the child printed, with or without a log file', async () => {
  const end = await stage(isolation, { act: 'print', lines: 100, exitCode: 3 }).ended
  if (end.kind !== 'died') expect.fail(JSON.stringify(end))
  const [sentence, ...tail] = end.message.split('\n')
  expect(sentence).toBe('The child process exited with code 3 before it had an answer.')
  expect(tail).toHaveLength(20)
  expect(tail).toEqual(expect.arrayContaining(['line 100', 'on stderr']))
})

test('the last lines are short however long they are', async () => {
  const end = await stage(isolation, { act: 'print', lines: 100, text: 'é'.repeat(5_000), exitCode: 3 }).ended
  if (end.kind !== 'died') expect.fail(JSON.stringify(end))
  expect(Buffer.byteLength(end.message)).toBeLessThan(9_000)
  expect(end.message).not.toContain('\ufffd')
})

test('a child has the environment of its parent', async () => {
  process.env['PAWL_TEST_SECRET'] = 'hush'
  onTestFinished(() => {
    delete process.env['PAWL_TEST_SECRET']
  })
  const { ended } = stage(isolation, { act: 'environment', name: 'PAWL_TEST_SECRET' })
  expect(await ended).toMatchObject({ value: 'hush' })
})

test('a child has the Node options of its parent, but not its debugger and not its code', async () => {
  const { execArgv } = process
  process.execArgv = ['--no-deprecation', '--inspect-brk=9999', '-e', 'code', '--eval=code', '--trace-warnings']
  onTestFinished(() => {
    process.execArgv = execArgv
  })
  const { ended } = stage(processIsolation({ module: HANDLER }), { act: 'arguments' })
  expect(await ended).toMatchObject({ value: ['--no-deprecation', '--trace-warnings'] })
})

test('a child has the Node options that were given', async () => {
  const { ended } = stage(processIsolation({ module: HANDLER, execArgv: ['--no-warnings'] }), { act: 'arguments' })
  expect(await ended).toMatchObject({ value: ['--no-warnings'] })
})

test('a process that the handler left behind is killed', async () => {
  const { ended, hears } = stage(isolation, { act: 'start' })
  const { pid } = (await hears('started')) as { pid: number }
  const started = identityOf(pid)
  expect(await ended).toMatchObject({ kind: 'returned', value: pid })
  expect(isSameProcess(started)).toBe(false)
})

test('a child that is killed after the grace takes what it started along', async () => {
  const { body, ended, hears } = stage(isolation, { act: 'start', thenLoop: true }, { killGraceMs: 20 })
  const started = identityOf(((await hears('started')) as { pid: number }).pid)
  body.interrupt('timeout')
  expect(await ended).toMatchObject({ kind: 'died', exitCode: null })
  expect(isSameProcess(started)).toBe(false)
})

test('a process that the handler detached lives on, and does not keep its body from ending', async () => {
  const { ended, hears } = stage(isolation, { act: 'start', detached: true })
  const started = identityOf(((await hears('started')) as { pid: number }).pid)
  expect(await ended).toMatchObject({ kind: 'returned' })
  expect(isSameProcess(started)).toBe(true)
  expect(await killOrphan(started)).toBe('killed')
})
