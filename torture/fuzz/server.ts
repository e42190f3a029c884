import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { packageRoot, tortureFile } from '../package-root.ts'

const PAWL = join(packageRoot, 'dist/cli/main.js')
const CONFIG = tortureFile('fuzz/pawl.config.mjs')

/** What grows without bound ends the process: that is seen. */
const HEAP_MAX_MB = 256
const READY_WITHIN_MS = 60_000

export type Role = 'admin' | 'operator' | 'viewer'

export interface Key {
  readonly key: string
  readonly key_id: string
}

/** `pawl serve` on a new file, as a process of its own. */
export class FuzzedServer {
  readonly port: number
  readonly file: string
  readonly keys: Readonly<Record<Role, Key>>
  readonly #folder: string
  readonly #child: ChildProcess
  readonly #told: string[]
  #death: string | null = null

  /** `paused`: it executes nothing, so that nothing changes but by requests. */
  static async start({ isPaused }: { readonly isPaused: boolean }): Promise<FuzzedServer> {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-fuzz-'))
    const file = join(folder, 'pawl.db')
    try {
      const admin = await firstKey(file)
      // Without the dashboard, which answers paths that are none with its page.
      const args = ['serve', '--port', '0', '--config', CONFIG, '--json', '--no-dashboard']
      const heap = `--max-old-space-size=${HEAP_MAX_MB}`
      const child = spawn(process.execPath, [heap, PAWL, ...args, ...(isPaused ? ['--paused'] : [])], {
        stdio: ['ignore', 'pipe', 'pipe'],
        cwd: folder,
        env: { ...process.env, FUZZED_FILE: file },
        // Ctrl-C ends the campaign, and that ends its servers, in order.
        detached: true,
      })
      const told: string[] = []
      createInterface({ input: child.stderr }).on('line', (line) => told.push(line))
      const { url } = JSON.parse(await firstLine(child, told)) as { readonly url: string }
      const port = Number(new URL(url).port)
      const [operator, viewer] = [await anotherKey(port, admin, 'operator'), await anotherKey(port, admin, 'viewer')]
      return new FuzzedServer({ folder, file, child, told, port, keys: { admin, operator, viewer } })
    } catch (error) {
      rmSync(folder, { recursive: true, force: true })
      throw error
    }
  }

  constructor(parts: {
    readonly folder: string
    readonly file: string
    readonly child: ChildProcess
    readonly told: string[]
    readonly port: number
    readonly keys: Readonly<Record<Role, Key>>
  }) {
    this.port = parts.port
    this.file = parts.file
    this.keys = parts.keys
    this.#folder = parts.folder
    this.#child = parts.child
    this.#told = parts.told
    this.#child.once('exit', (code, signal) => {
      this.#death = `the server ended with ${signal ?? code}: ${this.#told.slice(-20).join('\n')}`
    })
  }

  /** How it ended, though nobody had asked it to. */
  get death(): string | null {
    return this.#death
  }

  /** What it said about itself besides what goes wrong in handlers and at receivers, which is no fault of its own. */
  get complaints(): readonly string[] {
    return this.#told.filter((line) =>
      /Pawl has a bug|TypeError|ReferenceError|RangeError|Unhandled|SQLITE_|\berror:/.test(line),
    )
  }

  /** What it has of the machine's memory, or null where nobody tells. */
  memoryMb(): number | null {
    try {
      const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8')
      return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1_024
    } catch {
      return null
    }
  }

  /** What the doctor finds wrong in its store, while it goes on. */
  async examine(): Promise<string[]> {
    const output = await pawl('doctor', '--store', `sqlite:${this.file}`, '--json')
    const { checks } = JSON.parse(output) as {
      checks: { id: string; findings: { severity: string; message: string; rows: string[] }[] }[]
    }
    return checks.flatMap(({ id, findings }) =>
      findings
        .filter(({ severity }) => severity === 'fault')
        .map(({ message, rows }) => `${id}: ${message} (${rows.join(', ')})`),
    )
  }

  /** Ends it in good order, which must not take long. */
  async end(): Promise<string[]> {
    const wasDead = this.#death
    this.#child.removeAllListeners('exit')
    if (wasDead === null) {
      const ended = new Promise<number | string | null>((resolve) =>
        this.#child.once('exit', (code, signal) => resolve(signal ?? code)),
      )
      const timer = setTimeout(() => this.#child.kill('SIGKILL'), ENDS_WITHIN_MS)
      this.#child.kill('SIGTERM')
      const how = await ended
      clearTimeout(timer)
      rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
      return how === 0 ? [] : [`told to end, the server ended with ${how}`]
    }
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
    return [wasDead]
  }
}

const ENDS_WITHIN_MS = 60_000

async function firstKey(file: string): Promise<Key> {
  const args = ['keys', 'create', '--name', 'admin', '--role', 'admin', '--store', `sqlite:${file}`, '--json']
  return JSON.parse(await pawl(...args)) as Key
}

async function anotherKey(port: number, { key }: Key, role: Role): Promise<Key> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ name: role, role })
  const answer = await fetch(`http://127.0.0.1:${port}/api/keys`, { method: 'POST', headers, body })
  if (answer.status !== 201) throw new Error(`Expected a key, got ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Key
}

async function pawl(...args: string[]): Promise<string> {
  try {
    const options = { maxBuffer: 64 * 1_024 * 1_024, cwd: tmpdir() }
    return (await promisify(execFile)(process.execPath, [PAWL, ...args], options)).stdout
  } catch (error) {
    // The doctor ends with 1 when it finds something, and says what on its standard output.
    const { stdout = '', code } = error as { stdout?: string; code?: unknown }
    if (code === 1 && stdout.startsWith('{')) return stdout
    throw error
  }
}

function firstLine(child: ChildProcess, told: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`The server did not start: ${why}\n${told.join('\n')}`))
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      fail(`it said nothing for ${READY_WITHIN_MS} ms`)
    }, READY_WITHIN_MS)
    child.once('exit', (code) => fail(`it ended with ${code}`))
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).once('line', (line) => {
      clearTimeout(timer)
      child.removeAllListeners('exit')
      resolve(line)
    })
  })
}
