import { existsSync, rmSync } from 'node:fs'
import type { Chain } from '../../domain/chain.ts'
import { PawlError } from '../../domain/errors.ts'
import type { Job } from '../../domain/job.ts'
import type { LogLine, Run } from '../../domain/run.ts'
import type { EventRow, StoreSignal } from '../../store/events.ts'
import type * as jobs from '../../store/jobs.ts'
import type * as maintenance from '../../store/maintenance.ts'
import type { Liveness, NodeRecord } from '../../store/nodes.ts'
import type * as runs from '../../store/runs.ts'
import type { Store } from '../../store/store.ts'
import { CallerTransactions } from './caller-transactions.ts'
import { ChangeWatcher } from './change-watcher.ts'
import type { Connection } from './connection.ts'
import { isBusy, translateError } from './errors.ts'
import { GroupCommitter } from './group-committer.ts'
import { createDatabaseFile } from './open-database.ts'
import { cancelJob } from './statements/cancel.ts'
import { claimJobs, nextDueAt } from './statements/claim.ts'
import * as damage from './statements/damage.ts'
import { enqueueJobs } from './statements/enqueue.ts'
import * as events from './statements/events.ts'
import { finishRuns, releaseOccupancies } from './statements/finish.ts'
import * as history from './statements/history.ts'
import { moveJob, normalisePositions, reprioritiseJob } from './statements/move.ts'
import * as nodes from './statements/nodes.ts'
import { findCancelWishes, listOccupancies } from './statements/occupancies.ts'
import { declareLimits, listLimits, setLimit } from './statements/permits.ts'
import { pruneChains } from './statements/prune.ts'
import { recordChild, recordReports } from './statements/reports.ts'
import { retryByHand } from './statements/retry.ts'
import { findTypes, registerTypes } from './statements/types.ts'
import type { Transaction } from './transaction.ts'

export interface SqliteStoreParts {
  readonly connection: Connection
  /** Null for a database in memory. */
  readonly path: string | null
  readonly liveness: Liveness
}

/** The store contract on one SQLite connection. Every method is one statement file; nothing is decided here. */
export class SqliteStore implements Store {
  readonly description: string
  readonly liveness: Liveness
  readonly logDirectory: string | null
  readonly #connection: Connection
  readonly #path: string
  readonly #committer: GroupCommitter
  readonly #callers: CallerTransactions
  readonly #listeners = new Set<(signal: StoreSignal) => void>()
  readonly #watcher: ChangeWatcher | null
  readonly #backups = new Set<Promise<void>>()
  #closed = false

  constructor(parts: SqliteStoreParts) {
    const signal = (what: StoreSignal) => {
      for (const listener of this.#listeners) listener(what)
    }
    this.#connection = parts.connection
    this.#path = parts.path ?? ':memory:'
    this.description = `sqlite ${this.#path}`
    this.liveness = parts.liveness
    this.logDirectory = parts.path === null ? null : `${parts.path}-logs`
    this.#committer = new GroupCommitter(parts.connection, this.#path, signal)
    this.#callers = new CallerTransactions(parts.connection.driver, parts.path)
    this.#watcher =
      parts.path === null ? null : new ChangeWatcher(parts.connection, () => signal({ kind: 'changed-elsewhere' }))
  }

  // Jobs

  enqueueJobs(list: readonly jobs.NewJob[], now: number): Promise<jobs.EnqueueResult> {
    return this.#write((transaction) => enqueueJobs(transaction, list, now))
  }

  enqueueJobsWithin(handle: unknown, list: readonly jobs.NewJob[], now: number): jobs.EnqueueResult {
    this.#refuseClosed()
    return this.#callers.within(handle, (transaction) => {
      const result = enqueueJobs(transaction, list, now)
      events.insertEventRow(transaction)
      return result
    })
  }

  cancelJob(request: Parameters<Store['cancelJob']>[0]): Promise<jobs.CancelResult> {
    return this.#write((transaction) => cancelJob(transaction, request))
  }

  moveJob(request: Parameters<Store['moveJob']>[0]): Promise<jobs.MoveResult> {
    return this.#write((transaction) => moveJob(transaction, request))
  }

  reprioritiseJob(request: Parameters<Store['reprioritiseJob']>[0]): Promise<jobs.MoveResult> {
    return this.#write((transaction) => reprioritiseJob(transaction, request))
  }

  normalisePositions(priority: number): Promise<number> {
    return this.#write((transaction) => normalisePositions(transaction, priority))
  }

  retryByHand(request: Parameters<Store['retryByHand']>[0]): Promise<jobs.ManualRetryResult> {
    return this.#write((transaction) => retryByHand(transaction, request))
  }

  findJob(jobId: string, now: number): Promise<Job | null> {
    return this.#read(() => history.findJob(this.#connection, this.#committer.interned, jobId, now))
  }

  findChain(jobId: string, now: number): Promise<Chain | null> {
    return this.#read(() => history.findChain(this.#connection, this.#committer.interned, jobId, now))
  }

  findChainEnds(chainIds: readonly string[]): Promise<readonly jobs.ChainEnd[]> {
    return this.#read(() =>
      chainIds.map((chainId) => history.findChainEnd(this.#connection, chainId)).filter((end) => end !== null),
    )
  }

  listJobs(filter: jobs.JobFilter, now: number): Promise<jobs.Page<Job>> {
    return this.#read(() => history.listJobs(this.#connection, this.#committer.interned, filter, now))
  }

  listQueue(limit: number, now: number): Promise<readonly Job[]> {
    return this.#read(() => history.listQueue(this.#connection, this.#committer.interned, limit, now))
  }

  // Runs

  claimJobs(request: runs.ClaimRequest): Promise<readonly runs.ClaimedJob[]> {
    return this.#write((transaction) => claimJobs(transaction, request))
  }

  finishRuns(list: readonly runs.FinishedRun[]): Promise<readonly runs.FinishResult[]> {
    return this.#write((transaction) => finishRuns(transaction, list))
  }

  releaseOccupancies(claims: readonly runs.Claim[], now: number): Promise<void> {
    return this.#write((transaction) => releaseOccupancies(transaction, claims, now))
  }

  recordReports(
    reports: readonly { claim: runs.Claim; report: runs.RunReport }[],
    now: number,
  ): Promise<readonly ('recorded' | 'late')[]> {
    return this.#write((transaction) => recordReports(transaction, reports, now))
  }

  recordChild(claim: runs.Claim, child: runs.ChildIdentity, logPath: string | null): Promise<'recorded' | 'late'> {
    return this.#write((transaction) => recordChild(transaction, claim, child, logPath))
  }

  listOccupancies(nodeId: string, limit: number): Promise<readonly runs.Occupancy[]> {
    return this.#read(() => listOccupancies(this.#connection, this.#committer.interned, nodeId, limit))
  }

  findCancelWishes(nodeId: string): Promise<readonly runs.CancelWish[]> {
    return this.#read(() => findCancelWishes(this.#connection, nodeId))
  }

  nextDueAt(): Promise<number | null> {
    return this.#read(() => nextDueAt(this.#connection))
  }

  findRun(runId: string): Promise<Run | null> {
    return this.#read(() => history.findRun(this.#connection, this.#committer.interned, { runId }))
  }

  findRunOfJob(jobId: string): Promise<Run | null> {
    return this.#read(() => history.findRun(this.#connection, this.#committer.interned, { jobId }))
  }

  listRuns(filter: runs.RunFilter): Promise<jobs.Page<Run>> {
    return this.#read(() => history.listRuns(this.#connection, this.#committer.interned, filter))
  }

  readLogs(runId: string, after: number, limit: number): Promise<readonly LogLine[]> {
    return this.#read(() => history.readLogs(this.#connection, runId, after, limit))
  }

  // Nodes

  registerNode(node: NodeRecord): Promise<void> {
    return this.#write((transaction) => nodes.registerNode(transaction, node))
  }

  removeNode(nodeId: string, now: number): Promise<'removed' | 'occupied'> {
    return this.#write((transaction) => nodes.removeNode(transaction, nodeId, now))
  }

  listNodes(): Promise<readonly NodeRecord[]> {
    return this.#read(() => nodes.listNodes(this.#connection))
  }

  // Events

  readEvents(afterSeq: number, limit: number): Promise<readonly EventRow[]> {
    return this.#read(() => events.readEvents(this.#connection, this.#committer.interned, afterSeq, limit))
  }

  lastEventSeq(): Promise<number> {
    return this.#read(() => events.lastEventSeq(this.#connection))
  }

  subscribe(listener: (signal: StoreSignal) => void): () => void {
    this.#refuseClosed()
    this.#listeners.add(listener)
    this.#watcher?.start()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#watcher?.stop()
    }
  }

  // Maintenance

  registerTypes(types: readonly maintenance.TypeRecord[], now: number): Promise<void> {
    return this.#write((transaction) => registerTypes(transaction, types, now))
  }

  findTypes(): Promise<readonly maintenance.TypeRecord[]> {
    return this.#read(() => findTypes(this.#connection))
  }

  declareLimits(limits: readonly maintenance.LimitRecord[]): Promise<readonly maintenance.LimitRecord[]> {
    return this.#write((transaction) => declareLimits(transaction, limits))
  }

  setLimit(name: string, max: number | null): Promise<void> {
    return this.#write((transaction) => setLimit(transaction, name, max))
  }

  listLimits(): Promise<readonly maintenance.LimitRecord[]> {
    return this.#read(() => listLimits(this.#connection))
  }

  findDamage(limit: number): Promise<readonly maintenance.Damage[]> {
    return this.#read(() => damage.findDamage(this.#connection, this.#committer.interned, limit))
  }

  repairMissingRun(repair: Parameters<Store['repairMissingRun']>[0]): Promise<boolean> {
    return this.#write((transaction) => damage.repairMissingRun(transaction, repair))
  }

  repairMissingRetry(repair: Parameters<Store['repairMissingRetry']>[0]): Promise<boolean> {
    return this.#write((transaction) => damage.repairMissingRetry(transaction, repair))
  }

  pruneChains(request: maintenance.PruneRequest): Promise<maintenance.PrunePage> {
    return this.#write((transaction) => pruneChains(transaction, request))
  }

  pruneEvents(before: number, limit: number): Promise<number> {
    return this.#write((transaction) => events.pruneEvents(transaction, before, limit))
  }

  backup(path: string): Promise<void> {
    const backup = this.#backUp(path)
    this.#backups.add(backup)
    const forget = () => this.#backups.delete(backup)
    backup.then(forget, forget)
    return backup
  }

  async #backUp(path: string): Promise<void> {
    this.#refuseClosed()
    if (existsSync(path)) {
      throw new PawlError(
        'invalid_option',
        `Expected the backup's path to be a new file, but ${path} exists already.`,
        {
          details: { path },
        },
      )
    }
    createDatabaseFile(path)
    try {
      await this.#writeBackup(path)
    } catch (error) {
      rmSync(path, { force: true })
      throw translateError(error, path)
    }
  }

  /** From a connection of its own: the library copies in another thread, while this one goes on writing here. */
  async #writeBackup(path: string): Promise<void> {
    if (this.#watcher === null) {
      this.#connection.run('vacuum into ?', path)
      return
    }
    const { driver } = this.#connection
    const source = driver.open(this.#path)
    try {
      await driver.backup(source, path)
    } finally {
      source.close()
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#watcher?.stop()
    this.#listeners.clear()
    await this.#committer.close()
    await Promise.allSettled(this.#backups)
    this.#callers.forget()
    try {
      // Leaves everything in the one file, also where the library does not tidy up by itself when it closes.
      if (this.#watcher !== null) this.#connection.exec('pragma wal_checkpoint(truncate)')
    } catch {
      // Whoever opens it next finds all of it in the log.
    }
    this.#connection.close()
  }

  #write<T>(work: (transaction: Transaction) => T): Promise<T> {
    if (this.#closed) return Promise.reject(closedError(this.#path))
    return this.#committer.write(work)
  }

  async #read<T>(work: () => T): Promise<T> {
    this.#refuseClosed()
    for (let attempt = 1; ; attempt++) {
      try {
        return work()
      } catch (error) {
        if (!isBusy(error) || attempt === READ_ATTEMPTS_MAX) throw translateError(error, this.#path)
      }
      await new Promise((resolve) => setTimeout(resolve, 5 * attempt))
      this.#refuseClosed()
    }
  }

  #refuseClosed(): void {
    if (this.#closed) throw closedError(this.#path)
  }
}

/** Readers wait for nobody in WAL mode, but for the moment in which a file is recovered or closed by its last user. */
const READ_ATTEMPTS_MAX = 20

function closedError(path: string): PawlError {
  return new PawlError('closed', `The store ${path} is closed. Open a new one.`)
}
