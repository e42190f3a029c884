// What the transcript tests stand on: the CLI in this process with its output caught, on a store and on a real server.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { onTestFinished } from 'vitest'
import { Interrupted, type Io } from '../../src/cli/io.ts'
import { runCli } from '../../src/cli/run-cli.ts'
import { serveHttp } from '../../src/http/index.ts'
import { type AnyJobType, defineJob, openScheduler, type Scheduler } from '../../src/index.ts'
import { type Clock, systemClock } from '../../src/platform/clock.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'

export interface Transcript {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

export interface PawlOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  /** Instead of a text: something that may never end. */
  readonly stdinStream?: Readable
  readonly clock?: Clock
  /** A terminal so wide; without it, a pipe. */
  readonly columns?: number
  readonly interrupted?: AbortSignal
  /** Hears each write to stdout. */
  readonly written?: (text: string) => void
}

/** Executes one command line in this process. */
export async function pawl(argv: readonly string[], options: PawlOptions = {}): Promise<Transcript> {
  const texts = { stdout: '', stderr: '' }
  const outputTo = (name: keyof typeof texts) => ({
    isTTY: options.columns !== undefined,
    columns: options.columns,
    write: (text: string) => {
      texts[name] += text
      if (name === 'stdout') options.written?.(text)
    },
  })
  const io: Io = {
    stdin: options.stdinStream ?? Readable.from(options.stdin === undefined ? [] : [options.stdin]),
    stdout: outputTo('stdout'),
    stderr: outputTo('stderr'),
    env: options.env ?? {},
    cwd: options.cwd ?? tmpdir(),
    user: 'ada',
    clock: options.clock ?? systemClock,
    interrupted: options.interrupted ?? new AbortController().signal,
    outputClosed: new AbortController().signal,
  }
  const exitCode = await runCli(argv, io)
  return { exitCode, ...texts }
}

/** An interrupt that a test can send. */
export function interruption(): { readonly signal: AbortSignal; interrupt(): void } {
  const controller = new AbortController()
  return { signal: controller.signal, interrupt: () => controller.abort(new Interrupted(130)) }
}

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Writes a file into the folder, and returns its name. */
export function writeInto(folder: string, name: string, content: string | object): string {
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
  return name
}

/** The types that a stage handles. `wait` goes on until it is aborted. */
export const JOBS: readonly AnyJobType[] = [
  defineJob({
    type: 'story',
    run: ({ params, log, progress }) => {
      log.info('once upon a time', { page: 1 })
      progress(0.5, 'half')
      return { told: params }
    },
  }),
  defineJob({
    type: 'broken',
    retry: { maxRetries: 0 },
    run: () => {
      throw new Error('the pen broke')
    },
  }),
  defineJob({
    type: 'wait',
    run: ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(null))),
  }),
]

export const RESOURCES = { pen: 1 }

/** One target of the CLI, with a scheduler behind it that handles `JOBS`. */
export interface CliTarget {
  readonly kind: 'store' | 'server'
  readonly folder: string
  readonly scheduler: Scheduler
  /** `--store …` or `--server …`. */
  readonly flags: readonly string[]
  /** Executes a command on this target. */
  pawl(...argv: readonly string[]): Promise<Transcript>
  pawlWith(options: PawlOptions, ...argv: readonly string[]): Promise<Transcript>
  /** The same with `--json`; fails unless it exits with 0. */
  json<Value = Record<string, unknown>>(...argv: readonly string[]): Promise<Value>
}

/** A store with a scheduler, which a server may stand before. Jobs are executed once `scheduler.start()` was called. */
export async function openTarget(
  kind: CliTarget['kind'],
  options: { readonly concurrency?: number } = {},
): Promise<CliTarget> {
  const folder = newFolder()
  const store = sqlite(join(folder, 'pawl.db'), { durability: 'process' })
  const scheduler = await openScheduler({
    store,
    jobs: JOBS,
    resources: RESOURCES,
    concurrency: options.concurrency ?? 1,
    shutdownTimeoutMs: 100,
    webhooks: { allowPrivate: ['127.0.0.1'] },
  })
  onTestFinished(() => scheduler.close())
  let flags = ['--store', 'sqlite:pawl.db']
  if (kind === 'server') {
    const server = await serveHttp(scheduler, { port: 0 })
    onTestFinished(() => server.close())
    flags = ['--server', server.url]
  }
  const pawlWith = (more: PawlOptions, ...argv: readonly string[]) =>
    pawl([...argv, ...flags], { cwd: folder, ...more })
  return {
    kind,
    folder,
    scheduler,
    flags,
    pawl: (...argv) => pawlWith({}, ...argv),
    pawlWith,
    json: async <Value>(...argv: readonly string[]) => {
      const { exitCode, stdout, stderr } = await pawlWith({}, ...argv, '--json')
      if (exitCode !== 0) throw new Error(`pawl ${argv.join(' ')} exited with ${exitCode}: ${stderr}`)
      return JSON.parse(stdout) as Value
    },
  }
}

/** What every command must do the same on. */
export const TARGETS = ['store', 'server'] as const

interface JobId {
  readonly job_id: string
}

/** Enqueues through the CLI, and returns the id. */
export async function enqueue(target: CliTarget, ...argv: readonly string[]): Promise<string> {
  return (await target.json<JobId>('enqueue', ...argv)).job_id
}
