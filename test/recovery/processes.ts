import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, vi } from 'vitest'

/** How long to wait for something that comes in a moment unless it is broken. */
export const PATIENCE = { timeout: 20_000, interval: 10 }

export type Exit = number | NodeJS.Signals

/** What a script tells: one JSON object per line of its standard output. */
export interface Told {
  readonly [key: string]: unknown
}

export interface Script {
  readonly child: ChildProcess
  /** Everything told so far, in order. */
  readonly told: readonly Told[]
  /** Its exit code, or the signal that ended it. */
  readonly exited: Promise<Exit>
  /** Waits until it has told something with this key. Returns the value. */
  tells<T = unknown>(key: string): Promise<T>
  kill(signal: NodeJS.Signals): void
}

const running = new Set<ChildProcess>()

/** Starts a script of ours as a process of its own. `prefix` is a program that starts it, such as `unshare`. */
export function startScript(script: URL, plan: object, prefix: readonly string[] = []): Script {
  const argv = [...prefix, process.execPath, fileURLToPath(script), JSON.stringify(plan)]
  const child = spawn(argv[0] as string, argv.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] })
  running.add(child)
  const told: Told[] = []
  createInterface({ input: child.stdout }).on('line', (line) => told.push(JSON.parse(line) as Told))
  // `close` comes when all it wrote has been read too.
  const exited = new Promise<Exit>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      running.delete(child)
      resolve(signal ?? code ?? 0)
    })
  })
  const tells = <T>(key: string) =>
    vi.waitFor(() => {
      const found = told.find((what) => what[key] !== undefined)
      if (found === undefined) throw new Error(`The process has not told its ${key}, but ${JSON.stringify(told)}`)
      return found[key] as T
    }, PATIENCE)
  return { child, told, exited, tells, kill: (signal) => void child.kill(signal) }
}

/** Runs a script to its end. */
export async function runScript(script: URL, plan: object): Promise<{ exit: Exit; told: readonly Told[] }> {
  const { exited, told } = startScript(script, plan)
  return { exit: await exited, told }
}

/** Kills every script that still runs, and waits until it is gone. */
export async function endScripts(): Promise<void> {
  const left = [...running].filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
  const gone = left.map((child) => new Promise((resolve) => child.once('exit', resolve)))
  for (const child of left) child.kill('SIGKILL')
  await Promise.all(gone)
}

afterAll(endScripts)
