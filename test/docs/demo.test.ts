import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { call, PATIENCE, type PawlProcess, startNode, startProgram } from '../cli/serve-process.ts'
import { ROOT } from './markdown.ts'

// `npm start` without the build. Every command that it prints is executed as it is printed.

const folder = mkdtempSync(join(tmpdir(), 'pawl-demo-'))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function startDemo(
  name: string,
  env: Record<string, string> = {},
): Promise<PawlProcess & { readonly url: string }> {
  const demo = startNode(['demo/start.mjs', '--folder', join(folder, name)], ROOT, { PORT: '0', ...env })
  const [, url = ''] = await demo.prints(/^Pawl is ready at (\S+) /)
  await demo.prints(/^What the webhook receives:$/)
  return { ...demo, url }
}

async function end(demo: PawlProcess): Promise<void> {
  demo.kill('SIGINT')
  expect(await demo.exited).toBe(0)
}

function commandsOf(demo: PawlProcess): string[] {
  const lines = demo.stdout.filter((line) => line.startsWith('    ') && !line.startsWith('    #'))
  return lines.map((line) => line.trim())
}

/** As a person would: in a shell, in the folder of the repository. */
async function execute(command: string, env: Record<string, string> = {}) {
  const shell = startProgram('bash', ['-c', command], ROOT, env)
  return { command, exit: await shell.exited, stdout: shell.stdout, stderr: shell.stderr }
}

function countsOf(url: string) {
  const lists = ['job-templates', 'schedules', 'webhooks', 'job-groups', 'jobs?status=QUEUED']
  return Promise.all(
    lists.map(async (path) => {
      const { body } = await call(url, 'GET', `/api/${path}`)
      return (body['items'] as unknown[]).length
    }),
  )
}

describe('the demo', () => {
  it('proposes commands that work as printed', { timeout: 180_000 }, async () => {
    const demo = await startDemo('commands')
    const commands = commandsOf(demo)
    const asked = commands
      .filter((command) => command.startsWith('npx pawl why'))
      .map((command) => command.split(' ')[3])
    expect(asked).toHaveLength(2)
    for (const jobId of asked) {
      expect(await call(demo.url, 'GET', `/api/jobs/${jobId}`)).toMatchObject({ body: { status: 'QUEUED' } })
    }

    const watching = commands.filter((command) => command.includes(' watch '))
    expect(watching).toEqual([`npx pawl watch --server ${demo.url}`])
    const watch = startProgram('bash', ['-c', String(watching[0])], ROOT)
    const others = commands.filter((command) => !watching.includes(command))
    expect(others.length).toBeGreaterThan(10)
    for (const command of others) {
      expect(await execute(command)).toMatchObject({ command, exit: 0 })
    }

    // Ctrl-C in a terminal reaches all of them. Pawl exits with 0; npx dies of the signal.
    await watch.prints(/ job\.finished /)
    process.kill(-Number(watch.child.pid), 'SIGINT')
    expect([0, 'SIGINT']).toContain(await watch.exited)
    await demo.prints(/^ {2}job\.settled: flaky "news feed" COMPLETED after 3 attempts$/)
    await demo.prints(/^ {2}job\.settled: notify "newsletter" CANCELLED/)
    await end(demo)
    expect(demo.stderr.filter((line) => !line.startsWith('Stopping.'))).toEqual([])
  })

  it('can be started again and again: nothing piles up', { timeout: 60_000 }, async () => {
    const first = await startDemo('again')
    const before = await countsOf(first.url)
    await end(first)
    const second = await startDemo('again')
    const after = await countsOf(second.url)
    await end(second)
    expect(before.slice(0, 4)).toEqual([1, 1, 1, 1])
    expect(after.slice(0, 4)).toEqual(before.slice(0, 4))
    expect(after[4]).toBeLessThanOrEqual(Number(before[4]) + 4)
  })

  it('can be started again after somebody made a key, with that key', { timeout: 60_000 }, async () => {
    const first = await startDemo('keys')
    const { body } = await call(first.url, 'POST', '/api/keys', { name: 'me', role: 'admin' })
    await end(first)

    const without = startNode(['demo/start.mjs', '--folder', join(folder, 'keys'), '--port', '0'], ROOT)
    await vi.waitFor(() => expect(without.stderr.join('\n')).toContain('as PAWL_API_KEY, or begin anew'), PATIENCE)
    await end(without)

    const PAWL_API_KEY = String(body['key'])
    const again = await startDemo('keys', { PAWL_API_KEY })
    const asking = commandsOf(again).filter((command) => command.includes('/why'))
    expect(asking).toHaveLength(1)
    expect(await execute(String(asking[0]), { PAWL_API_KEY })).toMatchObject({ exit: 0 })
    await end(again)
  })

  it('ends when npm was told to end, which tells only its shell', async () => {
    const command = `node demo/start.mjs --port 0 --folder ${join(folder, 'shell')}; true`
    const shell = startProgram('sh', ['-c', command], ROOT, { npm_lifecycle_event: 'start' })
    const [, url = ''] = await shell.prints(/^Pawl is ready at (\S+) /)
    await shell.prints(/^What the webhook receives:$/)
    shell.kill('SIGTERM')
    await vi.waitFor(() => expect(fetch(url)).rejects.toThrow(), PATIENCE)
    // It is over when the last that could print is gone.
    expect(await shell.exited).toBe('SIGTERM')
  })

  it('says what to do when its port is taken', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    const demo = startNode(['demo/start.mjs', '--folder', join(folder, 'taken'), '--port', String(port)], ROOT)
    expect(await demo.exited).toBe(1)
    other.close()
    expect(demo.stdout).toEqual([])
    expect(demo.stderr).toEqual([
      `error: Port ${port} on 127.0.0.1 is in use already. Stop what listens there, or choose another port.`,
      'Choose another port: PORT=4750 npm start, or npm start -- --port 4750',
    ])
  })
})
