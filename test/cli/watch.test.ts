import { afterEach, expect, test, vi } from 'vitest'
import { serveHttp } from '../../src/http/index.ts'
import { defineJob } from '../../src/library/define-job.ts'
import { openScheduler } from '../../src/library/open-scheduler.ts'
import type { Scheduler } from '../../src/library/scheduler.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { newDatabase } from '../recovery/database.ts'
import { PATIENCE } from './serve-process.ts'
import { FakePipe, FakeTerminal, Session } from './watch-terminal.ts'

// `pawl watch`, with a real scheduler underneath and a terminal that fails when something is written that it should not.

/** What a body of this test waits for. */
const gates = new Map<string, () => void>()

const paint = defineJob({
  type: 'paint',
  resources: ['brush'],
  async run({ params, progress }) {
    const { name, said } = params as { name: string; said?: string }
    progress(0.5, said ?? 'half of the wall')
    await new Promise<void>((resolve) => gates.set(name, resolve))
    return name
  },
})

const fail = defineJob({
  type: 'fail',
  retry: { maxRetries: 0 },
  run({ params }) {
    throw new Error(params as string)
  },
})

const open: { close(): Promise<void> }[] = []
const sessions: Session[] = []

afterEach(async () => {
  for (const letGo of gates.values()) letGo()
  gates.clear()
  for (const session of sessions.splice(0)) {
    session.pressCtrlC()
    await session.exited
  }
  for (const each of open.splice(0).reverse()) await each.close()
})

async function start(file = newDatabase()): Promise<{ scheduler: Scheduler; file: string }> {
  const scheduler = await openScheduler({
    store: sqlite(file),
    jobs: [paint, fail],
    concurrency: 3,
    resources: { brush: 1 },
  })
  open.push(scheduler)
  await scheduler.start()
  return { scheduler, file }
}

function watch(output: FakeTerminal | FakePipe, ...args: string[]): Session {
  const session = new Session(['watch', ...args], output, '/')
  sessions.push(session)
  return session
}

async function begins(name: string): Promise<void> {
  await vi.waitFor(() => expect(gates.has(name)).toBe(true), PATIENCE)
}

test('a store, live: progress, the queue with what holds it, results, and Ctrl-C exits with 0', async () => {
  const { scheduler, file } = await start()
  const terminal = new FakeTerminal(100, 30)
  const session = watch(terminal, '--store', file)
  await terminal.shows(
    /^Pawl {2}sqlite .*pawl\.db {2}· {2}1 node {2}· {2}0 queued {2}· {2}0 running/,
    /Nothing has happened/,
  )
  expect(terminal.isCursorHidden).toBe(true)

  const first = await scheduler.enqueue(paint, { name: 'kitchen' }, { name: 'kitchen' })
  await scheduler.enqueue(paint, { name: 'hall' }, { name: 'hall', priority: -1 })
  await scheduler.enqueue(fail, 'the roof leaks', { name: 'roof', dependsOn: [first.jobId] })
  await scheduler.enqueue(fail, 'later', { name: 'attic', runAt: new Date(Date.now() + 3_600_000) })
  await terminal.shows(
    /3 queued {2}· {2}1 running/,
    /^Running \(1\)$/,
    /^ {2}paint kitchen +█+░+ +50 % +[\d.]+ m?s half of the wall$/,
    /^Next \(3\)$/,
    /^ {2}fail roof +waits for other jobs$/,
    /^ {2}fail attic +due in 59 m$/,
    /^ {2}paint hall +priority -1 {2}ready$/,
  )

  gates.get('kitchen')?.()
  await begins('hall')
  await terminal.shows(
    /^Running \(1\)$/,
    /^ {2}paint hall/,
    /^Next \(1\)$/,
    /^Recent$/,
    /^ {2}fail roof +✗ FAILED +\d+ ms {2}the roof leaks$/,
    /^ {2}paint kitchen +✓ COMPLETED +[\d.]+ m?s$/,
  )

  session.pressCtrlC()
  expect(await session.exited).toBe(0)
  expect(terminal.isCursorHidden).toBe(false)
  expect(session.stderr.text).toBe('')
})

test('what happened before it looked is there too, and so are direct executions', async () => {
  const { scheduler, file } = await start()
  const early = await scheduler.enqueue(fail, 'early', { name: 'early' })
  await early.settled()
  await scheduler.enqueue(paint, { name: 'wall' }, { name: 'wall' })
  await begins('wall')
  const direct = scheduler.runDirect(paint, { name: 'urgent' })
  const terminal = new FakeTerminal(100, 30)
  watch(terminal, '--store', file)
  await terminal.shows(
    /^Running/,
    /paint wall .*50 %/,
    /^Direct \(1\)$/,
    /^ {2}paint +waits for/,
    /^Recent$/,
    /fail early .*early$/,
  )
  gates.get('wall')?.()
  await begins('urgent')
  await terminal.shows(/^ {2}paint +executes for/)
  gates.get('urgent')?.()
  await direct
})

test('it follows the size of the terminal, and never writes more than fits', async () => {
  const { scheduler, file } = await start()
  for (let each = 0; each < 40; each++)
    await scheduler.enqueue(paint, { name: `n${each}` }, { name: `wall number ${each}` })
  const terminal = new FakeTerminal(100, 40)
  watch(terminal, '--store', file)
  await terminal.shows(/^Running/, /^Next \(39\)$/, /… and \d+ more/)
  for (const [columns, rows] of [
    [40, 12],
    [24, 6],
    [8, 3],
    [120, 50],
  ] as const) {
    terminal.resize(columns, rows)
    await vi.waitFor(() => {
      expect(terminal.screen.length).toBeLessThan(rows)
      // One frame, and nothing left of the one before.
      expect(terminal.screen[0]).toMatch(/^Pawl/)
      expect(terminal.screen.filter((line) => line.startsWith('Running')).length).toBeLessThanOrEqual(1)
      expect(terminal.screen.every((line) => line.length < columns)).toBe(true)
    }, PATIENCE)
  }
  await terminal.shows(/^Next \(39\)$/, /wall number 30/)
})

test('what others wrote cannot steer the terminal', async () => {
  const { scheduler, file } = await start()
  const evil = '\x1b[2J\x1b]0;owned\x07\r\n\u202eabc'
  await scheduler.enqueue(paint, { name: 'evil', said: `half${evil}` }, { name: `bad${evil}` })
  await scheduler.enqueue(fail, `oh${evil}`, { name: evil })
  const terminal = new FakeTerminal(160, 30)
  watch(terminal, '--store', file)
  await terminal.shows(/paint bad\\x1b\[2J/, /^Recent/, /oh\\x1b/)
  expect(terminal.screen.join('\n')).not.toMatch(/[^\P{C}\n]/u)
})

test('a server that goes away is waited for, and followed again', async () => {
  const { scheduler } = await start()
  const first = await serveHttp(scheduler, { port: 0 })
  const terminal = new FakeTerminal(140, 30)
  watch(terminal, '--server', first.url)
  await terminal.shows(new RegExp(`^Pawl {2}${first.url}`), /Nothing has happened/)
  await first.close()
  await terminal.shows(/^Not connected for .*Trying again …$/)
  await scheduler.enqueue(fail, 'nobody saw it', { name: 'unseen' })
  const second = await serveHttp(scheduler, { port: first.port })
  await terminal.shows(/^Recent/, /fail unseen .*nobody saw it$/)
  expect(terminal.screen.join('\n')).not.toContain('Not connected')
  await scheduler.enqueue(fail, 'seen again', { name: 'seen' })
  await terminal.shows(/^Recent/, /fail seen .*seen again$/)
  await second.close()
})

test('a server that was never there is an error', async () => {
  const session = watch(new FakeTerminal(100, 30), '--server', 'http://127.0.0.1:1')
  expect(await session.exited).toBe(1)
  expect(session.stderr.text).toContain('error: No answer from http://127.0.0.1:1')
})

test('without a terminal it prints one line for each event', async () => {
  const { scheduler, file } = await start()
  const pipe = new FakePipe()
  const session = watch(pipe, '--store', file)
  await vi.waitFor(async () => {
    // The stream begins at some moment; from then on nothing is missing.
    await (await scheduler.enqueue(fail, 'x\x1b[2J')).settled()
    expect(pipe.text).toContain('job.finished')
  }, PATIENCE)
  expect(pipe.lines.filter((line) => line.includes('job.finished'))[0]).toMatch(
    /^\d{4}-\d\d-\d\dT[\d:.]+Z job\.finished fail [0-9a-f-]{36} FAILED reason=error$/,
  )
  session.pressCtrlC()
  expect(await session.exited).toBe(0)
})

test('with --json each event is a document on a line of its own', async () => {
  const { scheduler } = await start()
  const server = await serveHttp(scheduler, { port: 0 })
  const pipe = new FakePipe()
  const session = watch(pipe, '--server', server.url, '--json')
  await vi.waitFor(async () => {
    await (await scheduler.enqueue(fail, 'x')).settled()
    expect(pipe.text).toContain('job.finished')
  }, PATIENCE)
  const events = pipe.lines.map((line) => JSON.parse(line) as { event: string; data: object })
  expect(events.find(({ event }) => event === 'job.finished')).toMatchObject({
    id: expect.stringMatching(/^\d+\.\d+$/),
    data: { job_type: 'fail', status: 'FINISHED', outcome: 'FAILED' },
  })
  session.pressCtrlC()
  expect(await session.exited).toBe(0)
  await server.close()
})
