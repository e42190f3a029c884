import { expect } from 'vitest'
import { newNode } from '../../src/store/conformance/fixtures.ts'
import { onFaultPoint } from '../../src/store/fault-points.ts'
import type { ClaimedJob } from '../../src/store/runs.ts'
import type { Store } from '../../src/store/store.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { breakAt, mend } from '../stores/breaks.ts'
import { type Row, SharedDatabase } from '../stores/shared-database.ts'
import { position, storeAt } from '../stores/source-stores.ts'
import { DatabaseSync, type Handle } from './counting-driver.ts'
import type { Model } from './model.ts'
import type { ModelJob } from './model-state.ts'

const ALL = 10_000

/** Members by the state of their chains, counted from the rows of the Jobs alone. */
const RECOUNT = `
with last as (
  select group_id, coalesce(chain_id, job_id) as chain, max(attempt) as attempt
  from pawl_jobs
  where group_id is not null
  group by 1, 2
)
select last.group_id, count(*) as total,
  count(*) filter (where j.status = 'QUEUED') as queued, count(*) filter (where j.status = 'RUNNING') as running,
  count(*) filter (where j.status = 'FINISHED' and j.outcome = 'COMPLETED') as completed,
  count(*) filter (where j.status = 'FINISHED' and j.outcome = 'FAILED') as failed,
  count(*) filter (where j.status = 'FINISHED' and j.outcome = 'SKIPPED') as skipped,
  count(*) filter (where j.status = 'CANCELLED') as cancelled
from last
join pawl_jobs_readable j on j.chain_id = last.chain and j.attempt = last.attempt
group by 1`

/** A real store that can be opened again, and what is executing on it. */
export class World {
  store: Store
  readonly claims = new Map<string, ClaimedJob>()
  readonly nodeId: string
  readonly #database: SharedDatabase
  /** Kept open, because it is asked after every step. Null on a server. */
  readonly #reader: Handle | null

  static async open(): Promise<World> {
    const database = new SharedDatabase()
    const store = await openStore(database)
    const node = newNode()
    await store.registerNode(node)
    return new World(database, store, node.nodeId)
  }

  private constructor(database: SharedDatabase, store: Store, nodeId: string) {
    this.#database = database
    this.store = store
    this.nodeId = nodeId
    this.#reader = database.file === null ? null : new DatabaseSync(database.file)
  }

  async reopen(): Promise<void> {
    await this.store.close()
    this.store = await openStore(this.#database)
  }

  async close(): Promise<void> {
    this.#reader?.close()
    await this.store.close()
    await this.#database.remove()
  }

  /**
   * Does something that is one transaction. When `crashAt` is a number, the process “crashes” right before that write (0: before
   * the commit), and another one opens the database. `crashed`: it did not come to the end of the transaction; what a store
   * reads behind it goes well.
   */
  async attempt<T>(crashAt: number | null, act: () => Promise<T>): Promise<{ readonly result: T } | 'crashed'> {
    if (crashAt === null) return { result: await act() }
    if (crashAt === 0) breakAt(onFaultPoint, 'store:before-commit', 1)
    else {
      breakAt(onFaultPoint, 'store:statement', crashAt, (point) => {
        if (point === 'store:after-commit') mend(onFaultPoint)
      })
    }
    try {
      return { result: await act() }
    } catch (error) {
      expect(error).toEqual(new Error('crash'))
      mend(onFaultPoint)
      await this.reopen()
      return 'crashed'
    } finally {
      mend(onFaultPoint)
    }
  }

  /** What pruning would remove, counted in small pages. */
  async countPrunable(endedBefore: number): Promise<{ readonly jobs: number; readonly groups: number }> {
    let [jobs, groups] = [0, 0]
    let cursor: string | null = null
    do {
      const page = await this.store.countPrunableChains({ endedBefore, limit: 3, cursor })
      jobs += page.jobs
      groups += page.groups
      cursor = page.nextCursor
    } while (cursor !== null)
    return { jobs, groups }
  }

  /** All that can be seen of the store must be as the model says. */
  async agreesWith(model: Model): Promise<void> {
    const jobs = (await this.store.listJobs({ limit: ALL }, model.now)).items.toReversed()
    const expected = model.living()
    expect(jobs.length).toBe(expected.length)
    jobs.forEach((job, index) => {
      const other = expected[index] as ModelJob
      other.id ??= job.jobId
      expect(job).toEqual({ ...job, ...describe(model, other) })
    })
    const queue = (await this.store.listQueue(ALL, model.now)).map(({ jobId }) => jobId)
    expect(queue).toEqual(model.queue().map(({ id }) => id))
    expect(await this.store.hasCascades()).toBe(model.stored.length > 0)
    await this.#groupsAgreeWith(model)
  }

  async #groupsAgreeWith(model: Model): Promise<void> {
    const groups = (await this.store.listGroups({ limit: ALL })).items.toReversed()
    const seen = groups.map(({ groupId, status, counts, startedAt, finishedAt, cancelRequestedAt }) => {
      return { groupId, status, counts, startedAt, finishedAt, isCancelRequested: cancelRequestedAt !== null }
    })
    expect(seen).toEqual(
      model.groups.map((group) => {
        const { id: groupId, startedAt, finishedAt, isCancelRequested } = group
        return { groupId, ...model.statusOf(group), startedAt, finishedAt, isCancelRequested }
      }),
    )
    if (groups.length === 0) return
    const recount = this.#reader?.prepare(RECOUNT).all() ?? (await this.#database.select(RECOUNT))
    for (const { group_id: groupId, total, ...counts } of recount as readonly Row[]) {
      const group = groups.find((other) => other.groupId === groupId)
      // Of a settled group, members may have been pruned.
      if (group?.counts.total !== total) expect(group?.finishedAt).not.toBeNull()
      else expect({ total, ...counts }).toEqual(group?.counts)
    }
  }
}

function describe(model: Model, job: ModelJob): object {
  const named = job.chain.edges.filter(({ isNamed }) => isNamed).map(({ parentId }) => parentId)
  return {
    jobId: job.id,
    chainId: job.chain.jobs[0]?.id,
    attempt: job.attempt,
    retryOf: job.retryOf?.id ?? null,
    status: job.status,
    hold: job.status === 'QUEUED' ? model.holdOf(job) : null,
    outcome: job.outcome,
    priority: job.priority,
    position: position(job.position),
    runAt: job.runAt,
    params: JSON.parse(job.params),
    dependsOn: named,
    groupId: job.group?.id ?? null,
  }
}

function openStore({ file, address }: SharedDatabase): Promise<Store> {
  return (file === null ? storeAt(address) : sqlite(file, { durability: 'process' })).open()
}
