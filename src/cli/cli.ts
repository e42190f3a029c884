import type { Client } from '../client/index.ts'
import { type Clock, delay } from '../platform/clock.ts'
import type { Logger } from '../platform/logger.ts'
import { usageError } from './cli-error.ts'
import { findConfigFile, type LoadedConfig, loadConfigFile } from './config.ts'
import type { Io, Output } from './io.ts'
import { type Colors, colorsFor } from './output/colors.ts'
import { escapeLine, safeJson } from './output/escape.ts'
import { type Column, renderTable } from './output/table.ts'
import { type Access, openSession, type Session } from './session.ts'
import { chooseTarget, type StoreTarget, type Target } from './target.ts'

/** The options that every command takes, before it or after it. */
export interface GlobalOptions {
  readonly store?: string
  readonly server?: string
  readonly key?: string
  readonly config?: string
  readonly json?: boolean
  readonly verbose?: boolean
  /** False: `--no-color`. */
  readonly color?: boolean
}

const COLUMNS_DEFAULT = 80

/** How long an interrupted command may take to let go of its store. */
const CLOSE_WITHIN_MS = 500

/** What a command has to do with: the terminal, the target, the configuration. One for each process. */
export class Cli {
  readonly io: Io
  /** What the process will exit with, unless the command throws. */
  exitCode = 0
  #options: GlobalOptions = {}
  #config: Promise<LoadedConfig | null> | null = null
  #target: Promise<Target> | null = null

  constructor(io: Io) {
    this.io = io
  }

  /** Called once the command line is read, before the command. */
  adopt(options: GlobalOptions): void {
    this.#options = options
    // Also for a command that needs none: who names one expects it to count.
    if (options.config !== undefined) findConfigFile(this.io.cwd, options.config)
  }

  // The terminal

  get options(): GlobalOptions {
    return this.#options
  }

  get stdout(): Output {
    return this.io.stdout
  }

  get stderr(): Output {
    return this.io.stderr
  }

  get env(): Io['env'] {
    return this.io.env
  }

  get cwd(): string {
    return this.io.cwd
  }

  get clock(): Clock {
    return this.io.clock
  }

  get isTTY(): boolean {
    return this.io.stdout.isTTY
  }

  /** How wide the terminal is; undefined where there is none, and nothing is cut. Some terminals say 0 and mean nothing. */
  get columns(): number | undefined {
    return this.io.stdout.isTTY ? this.io.stdout.columns || COLUMNS_DEFAULT : undefined
  }

  /** Fires at the first SIGINT or SIGTERM; a second signal ends the process at once. */
  get interrupted(): AbortSignal {
    return this.io.interrupted
  }

  /** What cannot be stopped itself, such as reading stdin, is not waited for any longer once somebody wants to end. */
  orInterrupted<Result>(work: Promise<Result>): Promise<Result> {
    const { interrupted } = this.io
    return new Promise((resolve, reject) => {
      const leave = (): void => reject(interrupted.reason as Error)
      if (interrupted.aborted) leave()
      interrupted.addEventListener('abort', leave, { once: true })
      work.then(resolve, reject).finally(() => interrupted.removeEventListener('abort', leave))
    })
  }

  get isJson(): boolean {
    return this.#options.json === true
  }

  get isVerbose(): boolean {
    return this.#options.verbose === true
  }

  /** For what goes to stdout. */
  get colors(): Colors {
    return colorsFor(this.io.stdout, this.io.env, this.#options.color === false)
  }

  /** For what goes to stderr. */
  get errorColors(): Colors {
    return colorsFor(this.io.stderr, this.io.env, this.#options.color === false)
  }

  // Printing

  /** A line on stdout. Text that came from elsewhere must have been escaped: see output/escape.ts. */
  print(line = ''): void {
    this.io.stdout.write(`${line}\n`)
  }

  /** A line on stderr, for people only: it is not printed with `--json`. */
  note(line: string): void {
    if (!this.isJson) this.io.stderr.write(`${line}\n`)
  }

  /** The one document on stdout. */
  printJson(value: unknown): void {
    this.print(safeJson(value, 2))
  }

  /** Cells are escaped, and made to fit the terminal. */
  printTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): void {
    for (const line of renderTable(columns, rows, { columns: this.columns, colors: this.colors })) this.print(line)
  }

  // The target

  /** Which store or server this command works on. Opens nothing. */
  target(): Promise<Target> {
    this.#target ??= chooseTarget(this.#options, this.io.env, this.io.cwd, () => this.loadConfig())
    return this.#target
  }

  /** The store, for a command that makes no sense on a server. */
  async storeTarget(reason: string): Promise<StoreTarget> {
    const target = await this.target()
    if (target.kind === 'store') return target
    throw usageError(`${reason} Use --store instead of ${target.description}, which ${target.from} names.`)
  }

  /** Opens the way to the API, over HTTP or straight on a store. Close it in the end; `withClient` does so by itself. */
  async client(access: Access = 'read'): Promise<Session> {
    const opening = openSession({
      target: await this.target(),
      access,
      config: () => this.loadConfig(),
      user: this.io.user,
      logger: this.logger,
      clock: this.io.clock,
      signal: this.io.interrupted,
    })
    return this.orInterrupted(opening)
  }

  async withClient<Result>(access: Access, use: (client: Client) => Promise<Result>): Promise<Result> {
    const session = await this.client(access)
    try {
      return await use(session.client)
    } finally {
      const closing = session.close()
      // A database that is locked by somebody else must not keep a person who wants to leave.
      await (this.interrupted.aborted ? Promise.race([closing, delay(this.clock, CLOSE_WITHIN_MS)]) : closing)
    }
  }

  /** The configuration, or null where there is none. Loaded once. */
  loadConfig(): Promise<LoadedConfig | null> {
    this.#config ??= this.#loadConfig()
    return this.#config
  }

  async #loadConfig(): Promise<LoadedConfig | null> {
    const path = findConfigFile(this.io.cwd, this.#options.config)
    return path === null ? null : this.orInterrupted(loadConfigFile(path, this.io.cwd))
  }

  /** Of a scheduler that a command opens: failures are told; warnings only with `--verbose`. */
  get logger(): Logger {
    const tell = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) => {
      // What ends because the person wants it to end has not failed.
      if (this.io.interrupted.aborted) return
      const details = Object.entries(fields).map(([name, value]) => `${name}=${textOf(value)}`)
      const line = escapeLine([message, ...details].join(' '))
      this.io.stderr.write(`pawl ${level}: ${line}\n`)
    }
    return {
      info: () => {},
      warn: this.isVerbose ? tell('warning') : () => {},
      error: tell('error'),
    }
  }
}

function textOf(value: unknown): string {
  if (value instanceof Error) return value.message
  return typeof value === 'string' ? value : safeJson(value)
}
