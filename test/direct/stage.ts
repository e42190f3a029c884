import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openScheduler, type SchedulerOptions } from 'pawl'
import { expect, vi } from 'vitest'
import { PATIENCE, type Script, startScript } from '../recovery/processes.ts'
import { storeAt } from '../stores/package-stores.ts'
import { type Row, SharedDatabase } from '../stores/shared-database.ts'

const NODE = new URL('./fixtures/node.mjs', import.meta.url)

export type Type = 'work' | 'gpu' | 'failing' | 'child'

interface Note {
  readonly at: number
  readonly node: string
  readonly what: 'begin' | 'end'
  readonly params: string
}

interface NodeOptions extends Pick<SchedulerOptions, 'concurrency' | 'maxRunning' | 'shutdownTimeoutMs'> {
  readonly start?: boolean
}

/** What a process tells of a call: its result, or its error. */
export interface Answer {
  readonly result?: unknown
  readonly code?: string
  readonly reason?: string
  readonly message?: string
}

/** A process that calls, executes, or both. */
export class NodeProcess {
  readonly script: Script
  readonly #name: string
  readonly #database: SharedDatabase
  #calls = 0

  constructor(name: string, script: Script, database: SharedDatabase) {
    this.#name = name
    this.script = script
    this.#database = database
  }

  /** Calls, and returns at once. The answer comes when the call has ended. */
  run(type: Type, params: unknown, options: object = {}): { readonly answer: () => Promise<Answer> } {
    const name = `call-${++this.#calls}`
    this.order({ run: name, type, params, options })
    return { answer: () => this.script.tells<Answer>(name) }
  }

  order(order: object): void {
    this.script.child.stdin?.write(`${JSON.stringify(order)}\n`)
  }

  /** Whoever lives finds it dead at its next look, also on a server: see `outlives`. */
  async kill(): Promise<void> {
    this.script.kill('SIGKILL')
    expect(await this.script.exited).toBe('SIGKILL')
    await this.#database.outlives(this.#name)
  }
}

/** One database, and processes that share it. The test process only enqueues and reads. */
export class Stage {
  readonly database = new SharedDatabase()
  readonly folder = this.database.folder

  async open(name: string, types: readonly Type[], { start, ...options }: NodeOptions = {}): Promise<NodeProcess> {
    const script = startScript(NODE, { store: this.database.address, folder: this.folder, name, types, options, start })
    await script.tells('opened')
    return new NodeProcess(name, script, this.database)
  }

  async enqueue(type: Type, ...list: readonly string[]): Promise<void> {
    await using scheduler = await openScheduler({ store: storeAt(this.database.address) })
    await scheduler.enqueueMany(list.map((params) => ({ type, params, name: params })))
  }

  /** Lets the bodies with these params end. */
  letGo(...list: readonly string[]): void {
    for (const params of list) writeFileSync(join(this.folder, `go-${params}`), '')
  }

  /** The bodies that began, in the order in which they did, as `node params`. */
  begun(): string[] {
    return this.#notes()
      .filter(({ what }) => what === 'begin')
      .map(({ node, params }) => `${node} ${params}`)
  }

  async begins(params: string): Promise<void> {
    await vi.waitFor(() => expect(this.begun().map((line) => line.split(' ')[1])).toContain(params), PATIENCE)
  }

  async ends(params: string): Promise<void> {
    await vi.waitFor(
      () => expect(this.#notes()).toContainEqual(expect.objectContaining({ params, what: 'end' })),
      PATIENCE,
    )
  }

  /** The reservations in the order of their making: `WAITING`, or `RELEASED FAILED crash`. */
  async reservations(): Promise<string[]> {
    const rows = await this.select('select status, outcome, reason from pawl_reservations order by reservation_seq')
    return rows.map((row) => [row['status'], row['outcome'], row['reason']].filter((word) => word !== null).join(' '))
  }

  async becomes(reservations: readonly string[], patience = PATIENCE): Promise<void> {
    await vi.waitFor(async () => expect(await this.reservations()).toEqual(reservations), patience)
  }

  /** Waits until a body in a child process works. Returns the pid of the child. */
  async childWorks(): Promise<number> {
    await vi.waitFor(() => expect(existsSync(join(this.folder, 'child'))).toBe(true), PATIENCE)
    return await vi.waitFor(
      () => (JSON.parse(readFileSync(join(this.folder, 'child'), 'utf8')) as { pid: number }).pid,
      PATIENCE,
    )
  }

  select(sql: string): Promise<Row[]> {
    return this.database.select(sql)
  }

  isSound(): Promise<void> {
    return this.database.isSound()
  }

  #notes(): Note[] {
    const files = readdirSync(this.folder).filter((name) => name.endsWith('.notes'))
    const lines = files.flatMap((name) => readFileSync(join(this.folder, name), 'utf8').trimEnd().split('\n'))
    return lines.map((line) => JSON.parse(line) as Note).sort((a, b) => a.at - b.at)
  }
}
