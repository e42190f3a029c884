import { Client } from 'pg'
import { expect, vi } from 'vitest'
import { openScheduler } from '../../../src/library/open-scheduler.ts'
import type { Scheduler } from '../../../src/library/scheduler.ts'
import { postgres } from '../../../src/stores/postgres/index.ts'
import { type Exit, type Script, startScript, type Told } from '../../recovery/processes.ts'
import { holdsNoFault } from '../../stores/each-store.ts'

const NODE = new URL('./fixtures/node.mjs', import.meta.url)

const PATIENCE = { timeout: 30_000, interval: 10 }

/** A node as a process of its own, with the built package. */
export class NodeProcess {
  readonly #script: Script

  constructor(script: Script) {
    this.#script = script
  }

  get told(): readonly Told[] {
    return this.#script.told
  }

  get exited(): Promise<Exit> {
    return this.#script.exited
  }

  get isRunning(): boolean {
    return this.#script.child.exitCode === null && this.#script.child.signalCode === null
  }

  order(line: string): void {
    this.#script.child.stdin?.write(`${line}\n`)
  }

  /** Waits until it has told something that looks like this. Returns all of it. */
  async tells(what: Readonly<Record<string, unknown>>, timeout = PATIENCE.timeout): Promise<Told> {
    const fits = (told: Told) => Object.entries(what).every(([key, value]) => told[key] === value)
    return await vi.waitFor(
      () => {
        const found = this.told.find(fits)
        if (found === undefined) throw new Error(`Not told: ${JSON.stringify(what)}, but\n${this.#lines()}`)
        return found
      },
      { ...PATIENCE, timeout },
    )
  }

  /** What it told under this key, in order. */
  all(key: string): unknown[] {
    return this.told.flatMap((told) => (told[key] === undefined ? [] : [told[key]]))
  }

  /** It lives, and no error got lost in it. */
  isWell(): void {
    expect(this.all('unhandled')).toEqual([])
    expect(this.isRunning).toBe(true)
  }

  #lines(): string {
    return this.told.map((told) => JSON.stringify(told)).join('\n')
  }
}

/** Starts a node, and waits until it has started. */
export async function startNode(plan: {
  readonly url: string
  readonly schema: string
  readonly name: string
  readonly options?: object
}): Promise<NodeProcess> {
  const node = new NodeProcess(startScript(NODE, plan))
  await vi.waitFor(() => expect(node.all('started')).toHaveLength(1), PATIENCE)
  return node
}

/** Looks at a store, and enqueues in it, from this process. */
export async function openObserver({ url }: { readonly url: string }, schema: string): Promise<Scheduler> {
  const logger = { info() {}, warn() {}, error() {} }
  return openScheduler({ store: postgres(url, { schema }), acceptAnyType: true, logger })
}

/** The attempts of a chain: what became of each, and by which node. */
export async function attemptsOf(observer: Scheduler, jobId: string): Promise<string[]> {
  const { items } = await observer.getChain(jobId)
  const runs = await Promise.all(items.map((job) => observer.findRunOfJob(job.jobId)))
  return runs.map((run) => (run === null ? 'no run' : `${run.status ?? 'open'} ${run.reason ?? ''}`.trim()))
}

export async function isSound({ url }: { readonly url: string }, schema: string): Promise<void> {
  await holdsNoFault(postgres(url, { schema }))
}

/** The connections that listen on a store, by the numbers of their backends. */
export async function listeners({ url }: { readonly url: string }, schema: string): Promise<number[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const text = 'select pid from pg_stat_activity where query = $1'
    const { rows } = await client.query<{ pid: number }>(text, [`listen "pawl_${schema}"`])
    return rows.map(({ pid }) => pid)
  } finally {
    await client.end()
  }
}
