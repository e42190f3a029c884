import assert from 'node:assert/strict'
import type { CancelMode, Job } from '../../domain/job.ts'
import type { Run } from '../../domain/run.ts'
import type { EventRow, StoreSignal } from '../events.ts'
import type { CancelResult, NewJob } from '../jobs.ts'
import type { Claim, Claimed, ClaimedJob, ClaimRequest, FinishedRun, FinishResult } from '../runs.ts'
import type { Store } from '../store.ts'
import { endOf, NOW, newId, newJob, newNode } from './fixtures.ts'
import { assertSame } from './same.ts'
import { takeSnapshot } from './snapshot.ts'

/** Every type the tests use, each with as many places as anyone could want. */
const ALL_TYPES: ReadonlyMap<string, number> = new Map(['story', 'poem', 'song'].map((type) => [type, 1_000]))

/** One id for each Job, so that a list of two Jobs gives two ids. */
type IdsOf<Jobs extends readonly NewJob[]> = { -readonly [Index in keyof Jobs]: string }

/** The newest row of events that any store of a test has committed. */
export class NewestRow {
  seq = 0

  hear(signal: StoreSignal): void {
    if (signal.kind === 'committed') this.seq = Math.max(this.seq, signal.row.seq)
  }
}

/** How often a row that a store holds back is asked for, about ten seconds long, before it counts as lost. */
const ASKS_MAX = 20_000

/** A store with one registered node on it, and the steps that most tests take. */
export class Stage {
  readonly store: Store
  readonly nodeId: string
  readonly #newest: NewestRow

  constructor(store: Store, nodeId: string, newest = new NewestRow()) {
    this.store = store
    this.nodeId = nodeId
    this.#newest = newest
  }

  /** Enqueues Jobs that nothing speaks against. */
  async enqueue<const Jobs extends readonly NewJob[]>(jobs: Jobs, now = NOW): Promise<IdsOf<Jobs>> {
    const result = await this.store.enqueueJobs(jobs, now)
    assert.equal(result.kind, 'enqueued')
    assertSame(
      result.items.map(({ kind, jobId }) => [kind, jobId]),
      jobs.map(({ jobId }) => ['created', jobId]),
    )
    return jobs.map(({ jobId }) => jobId) as IdsOf<Jobs>
  }

  /** Claims Jobs where no ticket waits. */
  async claim(request: Partial<ClaimRequest> = {}): Promise<readonly ClaimedJob[]> {
    const { tickets, jobs } = await this.claimAll(request)
    assertSame(tickets, [], 'no ticket waits')
    return jobs
  }

  claimAll(request: Partial<ClaimRequest> = {}): Promise<Claimed> {
    return this.store.claimJobs({
      nodeId: this.nodeId,
      now: NOW,
      limit: 100,
      types: ALL_TYPES,
      newRunId: newId,
      ...request,
    })
  }

  async claimIds(request: Partial<ClaimRequest> = {}): Promise<string[]> {
    return (await this.claim(request)).map(({ claim }) => claim.jobId)
  }

  /** Claims what must be exactly one Job. */
  async claimOne(request: Partial<ClaimRequest> = {}): Promise<ClaimedJob> {
    const claimed = await this.claim(request)
    assert.equal(claimed.length, 1, 'exactly one Job can start')
    return claimed[0] as ClaimedJob
  }

  /** A Job that is executing on this node: enqueued, and claimed alone. */
  async start(job: NewJob = newJob(), request: Partial<ClaimRequest> = {}): Promise<ClaimedJob> {
    await this.enqueue([job])
    const claimed = await this.claimOne({ types: new Map([[job.type, 1]]), limit: 1, ...request })
    assert.equal(claimed.claim.jobId, job.jobId, 'the new Job is the first that can start')
    return claimed
  }

  async finish(job: ClaimedJob, overrides: Partial<FinishedRun> = {}): Promise<FinishResult> {
    return this.finishAs(endOf(job, overrides))
  }

  async finishAs(end: FinishedRun): Promise<FinishResult> {
    const [result, ...rest] = await this.store.finishRuns([end], newId)
    assertSame(rest, [])
    assert.ok(result !== undefined, 'finishRuns answers each item')
    return result
  }

  cancel(jobId: string, mode: CancelMode = 'graceful', now = NOW + 1): Promise<CancelResult> {
    return this.store.cancelJob({ jobId, mode, reason: 'no longer wanted', now })
  }

  release(...claims: Claim[]): Promise<void> {
    return this.store.releaseOccupancies(claims, NOW + 1)
  }

  async job(jobId: string, now = NOW): Promise<Job> {
    const job = await this.store.findJob(jobId, now)
    assert.ok(job, `Job ${jobId} exists`)
    return job
  }

  async run(runId: string): Promise<Run> {
    const run = await this.store.findRun(runId)
    assert.ok(run, `Run ${runId} exists`)
    return run
  }

  /** The ids of the QUEUED Jobs in the order of the queue. */
  async queue(): Promise<string[]> {
    return (await this.store.listQueue(200, NOW)).map(({ jobId }) => jobId)
  }

  /** The ids of the Jobs whose bodies occupy this node. */
  async occupants(): Promise<string[]> {
    return (await this.store.listOccupancies(this.nodeId, 1_000)).map(({ job }) => job.claim.jobId)
  }

  /** Rows of events, once nothing is held back of what the stores of this test have committed. */
  async readEvents(afterSeq: number, limit: number): Promise<readonly EventRow[]> {
    await this.#allShown()
    return this.store.readEvents(afterSeq, limit)
  }

  async lastEventSeq(): Promise<number> {
    await this.#allShown()
    return this.store.lastEventSeq()
  }

  async #allShown(): Promise<void> {
    for (let asks = 0; asks < ASKS_MAX; asks++) {
      if ((await this.store.lastEventSeq()) >= this.#newest.seq) return
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.fail(`row ${this.#newest.seq} of the events was committed, and cannot be read`)
  }

  /** Does something that must leave everything in the store as it is. */
  async changesNothing<Result>(act: () => Promise<Result>): Promise<Result> {
    const before = await this.#takeSnapshot()
    const result = await act()
    assertSame(await this.#takeSnapshot(), before, 'nothing in the store has changed')
    return result
  }

  async #takeSnapshot(): Promise<object> {
    const rows = await this.readEvents(0, 10_000)
    const transitions = rows.flatMap((row) => row.transitions)
    return takeSnapshot(this.store, transitions)
  }
}

/** `newest` is shared by all stages on one database. */
export async function takeStage(store: Store, newest = new NewestRow()): Promise<Stage> {
  const node = newNode()
  await store.registerNode(node)
  store.subscribe((signal) => newest.hear(signal))
  return new Stage(store, node.nodeId, newest)
}
