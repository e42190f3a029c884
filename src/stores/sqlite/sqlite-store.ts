import type { Chain } from '../../domain/chain.ts'
import type { Group } from '../../domain/group.ts'
import type { Job } from '../../domain/job.ts'
import type { LogLine, Run } from '../../domain/run.ts'
import type { EventRow } from '../../store/events.ts'
import type { GroupFilter, NewGroup } from '../../store/groups.ts'
import type * as jobs from '../../store/jobs.ts'
import type * as maintenance from '../../store/maintenance.ts'
import type { NodeRecord } from '../../store/nodes.ts'
import type * as runs from '../../store/runs.ts'
import type { Store } from '../../store/store.ts'
import { SqliteTriggers } from './sqlite-triggers.ts'
import { cancelJob } from './statements/cancel.ts'
import { applyCascade, hasCascades } from './statements/cascades.ts'
import { listChildren } from './statements/children.ts'
import { claimJobs, nextDueAt } from './statements/claim.ts'
import * as damage from './statements/damage.ts'
import { findParentResults } from './statements/dependencies.ts'
import { editJob } from './statements/edit.ts'
import { enqueueJobs } from './statements/enqueue.ts'
import * as events from './statements/events.ts'
import { listFailedRuns } from './statements/failed-runs.ts'
import { finishRuns, releaseOccupancies } from './statements/finish.ts'
import * as groups from './statements/groups.ts'
import * as history from './statements/history.ts'
import { writeLast } from './statements/last-writes.ts'
import { listJobs } from './statements/list-jobs.ts'
import { listQueue } from './statements/list-queued.ts'
import { listRuns } from './statements/list-runs.ts'
import { moveJob, normalisePositions, reprioritiseJob } from './statements/move.ts'
import * as nodes from './statements/nodes.ts'
import { findCancelWishes, listOccupancies } from './statements/occupancies.ts'
import { declareLimits, listLimits, setLimit } from './statements/permits.ts'
import { countPrunableChains, pruneChains } from './statements/prune.ts'
import { recordChild, recordReports } from './statements/reports.ts'
import { retryByHand } from './statements/retry-by-hand.ts'
import { listRunTimes } from './statements/run-times.ts'
import { findTypes, registerTypes } from './statements/types.ts'

/** The store contract on one SQLite connection. Every method is one statement file; nothing is decided here. */
export class SqliteStore extends SqliteTriggers implements Store {
  // Jobs

  enqueueJobs(list: readonly jobs.NewJob[], now: number): Promise<jobs.EnqueueResult> {
    return this.write((transaction) => enqueueJobs(transaction, list, now))
  }

  enqueueJobsWithin(handle: unknown, list: readonly jobs.NewJob[], now: number): jobs.EnqueueResult {
    return this.writeWithin(handle, (transaction) => {
      const result = enqueueJobs(transaction, list, now)
      writeLast(transaction)
      return result
    })
  }

  cancelJob(request: Parameters<Store['cancelJob']>[0]): Promise<jobs.CancelResult> {
    return this.write((transaction) => cancelJob(transaction, request))
  }

  moveJob(request: Parameters<Store['moveJob']>[0]): Promise<jobs.MoveResult> {
    return this.write((transaction) => moveJob(transaction, request))
  }

  reprioritiseJob(request: Parameters<Store['reprioritiseJob']>[0]): Promise<jobs.MoveResult> {
    return this.write((transaction) => reprioritiseJob(transaction, request))
  }

  editJob(request: Parameters<Store['editJob']>[0]): Promise<jobs.EditResult> {
    return this.write((transaction) => editJob(transaction, request))
  }

  normalisePositions(priority: number): Promise<number> {
    return this.write((transaction) => normalisePositions(transaction, priority))
  }

  retryByHand(request: Parameters<Store['retryByHand']>[0]): Promise<jobs.ManualRetryResult> {
    return this.write((transaction) => retryByHand(transaction, request))
  }

  findJob(jobId: string, now: number): Promise<Job | null> {
    return this.read((connection) => history.findJob(connection, this.interned, jobId, now))
  }

  findParentResults(jobId: string): Promise<ReadonlyMap<string, string | null>> {
    return this.read((connection) => findParentResults(connection, jobId))
  }

  findChain(jobId: string, now: number): Promise<Chain | null> {
    return this.read((connection) => history.findChain(connection, this.interned, jobId, now))
  }

  findChainEnds(chainIds: readonly string[]): Promise<readonly jobs.ChainEnd[]> {
    return this.read((connection) =>
      chainIds.map((chainId) => history.findChainEnd(connection, chainId)).filter((end) => end !== null),
    )
  }

  listJobs(filter: jobs.JobFilter, now: number): Promise<jobs.Page<Job>> {
    return this.read((connection) => listJobs(connection, this.interned, filter, now))
  }

  listChildren(jobId: string, page: jobs.ChildrenPage, now: number): Promise<jobs.Page<Job> | null> {
    return this.read((connection) => listChildren(connection, this.interned, jobId, page, now))
  }

  listQueue(limit: number, now: number): Promise<readonly Job[]> {
    return this.read((connection) => listQueue(connection, this.interned, limit, now))
  }

  // Runs

  claimJobs(request: runs.ClaimRequest): Promise<runs.Claimed> {
    return this.write((transaction) => claimJobs(transaction, request))
  }

  finishRuns(list: readonly runs.FinishedRun[], newId: () => string): Promise<readonly runs.FinishResult[]> {
    return this.write((transaction) => finishRuns(transaction, list, newId))
  }

  releaseOccupancies(claims: readonly runs.Claim[], now: number): Promise<void> {
    return this.write((transaction) => releaseOccupancies(transaction, claims, now))
  }

  recordReports(
    reports: readonly { claim: runs.Claim; report: runs.RunReport }[],
    now: number,
  ): Promise<readonly ('recorded' | 'late')[]> {
    return this.write((transaction) => recordReports(transaction, reports, now))
  }

  recordChild(claim: runs.Claim, child: runs.ChildIdentity, logPath: string | null): Promise<'recorded' | 'late'> {
    return this.write((transaction) => recordChild(transaction, claim, child, logPath))
  }

  listOccupancies(nodeId: string, limit: number): Promise<readonly runs.Occupancy[]> {
    return this.read((connection) => listOccupancies(connection, this.interned, nodeId, limit))
  }

  findCancelWishes(nodeId: string): Promise<readonly runs.CancelWish[]> {
    return this.read((connection) => findCancelWishes(connection, nodeId))
  }

  nextDueAt(): Promise<number | null> {
    return this.read((connection) => nextDueAt(connection))
  }

  findRun(runId: string): Promise<Run | null> {
    return this.read((connection) => history.findRun(connection, this.interned, { runId }))
  }

  findRunOfJob(jobId: string): Promise<Run | null> {
    return this.read((connection) => history.findRun(connection, this.interned, { jobId }))
  }

  listRuns(filter: runs.RunFilter): Promise<jobs.Page<Run>> {
    return this.read((connection) => listRuns(connection, this.interned, filter))
  }

  listRunTimes(from: number, limit: number): Promise<readonly runs.RunTimes[]> {
    return this.read((connection) => listRunTimes(connection, from, limit))
  }

  listFailedRuns(from: number, limit: number): Promise<readonly runs.FailedRun[]> {
    return this.read((connection) => listFailedRuns(connection, from, limit))
  }

  readLogs(runId: string, after: number, limit: number): Promise<readonly LogLine[]> {
    return this.read((connection) => history.readLogs(connection, runId, after, limit))
  }

  // Groups and cascades

  createGroup(group: NewGroup, members: readonly jobs.NewJob[], now: number): Promise<jobs.EnqueueResult> {
    return this.write((transaction) => groups.createGroup(transaction, group, members, now))
  }

  cancelGroup(request: Parameters<Store['cancelGroup']>[0]): Promise<'requested' | 'ended' | 'not-found'> {
    return this.write((transaction) => groups.cancelGroup(transaction, request))
  }

  findGroup(groupId: string): Promise<Group | null> {
    return this.read((connection) => groups.findGroup(connection, groupId))
  }

  findSettledGroups(groupIds: readonly string[]): Promise<readonly string[]> {
    return this.read((connection) => groups.findSettledGroups(connection, groupIds))
  }

  listGroups(filter: GroupFilter): Promise<jobs.Page<Group>> {
    return this.read((connection) => groups.listGroups(connection, filter))
  }

  hasCascades(): Promise<boolean> {
    return this.read((connection) => hasCascades(connection))
  }

  applyCascade(request: Parameters<Store['applyCascade']>[0]): Promise<'applied' | 'idle'> {
    return this.write((transaction) => applyCascade(transaction, request))
  }

  // Nodes

  registerNode(node: NodeRecord): Promise<void> {
    return this.write((transaction) => nodes.registerNode(transaction, node))
  }

  setNodeClaims(nodeId: string, claims: boolean): Promise<void> {
    return this.write((transaction) => nodes.setNodeClaims(transaction, nodeId, claims))
  }

  removeNode(nodeId: string, now: number): Promise<'removed' | 'occupied'> {
    return this.write((transaction) => nodes.removeNode(transaction, nodeId, now))
  }

  listNodes(): Promise<readonly NodeRecord[]> {
    return this.read((connection) => nodes.listNodes(connection))
  }

  // Events

  readEvents(afterSeq: number, limit: number): Promise<readonly EventRow[]> {
    return this.read((connection) => events.readEvents(connection, this.interned, afterSeq, limit))
  }

  lastEventSeq(): Promise<number> {
    return this.read((connection) => events.lastEventSeq(connection))
  }

  // Maintenance

  registerTypes(types: readonly maintenance.TypeRecord[], now: number): Promise<void> {
    return this.write((transaction) => registerTypes(transaction, types, now))
  }

  findTypes(): Promise<readonly maintenance.TypeRecord[]> {
    return this.read((connection) => findTypes(connection))
  }

  declareLimits(limits: readonly maintenance.LimitRecord[]): Promise<readonly maintenance.LimitRecord[]> {
    return this.write((transaction) => declareLimits(transaction, limits))
  }

  setLimit(name: string, max: number | null): Promise<void> {
    return this.write((transaction) => setLimit(transaction, name, max))
  }

  listLimits(): Promise<readonly maintenance.LimitRecord[]> {
    return this.read((connection) => listLimits(connection))
  }

  findDamage(limit: number): Promise<readonly maintenance.Damage[]> {
    return this.read((connection) => damage.findDamage(connection, this.interned, limit))
  }

  repairMissingRun(repair: Parameters<Store['repairMissingRun']>[0]): Promise<boolean> {
    return this.write((transaction) => damage.repairMissingRun(transaction, repair))
  }

  repairMissingRetry(repair: Parameters<Store['repairMissingRetry']>[0]): Promise<boolean> {
    return this.write((transaction) => damage.repairMissingRetry(transaction, repair))
  }

  pruneChains(request: maintenance.PruneRequest): Promise<maintenance.PrunePage> {
    return this.write((transaction) => pruneChains(transaction, request))
  }

  countPrunableChains(request: maintenance.PruneRequest): Promise<maintenance.PrunableChains> {
    return this.read((connection) => countPrunableChains(connection, request))
  }

  pruneEvents(before: number, limit: number): Promise<number> {
    return this.write((transaction) => events.pruneEvents(transaction, before, limit))
  }
}
