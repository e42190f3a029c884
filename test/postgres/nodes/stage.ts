import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openScheduler, type Scheduler } from 'pawl'
import type { Pool, QueryResultRow } from 'pg'
import { afterAll, expect, vi } from 'vitest'
import { findFaults } from '../../../torture/outside/check.ts'
import { type Place, sourceOf } from '../../../torture/outside/place.ts'
import { type Note, Recorder, readRecord } from '../../../torture/outside/record.ts'
import { type Act, RESOURCES, RETRY, TYPES, type TypeName } from '../../../torture/outside/workload.ts'
import { tortureFile } from '../../../torture/package-root.ts'
import { type Script, startScript } from '../../recovery/processes.ts'
import { newSchema, postgresPool, postgresUrl } from '../schemas.ts'

const NODE = pathToFileURL(tortureFile('outside/node.mjs'))
const CLIENT = pathToFileURL(tortureFile('outside/client.mjs'))

/** How long to wait for what takes about 20 s, because a node must be found dead, on a machine that is busy. */
export const LONG_PATIENCE = { timeout: 240_000, interval: 20 }

export interface NodeOptions {
  readonly concurrency?: number
  /** The types that it handles. @default all of them */
  readonly types?: readonly TypeName[]
}

const stages: Stage[] = []

afterAll(() => {
  for (const { recorder, folder } of stages.splice(0)) {
    recorder.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
})

/** One store, the processes that share it, and a folder in which is recorded what happened. */
export class Stage {
  readonly schema = newSchema()
  readonly place: Place = { kind: 'postgres', url: postgresUrl(), schema: this.schema }
  readonly folder = mkdtempSync(join(tmpdir(), 'pawl-nodes-'))
  readonly recorder = new Recorder(this.folder, 'test')
  readonly pool: Pool = postgresPool()

  constructor() {
    stages.push(this)
  }

  /** Starts a node as a process of its own, and waits until it has started. */
  async startNode(name: string, { types, concurrency = 4 }: NodeOptions = {}): Promise<Script> {
    const { place, folder } = this
    const handled = TYPES.filter(({ type }) => types === undefined || types.includes(type))
    const about = { name, types: handled, retry: RETRY, resources: RESOURCES, concurrency }
    const node = startScript(NODE, { place, folder, ...about })
    await hears(node, 'started')
    return node
  }

  /** A scheduler of this process, which only asks and reads. It is no node. */
  open(): Promise<Scheduler> {
    return openScheduler({ store: sourceOf(this.place) })
  }

  /** Lets the waiting body of this number end. */
  letGo(n: number): void {
    writeFileSync(join(this.folder, `go-${n}`), '')
  }

  /** What a query answers. It says `pawl.` for the schema. */
  async select<Row extends QueryResultRow>(sql: string, ...values: readonly unknown[]): Promise<Row[]> {
    const text = sql.replaceAll('pawl.', `"${this.schema}".`)
    return (await this.pool.query<Row>(text, [...values])).rows
  }

  /** Waits until the body of an attempt has begun, or has ended. */
  async notes(n: number, attempt: number, what: Note['what']): Promise<Note> {
    return await vi.waitFor(() => {
      const { notes } = readRecord(this.folder)
      const found = notes.find((note) => note.n === n && note.attempt === attempt && note.what === what)
      if (found === undefined) throw new Error(`Attempt ${attempt} of ${n} has not ${what}: ${JSON.stringify(notes)}`)
      return found
    }, LONG_PATIENCE)
  }

  /** The bodies that began, as `number.attempt node`. */
  bodies(): string[] {
    const began = readRecord(this.folder).notes.filter(({ what }) => what === 'began')
    return began.map(({ n, attempt, node }) => `${n}.${attempt} ${node}`).sort()
  }

  /** When a node last proved that it lives, in epoch milliseconds of the database. */
  async lastProof(name: string): Promise<number> {
    const [life] = await this.select<{ at: number }>(SELECT_LAST_PROOF, name)
    if (life === undefined) throw new Error(`There is no proof that ${name} lives.`)
    return life.at
  }

  /** The Runs of a chain, oldest first, as the history tells them. */
  runsOf(jobId: string): Promise<RunRow[]> {
    return this.select<RunRow>(SELECT_RUNS, jobId)
  }

  /** Everything that is stored of Jobs. */
  async tables(): Promise<Readonly<Record<string, unknown[]>>> {
    const rows = TABLES.map(
      async (name) => [name, await this.select(`select * from pawl.${name} order by seq`)] as const,
    )
    return Object.fromEntries(await Promise.all(rows))
  }

  /** Waits until nothing is queued, nothing executes, and nobody is left to be told of an end. */
  async drains(): Promise<void> {
    await vi.waitFor(async () => {
      const [left] = await this.select(SELECT_LEFT)
      expect(left).toEqual({ queued: 0, executing: 0, cascades: 0 })
    }, LONG_PATIENCE)
  }

  /** Waits until these nodes are there, and all others have left or were found dead. */
  async hasOnly(names: readonly string[]): Promise<void> {
    await vi.waitFor(async () => {
      const nodes = await this.select<{ name: string }>('select name from pawl.nodes where ended_at is null')
      expect(nodes.map(({ name }) => name).sort()).toEqual([...names].sort())
    }, LONG_PATIENCE)
  }

  /** All that the store itself finds wrong with what it holds. */
  findings(): Promise<string[]> {
    return findFaults(this.place)
  }

  /** Starts somebody who does all that stands in the list, as a process of its own. */
  startClient(acts: readonly Act[], backlogMax: number): Script {
    const { place, folder } = this
    const file = join(folder, 'acts')
    writeFileSync(file, JSON.stringify(acts))
    const about = { name: 'client.1', by: 'client', acts: file, parallel: 40, everyMs: 0, backlogMax }
    return startScript(CLIENT, { place, folder, ...about })
  }
}

export interface RunRow {
  readonly node: string
  readonly status: string | null
  readonly reason: string | null
  readonly error: string | null
  readonly result: string | null
  readonly will_retry: boolean
  readonly started_ms: number
  readonly ended_ms: number | null
}

const SELECT_RUNS = `
select r.node, r.status, r.reason, r.error, r.result, r.will_retry,
  (extract(epoch from r.started_at) * 1000)::float8 as started_ms,
  (extract(epoch from r.finished_at) * 1000)::float8 as ended_ms
from pawl.runs_readable r
where r.chain_id = $1
order by r.attempt`

const SELECT_LAST_PROOF = `
select (extract(epoch from l.beat_at) * 1000)::float8 as at
from pawl.lives l
join pawl.nodes n using (node_id)
where n.name = $1`

const TABLES = ['jobs', 'queue', 'runs', 'uncompleted_runs', 'occupancies', 'events'] as const

const SELECT_LEFT = `
select (select count(*)::int from pawl.queue) as queued,
  (select count(*)::int from pawl.occupancies) as executing,
  (select count(*)::int from pawl.cascades) as cascades`

/** Waits until a node has told something with this key, and this value if one is given. Returns the value. */
export async function hears<T>(node: Script, key: string, value?: T): Promise<T> {
  const telling = vi.waitFor(() => {
    const found = node.told.find((what) => what[key] !== undefined && (value === undefined || what[key] === value))
    if (found === undefined) throw new Error(`A node has not told its ${key}, but ${JSON.stringify(node.told)}`)
    return found[key] as T
  }, LONG_PATIENCE)
  const ending = node.exited.then((exit): Promise<T> => {
    const told = JSON.stringify(node.told)
    // It may have told it last.
    return node.told.some((what) => key in what)
      ? telling
      : Promise.reject(new Error(`A node ended (${exit}): ${told}`))
  })
  return await Promise.race([telling, ending])
}
