import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { afterAll, vi } from 'vitest'
import { ROOT } from '../docs/markdown.ts'
import { Workspace } from '../docs/workspace.ts'

/** How long to wait for something that comes in a moment unless it is broken. */
export const PATIENCE = { timeout: 20_000, interval: 20 }

/** The built program, as npm would install it. */
export const PAWL = `${ROOT}/dist/cli/main.js`

/** A `pawl` command as a process of its own. */
export interface PawlProcess {
  readonly child: ChildProcess
  /** Whole lines, so far. */
  readonly stdout: readonly string[]
  readonly stderr: readonly string[]
  /** Its exit code, or the signal that killed it. */
  readonly exited: Promise<number | NodeJS.Signals>
  /** Waits for a line on stdout, and answers with what the pattern found. */
  prints(pattern: RegExp): Promise<RegExpExecArray>
  /** The same on stderr. */
  tells(pattern: RegExp): Promise<RegExpExecArray>
  kill(signal: NodeJS.Signals): void
}

const running = new Set<ChildProcess>()

export function startPawl(args: readonly string[], cwd: string, env: Record<string, string> = {}): PawlProcess {
  return startNode([PAWL, ...args], cwd, env)
}

export function startNode(args: readonly string[], cwd: string, env: Record<string, string> = {}): PawlProcess {
  return startProgram(process.execPath, args, cwd, env)
}

/** In a process group of its own, so that all of it can be signalled as a terminal would. */
export function startProgram(
  program: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): PawlProcess {
  const child = spawn(program, args, {
    cwd,
    env: { ...plainEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  running.add(child)
  const stdout: string[] = []
  const stderr: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => stdout.push(line))
  createInterface({ input: child.stderr }).on('line', (line) => stderr.push(line))
  const exited = new Promise<number | NodeJS.Signals>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      running.delete(child)
      resolve(signal ?? code ?? 0)
    })
  })
  const find = (lines: readonly string[], pattern: RegExp) =>
    vi.waitFor(() => {
      const found = lines.map((line) => pattern.exec(line)).find((match) => match !== null)
      if (found == null) throw new Error(`No line like ${pattern} in ${JSON.stringify({ stdout, stderr })}`)
      return found
    }, PATIENCE)
  return {
    child,
    stdout,
    stderr,
    exited,
    prints: (pattern) => find(stdout, pattern),
    tells: (pattern) => find(stderr, pattern),
    kill: (signal) => void child.kill(signal),
  }
}

/** Runs a command to its end. */
export async function pawl(args: readonly string[], cwd: string, env: Record<string, string> = {}) {
  const started = startPawl(args, cwd, env)
  const exit = await started.exited
  return { exit, stdout: started.stdout.join('\n'), stderr: started.stderr.join('\n') }
}

/** Not as inside vitest, but as from a shell. */
function plainEnvironment(): Record<string, string> {
  const hidden = ['NODE_OPTIONS', 'VITEST', 'NODE_ENV', 'FORCE_COLOR', 'NO_COLOR']
  const entries = Object.entries(process.env).filter(([name]) => !hidden.includes(name) && !name.startsWith('PAWL_'))
  return Object.fromEntries(entries) as Record<string, string>
}

/** A folder of a user with a configuration. */
export class Project {
  readonly #workspace = new Workspace()

  constructor(config: string) {
    this.write('pawl.config.mjs', config)
    projects.add(this)
  }

  get folder(): string {
    return this.#workspace.folder
  }

  get database(): string {
    return `${this.folder}/pawl.db`
  }

  write(path: string, text: string): void {
    this.#workspace.write(path, text)
  }

  start(...args: string[]): PawlProcess {
    return startPawl(args, this.folder)
  }

  run(...args: string[]) {
    return pawl(args, this.folder)
  }

  /** Starts `pawl serve` on a free port and waits until it is ready. */
  async serve(...args: string[]): Promise<PawlProcess & { readonly url: string }> {
    const server = this.start('serve', '--port', '0', ...args)
    const [, url = ''] = await server.prints(/^Pawl is ready at (\S+) /)
    return { ...server, url }
  }

  remove(): void {
    this.#workspace.remove()
  }
}

const projects = new Set<Project>()

afterAll(() => {
  for (const child of running) killGroup(child)
  for (const project of projects) project.remove()
})

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}

/** A request as any program would send it. */
export async function call(url: string, method: string, path: string, body?: unknown) {
  const response = await fetch(`${url}${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })
  const text = await response.text()
  return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as Record<string, unknown> }
}
