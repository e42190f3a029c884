import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type EnqueueOptions, openScheduler, type SchedulerOptions } from 'pawl'
import type { FaultPoint } from 'pawl/testing'
import { expect, vi } from 'vitest'
import { PATIENCE, runScript, type Script, startScript } from '../recovery/processes.ts'
import { storeAt, storeKind } from '../stores/package-stores.ts'
import { type Row, SharedDatabase } from '../stores/shared-database.ts'

export { PATIENCE, type Script }

const NODE = new URL('./fixtures/node.mjs', import.meta.url)

export type Type = 'quick' | 'gpu' | 'pair' | 'deaf' | 'polite' | 'block' | 'child'

/** A moment of a body, on a clock that all processes of the machine share. */
export interface Note {
  readonly at: number
  readonly node: string
  readonly what: 'begin' | 'end'
  readonly type: Type
  readonly params: string | number
  readonly attempt: number
}

interface Options extends Pick<SchedulerOptions, 'concurrency' | 'handleSignals' | 'shutdownTimeoutMs'> {
  /** Where it stops itself. */
  readonly stopAt?: FaultPoint
}

/** One database and the processes that share it. The test process only enqueues and reads. */
export class Stage {
  readonly database = new SharedDatabase()
  readonly folder = this.database.folder
  readonly #plan = { store: this.database.address, folder: this.folder }

  /** Starts a node as a process of its own, and waits until it has started. */
  async startNode(
    name: string,
    types: readonly Type[],
    { stopAt, ...options }: Options = {},
    prefix: readonly string[] = [],
  ): Promise<Script> {
    const node = startScript(NODE, { ...this.#plan, name, types, options, stopAt }, prefix)
    await node.tells('started')
    return node
  }

  /** Makes types known, so that Jobs can be enqueued before any node runs. */
  async makeKnown(types: readonly Type[]): Promise<void> {
    const plan = { ...this.#plan, name: 'registrar', types, start: false }
    expect(await runScript(NODE, plan)).toMatchObject({ exit: 0 })
  }

  async enqueue(type: Type, params: unknown, options: EnqueueOptions = {}): Promise<string> {
    await using scheduler = await openScheduler({ store: storeAt(this.database.address) })
    const { jobId } = await scheduler.enqueue(type, params, { name: String(params), ...options })
    return jobId
  }

  async enqueueMany(items: readonly { readonly type: Type; readonly params: unknown }[]): Promise<string[]> {
    await using scheduler = await openScheduler({ store: storeAt(this.database.address) })
    const handles = await scheduler.enqueueMany(items.map((item) => ({ ...item, name: String(item.params) })))
    return handles.map(({ jobId }) => jobId)
  }

  /** Lets the waiting bodies with these params end. */
  letGo(params: string): void {
    writeFileSync(join(this.folder, `go-${params}`), '')
  }

  /** What the bodies of all processes noted, in order. */
  notes(): Note[] {
    const files = readdirSync(this.folder).filter((name) => name.endsWith('.notes'))
    const lines = files.flatMap((name) => readFileSync(join(this.folder, name), 'utf8').trimEnd().split('\n'))
    return lines.map((line) => JSON.parse(line) as Note).sort((a, b) => a.at - b.at)
  }

  /** The bodies that began, in order, as `node params attempt`. */
  begun(): string[] {
    return this.notes()
      .filter(({ what }) => what === 'begin')
      .map(({ node, params, attempt }) => `${node} ${params} ${attempt}`)
  }

  /** Waits until a body with these params has begun. */
  async begins(params: string, attempt = 1): Promise<Note> {
    return await vi.waitFor(async () => {
      const found = this.notes().find((note) => note.params === params && note.attempt === attempt)
      if (found === undefined)
        throw new Error(`Attempt ${attempt} of ${params} has not begun: ${(await this.jobs()).join('; ')}`)
      return found
    }, PATIENCE)
  }

  /** Waits until the Jobs read like this, one line each. */
  async becomes(jobs: readonly string[], patience: { timeout: number; interval: number } = PATIENCE): Promise<void> {
    await vi.waitFor(async () => expect(await this.jobs()).toEqual(jobs), patience)
  }

  /** Waits until so many bodies have begun. */
  async isUnderWay(bodies: number): Promise<void> {
    await vi.waitFor(() => expect(this.notes().length).toBeGreaterThan(bodies), PATIENCE)
  }

  /** Waits until no Job is QUEUED or RUNNING any more. */
  async drains(): Promise<void> {
    const live = "select count(*) as jobs from pawl_jobs_readable where status in ('QUEUED', 'RUNNING')"
    await vi.waitFor(async () => expect(await this.select(live)).toEqual([{ jobs: 0 }]), {
      timeout: 60_000,
      interval: 50,
    })
  }

  jobs(): Promise<string[]> {
    return this.database.jobs()
  }

  /** The claims of all processes in the order of their commits, as the ids of the Jobs. */
  async claims(): Promise<string[]> {
    const store = await storeAt(this.database.address).open()
    const rows = await store.readEvents(0, 1_000_000)
    await store.close()
    const started = rows.flatMap(({ transitions }) => transitions).filter(({ kind }) => kind === 'job.started')
    return started.map(({ jobId }) => jobId)
  }

  select(sql: string): Promise<Row[]> {
    return this.database.select(sql)
  }

  isSound(): Promise<void> {
    return this.database.isSound()
  }

  /** Kills a node. Whoever lives finds it dead at its next look, also on a server: see `outlives`. */
  async kill(name: string, node: Script): Promise<void> {
    node.kill('SIGKILL')
    expect(await node.exited).toBe('SIGKILL')
    await this.database.outlives(name)
  }

  /** Takes away what proves that a node lives, though it does. */
  async forget(name: string, node: Script): Promise<void> {
    if (storeKind === 'postgres') await this.database.outlives(name)
    else rmSync(await this.#proofOfLife(node))
  }

  async proves(node: Script): Promise<boolean> {
    if (storeKind === 'sqlite') return existsSync(await this.#proofOfLife(node))
    const nodeId = await node.tells<string>('nodeId')
    return (await this.select(`select beat from pawl_lives where node_id = '${nodeId}'`)).length === 1
  }

  async #proofOfLife(node: Script): Promise<string> {
    return `${this.database.address}-node-${await node.tells<string>('nodeId')}`
  }

  /** Waits until a body in a child process works. Returns the pid of the child. */
  async childBeats(): Promise<number> {
    await vi.waitFor(() => expect(existsSync(join(this.folder, 'beats'))).toBe(true), PATIENCE)
    return (JSON.parse(readFileSync(join(this.folder, 'child'), 'utf8')) as { pid: number }).pid
  }

  /** When the child of the first attempt last worked. */
  lastBeat(): number {
    return Number(readFileSync(join(this.folder, 'beats'), 'utf8').trimEnd().split('\n').at(-1))
  }

  /** What the child of a later attempt found. */
  async resultOf(attempt: number): Promise<{ readonly beganAt: number; readonly isFirstAlive: boolean }> {
    const [row] = await this.select(
      `select result from pawl_runs join pawl_jobs using (seq) where attempt = ${attempt}`,
    )
    return JSON.parse(String(row?.['result'])) as { beganAt: number; isFirstAlive: boolean }
  }
}

/** The most bodies that executed at once. */
export function mostAtOnce(notes: readonly Note[]): number {
  let now = 0
  let most = 0
  for (const { what } of notes) {
    now += what === 'begin' ? 1 : -1
    most = Math.max(most, now)
  }
  return most
}
