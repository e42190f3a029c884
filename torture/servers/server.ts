import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tortureFile } from '../package-root.ts'
import { type Binaries, findBinaries, type User } from './binaries.ts'

export interface ServerOptions {
  /** What stands in postgresql.conf, such as `{ fsync: 'on' }`. Over the defaults below. */
  readonly settings?: Readonly<Record<string, string>>
  /** A folder with `initdb` and `postgres`, or `embedded`. @default PAWL_TEST_POSTGRES_BIN, else whatever is found */
  readonly binaries?: string
}

/** `fast`: connections are ended in good order. `immediate`: as if the power went, and it recovers at its next start. */
export type StopMode = 'fast' | 'immediate'

const STOP_SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const

/** Its data is thrown away afterwards, so nothing needs to be safe from a loss of power. Everything else is as it comes. */
const SETTINGS: Readonly<Record<string, string>> = {
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  shared_buffers: '64MB',
}

const READY_WITHIN_MS = 60_000
const STOPPED_WITHIN_MS = 60_000

/** Starts a PostgreSQL server of its own for a test, with an empty database. It is gone when the test process is. */
export async function startServer(options: ServerOptions = {}): Promise<PostgresServer> {
  const user = unprivilegedUser()
  const folder = mkdtempSync(join(tmpdir(), 'pawl-postgres-'))
  const script = tortureFile('servers/keeper.mjs')
  const keeper = spawn(process.execPath, [script, folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  keeper.unref()
  ;(keeper.stdin as unknown as { unref(): void }).unref()
  try {
    if (user !== null) chownSync(folder, user.uid, user.gid)
    const wanted = options.binaries ?? process.env['PAWL_TEST_POSTGRES_BIN'] ?? null
    const binaries = findBinaries(wanted, folder, user)
    initialise(binaries, folder, user)
    const settings = { ...SETTINGS, ...options.settings }
    const server = new PostgresServer({ binaries, folder, user, keeper, port: await freePort(), settings })
    await server.start()
    return server
  } catch (error) {
    keeper.stdin?.end()
    throw error
  }
}

interface ServerParts {
  readonly settings: Readonly<Record<string, string>>
  readonly binaries: Binaries
  readonly folder: string
  readonly user: User
  readonly port: number
  readonly keeper: ChildProcess
}

/** A server that is running, or that was stopped and can be started again with the same data on the same port. */
export class PostgresServer implements AsyncDisposable {
  readonly port: number
  readonly url: string
  readonly folder: string
  readonly version: string
  readonly origin: Binaries['origin']
  readonly #parts: ServerParts
  #process: ChildProcess | null = null

  constructor(parts: ServerParts) {
    this.#parts = parts
    this.port = parts.port
    this.url = `postgres://pawl@127.0.0.1:${parts.port}/postgres`
    this.folder = parts.folder
    this.version = parts.binaries.version
    this.origin = parts.binaries.origin
  }

  async start(): Promise<void> {
    const { binaries, folder, user, port, settings } = this.#parts
    const all = {
      ...SETTINGS,
      ...settings,
      port: `${port}`,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
    }
    const given = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const log = openSync(join(folder, 'server.log'), 'a')
    // In a process group of its own: an interrupted test run ends it when the tests have ended, not before.
    const options = { cwd: folder, detached: true, stdio: ['ignore', log, log] as ['ignore', number, number], ...user }
    const server = spawn(join(binaries.folder, 'postgres'), ['-D', join(folder, 'data'), ...given], options)
    closeSync(log)
    server.unref()
    this.#process = server
    await this.#becomeReady(server)
  }

  async #becomeReady(server: ChildProcess): Promise<void> {
    const deadline = performance.now() + READY_WITHIN_MS
    while (!this.#isReady(server)) {
      if (server.exitCode !== null || server.signalCode !== null || performance.now() > deadline) {
        throw new Error(`The PostgreSQL server for the tests did not start:\n${this.log.slice(-2_000)}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  /** The server itself says so, as `pg_ctl` reads it: its number in the first line, its state in the eighth. */
  #isReady(server: ChildProcess): boolean {
    const file = join(this.#parts.folder, 'data', 'postmaster.pid')
    if (!existsSync(file)) return false
    const lines = readFileSync(file, 'utf8').split('\n')
    return lines[0] === `${server.pid}` && lines[7]?.trim() === 'ready'
  }

  /** What it wrote about itself. */
  get log(): string {
    return readFileSync(join(this.#parts.folder, 'server.log'), 'utf8')
  }

  /** Stops it and keeps its data. Does nothing when it is stopped. */
  async stop(mode: StopMode = 'fast'): Promise<void> {
    await this.#end(STOP_SIGNALS[mode])
  }

  /**
   * Kills its first process, as when memory runs out. The others notice and end themselves; until they have, they may still answer,
   * and the server does not start again.
   */
  async kill(): Promise<void> {
    const others = childrenOf(this.#process?.pid)
    await this.#end('SIGKILL')
    const deadline = performance.now() + STOPPED_WITHIN_MS
    while (others.some(isThere) && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10))
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const server = this.#process
    this.#process = null
    if (server === null || server.exitCode !== null || server.signalCode !== null) return
    const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()))
    const impatience = setTimeout(() => server.kill('SIGKILL'), STOPPED_WITHIN_MS)
    server.ref()
    server.kill(signal)
    await ended
    clearTimeout(impatience)
  }

  async restart(mode: StopMode = 'fast'): Promise<void> {
    await this.stop(mode)
    await this.start()
  }

  /** Stops it, and removes its data. */
  async remove(): Promise<void> {
    await this.stop('immediate')
    rmSync(this.#parts.folder, { recursive: true, force: true, maxRetries: 10 })
    this.#parts.keeper.stdin?.end()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.remove()
  }
}

/** Root may not execute PostgreSQL, so `nobody` does. */
function unprivilegedUser(): User {
  if (process.getuid?.() !== 0) return null
  const [uid, gid] = ['-u', '-g'].map((what) => Number(spawnSync('id', [what, 'nobody'], { encoding: 'utf8' }).stdout))
  if (uid && gid) return { uid, gid }
  throw new Error('PostgreSQL refuses to be executed by root, and there is no user `nobody` to execute it instead.')
}

function initialise({ folder: programs }: Binaries, folder: string, user: User): void {
  chmodSync(folder, 0o700)
  const options = ['--username=pawl', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions']
  const args = [`--pgdata=${join(folder, 'data')}`, ...options]
  const { status, stdout, stderr } = spawnSync(join(programs, 'initdb'), args, {
    encoding: 'utf8',
    cwd: folder,
    ...user,
  })
  if (status !== 0) throw new Error(`initdb failed (${status}):\n${stdout}\n${stderr}`)
}

/** None where the system does not say. */
function childrenOf(pid: number | undefined): string[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  } catch {
    return []
  }
}

/** It has not ended. One that has may still be listed, as long as nobody has asked how. */
function isThere(pid: string): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

/** Below the ports that systems give to outgoing connections: a server that restarts must find its own again. */
const PORTS = { first: 20_000, count: 12_000 }

async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
