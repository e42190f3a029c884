import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { isSameProcess, killOrphan, type ProcessIdentity } from '../../dist/platform/processes.js'
import { areGone, identityOf, newFolder, PATIENCE } from './stage.ts'

// A node that is killed by SIGKILL cannot tidy up. Nothing that it started may outlive it.

test('a child that loops for ever, and what it started, die with the node that started it', async () => {
  const node = startNode('process')
  const { child } = await node.tells<{ child: ProcessIdentity }>('child')
  const { fields } = await node.tells<{ fields: { pid: number } }>('fields')
  const family = [child, identityOf(fields.pid)]
  expect(family.every(isSameProcess)).toBe(true)
  await node.kill()
  await areGone(family)
})

test('a command and what it started die with the node that started them', async () => {
  const node = startNode('command')
  const { child } = await node.tells<{ child: ProcessIdentity }>('child')
  const pids = await vi.waitFor(() => {
    const match = /^(\d+) (\d+)\n/.exec(readFileSync(node.logPath, 'utf8'))
    if (match === null) throw new Error('The command has not begun.')
    return match.slice(1).map(Number)
  }, PATIENCE)
  const family = [child, ...pids.map(identityOf)]
  expect(family.every(isSameProcess)).toBe(true)
  await node.kill()
  await areGone(family)
})

test.each(['process', 'command'] as const)(
  'a child (%s) that may not begin yet dies with its node',
  async (isolation) => {
    const node = startNode(isolation, 'wait')
    const { child } = await node.tells<{ child: ProcessIdentity }>('child')
    await node.kill()
    await areGone([child])
  },
)

test('recovery can kill the child of a node that still lives, and the node learns of it', async () => {
  const node = startNode('command')
  const { child } = await node.tells<{ child: ProcessIdentity }>('child')
  expect(await killOrphan(child)).toBe('killed')
  expect(await killOrphan(child)).toBe('gone')
  expect(await node.tells('end')).toMatchObject({ end: { kind: 'died' } })
})

function startNode(isolation: 'process' | 'command', ...more: string[]) {
  const logPath = join(newFolder(), 'run.log')
  const script = fileURLToPath(new URL('./fixtures/parent.mjs', import.meta.url))
  const parent = spawn(process.execPath, [script, isolation, logPath, ...more], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void parent.kill('SIGKILL'))
  const told: object[] = []
  createInterface({ input: parent.stdout }).on('line', (line) => told.push(JSON.parse(line)))
  const tells = <T extends object>(key: string) =>
    vi.waitFor(() => {
      const found = told.find((what) => key in what && (what as Record<string, unknown>)[key] !== undefined)
      if (found === undefined) throw new Error(`The node has not told its ${key}.`)
      return found as T
    }, PATIENCE)
  return { logPath, tells, kill: () => killHard(parent) }
}

async function killHard(parent: ChildProcess): Promise<void> {
  const exited = once(parent, 'exit')
  parent.kill('SIGKILL')
  expect(await exited).toEqual([null, 'SIGKILL'])
}
