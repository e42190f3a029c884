import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openScheduler, type SchedulerOptions } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { expect, vi } from 'vitest'
import { isSound, newDatabase, select } from '../recovery/database.ts'
import { PATIENCE, type Script, startScript } from '../recovery/processes.ts'

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
  #calls = 0

  constructor(script: Script) {
    this.script = script
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

  async kill(): Promise<void> {
    this.script.kill('SIGKILL')
    expect(await this.script.exited).toBe('SIGKILL')
  }
}

/** One database, and processes that share it. The test process only enqueues and reads. */
export class Stage {
  readonly file = newDatabase()
  readonly folder = dirname(this.file)

  async open(name: string, types: readonly Type[], { start, ...options }: NodeOptions = {}): Promise<NodeProcess> {
    const script = startScript(NODE, { file: this.file, name, types, options, start })
    await script.tells('opened')
    return new NodeProcess(script)
  }

  async enqueue(type: Type, ...list: readonly string[]): Promise<void> {
    await using scheduler = await openScheduler({ store: sqlite(this.file) })
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
  reservations(): string[] {
    return this.select('select status, outcome, reason from pawl_reservations order by reservation_seq').map((row) =>
      [row['status'], row['outcome'], row['reason']].filter((word) => word !== null).join(' '),
    )
  }

  async becomes(reservations: readonly string[], patience = PATIENCE): Promise<void> {
    await vi.waitFor(() => expect(this.reservations()).toEqual(reservations), patience)
  }

  /** Waits until a body in a child process works. Returns the pid of the child. */
  async childWorks(): Promise<number> {
    await vi.waitFor(() => expect(existsSync(join(this.folder, 'child'))).toBe(true), PATIENCE)
    return await vi.waitFor(
      () => (JSON.parse(readFileSync(join(this.folder, 'child'), 'utf8')) as { pid: number }).pid,
      PATIENCE,
    )
  }

  select(sql: string): ReturnType<typeof select> {
    return select(this.file, sql)
  }

  isSound(): void {
    isSound(this.file)
  }

  #notes(): Note[] {
    const files = readdirSync(this.folder).filter((name) => name.endsWith('.notes'))
    const lines = files.flatMap((name) => readFileSync(join(this.folder, name), 'utf8').trimEnd().split('\n'))
    return lines.map((line) => JSON.parse(line) as Note).sort((a, b) => a.at - b.at)
  }
}
