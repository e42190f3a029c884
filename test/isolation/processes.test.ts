import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { identifyProcess, isSameProcess, killOrphan, type ProcessIdentity } from '../../dist/platform/processes.js'
import { identityOf, PATIENCE } from './stage.ts'

const onLinux = process.platform === 'linux'

describe('a process', () => {
  test('has an identity that stays the same', () => {
    const own = identityOf(process.pid)
    expect(own).toEqual(identifyProcess(process.pid))
    expect(own.startTime).toMatch(/./)
    expect(isSameProcess(own)).toBe(true)
  })

  test('that does not exist has none', async () => {
    const child = spawn('true')
    await once(child, 'exit')
    expect(identifyProcess(child.pid ?? 0)).toBeNull()
  })

  test.runIf(onLinux)('is told from others also when its name is odd', async () => {
    // The name of a program stands in the middle of what we read, in parentheses.
    const { lines, leader } = group(
      'exec -a "a) R 1 (b" node -e "process.title = \'a) R 1 (b\'; console.log(1); setInterval(() => {}, 1e6)"',
    )
    const before = identityOf(leader)
    await lines(1)
    expect(identityOf(leader)).toEqual(before)
    expect(await killOrphan(before)).toBe('killed')
  })

  test.runIf(onLinux)('that has ended but was not reaped counts as gone', async () => {
    const { lines, leader } = group('sleep 1000 & echo $!; exec sleep 1000')
    const zombie = await killUnreaped(Number((await lines(1))[0]), leader)
    expect(identifyProcess(zombie.pid)).toEqual(zombie)
    expect(await killOrphan(zombie)).toBe('gone')
  })
})

describe('an orphan', () => {
  test('is killed with its whole group, and is gone then', async () => {
    const { lines, leader } = group('sleep 1000 & echo $!; wait')
    const member = identityOf(Number((await lines(1))[0]))
    const orphan = identityOf(leader)
    expect(await killOrphan(orphan)).toBe('killed')
    expect([orphan, member].filter(isSameProcess)).toEqual([])
    expect(await killOrphan(orphan)).toBe('gone')
  })

  test.runIf(onLinux)('that has ended itself, but not its group, leaves nothing behind', async () => {
    const { lines, leader } = group(`setsid sh -c 'sleep 1000 & echo "$$ $!"; wait' & exec sleep 1000`)
    const [orphan, member] = (await lines(1))[0]?.split(' ').map((pid) => identityOf(Number(pid))) ?? []
    if (orphan === undefined || member === undefined) expect.fail('The group has not two members.')
    await killUnreaped(orphan.pid, leader)
    expect(isSameProcess(member)).toBe(true)
    expect(await killOrphan(orphan)).toBe('killed')
    expect(isSameProcess(member)).toBe(false)
  })

  test('that leads no group is killed, too', async () => {
    const { lines } = group('sleep 1000 & echo $!; wait')
    const member = identityOf(Number((await lines(1))[0]))
    expect(await killOrphan(member)).toBe('killed')
    expect(isSameProcess(member)).toBe(false)
  })

  test.each([
    ['its pid was recycled', { startTime: '1' }, 'gone'],
    ['the machine was restarted', { bootId: 'another-boot' }, 'gone'],
    ['it is on another machine', { host: 'another-host' }, 'foreign'],
    ['it is on another machine, which has another boot', { host: 'another-host', bootId: 'its-boot' }, 'foreign'],
    ['its pid counts in another container', { pidNamespace: 'pid:[1]' }, 'foreign'],
    ['its boot is unknown', { bootId: 'unknown' }, onLinux ? 'foreign' : 'gone'],
  ])('is left alone when %s', async (_why, change, answer) => {
    const { leader } = group('exec sleep 1000')
    const living = identityOf(leader)
    expect(isSameProcess({ ...living, ...change })).toBe(false)
    expect(await killOrphan({ ...living, ...change })).toBe(answer)
    expect(isSameProcess(living)).toBe(true)
  })

  test.each([0, 1, -1, Number.NaN, 1.5])('with the pid %d is nobody', async (pid) => {
    // To the kernel 0 and less mean whole groups: our own, or everyone.
    expect(await killOrphan({ ...identityOf(process.pid), pid })).toBe('gone')
  })
})

/** Kills a child of a shell that has become `sleep`, which knows nothing of children: it stays a zombie. */
async function killUnreaped(pid: number, parent: number): Promise<ProcessIdentity> {
  const child = identityOf(pid)
  await vi.waitFor(() => expect(readFileSync(`/proc/${parent}/comm`, 'utf8')).toBe('sleep\n'), PATIENCE)
  process.kill(pid, 'SIGKILL')
  await vi.waitFor(() => expect(isSameProcess(child)).toBe(false), PATIENCE)
  return child
}

/** A shell that leads its own group and is killed with it when the test is over. */
function group(code: string) {
  const shell = spawn('bash', ['-c', code], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  const leader = shell.pid ?? 0
  onTestFinished(() => {
    if (shell.exitCode === null && shell.signalCode === null) process.kill(-leader, 'SIGKILL')
  })
  const printed: string[] = []
  createInterface({ input: shell.stdout }).on('line', (line) => printed.push(line))
  const lines = (count: number) =>
    vi.waitFor(() => {
      if (printed.length < count) throw new Error('The shell has not printed enough.')
      return printed
    }, PATIENCE)
  return { leader, lines }
}
