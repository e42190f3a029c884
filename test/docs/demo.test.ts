import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, describe, expect, it } from 'vitest'
import { ROOT } from './markdown.ts'

const folder = mkdtempSync(join(tmpdir(), 'pawl-demo-'))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function startDemo(name: string) {
  const script = join(ROOT, 'demo', 'demo.mjs')
  const child = spawn(process.execPath, [script, join(folder, name)], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close') as Promise<[number | null]>
  const lines = createInterface({ input: child.stdout })
  return { child, lines, ended }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('the demo', () => {
  it('shows a whole life without a terminal, and ends by itself', { timeout: 60_000 }, async () => {
    const { lines, ended } = startDemo('whole')
    const said: string[] = []
    lines.on('line', (line) => said.push(line))
    expect(await ended).toEqual([0, null])
    const text = said.join('\n')
    // Plain lines: nothing that only a terminal understands.
    expect(text).not.toContain('\x1b')
    for (const sentence of [
      '12 jobs accepted in one commit',
      'feed news failed: 503 Service Unavailable. Attempt 2 in 1.5 s',
      'translate to Esperanto failed: timeout after',
      'payment DE-17 failed: There is no account DE-17. No retry',
      'the worker is gone, in the middle of its job',
      '1 job of the dead worker recovered',
      'photos holiday failed: crash. Attempt 2 follows at once',
      'story haiku was cancelled: the editor changed her mind',
      'render the book completed',
      'count-words completed',
      '14 jobs accepted, 18 executions, 5 retries, 0 lost or left over.',
    ]) {
      expect(text).toContain(sentence)
    }
  })

  it('leaves no process behind when it is interrupted', async () => {
    const { child, lines, ended } = startDemo('interrupted')
    let worker = 0
    for await (const line of lines) {
      worker ||= Number(/worker (\d+)$/.exec(line)?.[1] ?? 0)
      if (line.includes('story gothic: ')) break
    }
    expect(isAlive(worker)).toBe(true)
    child.kill('SIGINT')
    child.stdout.resume()
    expect(await ended).toEqual([130, null])
    await expect.poll(() => isAlive(worker), { timeout: 5_000 }).toBe(false)
  })
})
