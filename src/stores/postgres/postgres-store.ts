import type { Chain } from '../../domain/chain.ts'
import type { Group } from '../../domain/group.ts'
import type { Job, JobPolicy } from '../../domain/job.ts'
import type { LogLine, Run } from '../../domain/run.ts'
import type { EventRow } from '../../store/events.ts'
import type { GroupFilter, NewGroup } from '../../store/groups.ts'
import type * as jobs from '../../store/jobs.ts'
import type * as maintenance from '../../store/maintenance.ts'
import type { NodeRecord } from '../../store/nodes.ts'
import type * as runs from '../../store/runs.ts'
import type { Store } from '../../store/store.ts'
import { PostgresTriggers } from './postgres-triggers.ts'
import { cancelJob } from './statements/cancel.ts'
import { applyCascade, hasCascades } from './statements/cascades.ts'
import { listChildren } from './statements/children.ts'
import { CLAIM_ROUNDS_MAX, claimJobs, withoutClaimed } from './statements/claim.ts'
import type { OpenClaim } from './statements/claim-open.ts'
import * as damage from './statements/damage.ts'
import { findParentResults } from './statements/dependencies.ts'
import { nextDueAt } from './statements/due.ts'
import { editJob } from './statements/edit.ts'
import { enqueueJobs, refuseNul } from './statements/enqueue.ts'
import * as events from './statements/events.ts'
import { listFailedRuns } from './statements/failed-runs.ts'
import { finishRuns } from './statements/finish.ts'
import * as groups from './statements/groups.ts'
import * as history from './statements/history.ts'
import { findInterned, policyById } from './statements/interned.ts'
import { listJobs } from './statements/list-jobs.ts'
import { listQueue } from './statements/list-queued.ts'
import { listRuns } from './statements/list-runs.ts'
import { moveJob, normalisePositions, reprioritiseJob } from './statements/move.ts'
import * as nodes from './statements/nodes.ts'
import { findCancelWishes, listOccupancies } from './statements/occupancies.ts'
import { declareLimits, listLimits, setLimit } from './statements/permits.ts'
import { isPlainJob } from './statements/plain-enqueue.ts'
import { isPlainEnd } from './statements/plain-finish.ts'
import { countPrunableChains, pruneChains } from './statements/prune.ts'
import { releaseOccupancies } from './statements/release.ts'
import { recordChild, recordReports } from './statements/reports.ts'
import { retryByHand } from './statements/retry-by-hand.ts'
import { listRunTimes } from './statements/run-times.ts'
import { toClaimedJob } from './statements/start-jobs.ts'
import { findTypes, registerTypes } from './statements/types.ts'

/** The store contract on one PostgreSQL database. Every method is one statement file; nothing is decided here. */
export class PostgresStore extends PostgresTriggers implements Store {
  // Jobs

  enqueueJobs(list: readonly jobs.NewJob[], now: number): Promise<jobs.EnqueueResult> {
    const general = () => this.write((transaction) => enqueueJobs(transaction, list, now), list)
    if (list.length === 0 || !list.every(isPlainJob)) return general()
    const enqueue = (orElse: () => Promise<jobs.EnqueueResult>) => {
      for (const job of list) refuseNul(job)
      const numbers = list.flatMap((job) => findInterned(this.interned, job) ?? [])
      return numbers.length < list.length ? orElse() : this.hot.enqueue({ jobs: list, numbers, now, note: this.note })
    }
    // Mostly the lanes and policies are known.
    return this.writeHotAtOnce(() => enqueue(() => this.writeHot(list, () => enqueue(general))))
  }

  enqueueJobsWithin(client: unknown, list: readonly jobs.NewJob[], now: number): Promise<jobs.EnqueueResult> {
    return this.writeWithin(client, (transaction) => enqueueJobs(transaction, list, now), list)
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
    return this.read((connection) => history.findJob(connection, jobId, now))
  }

  findParentResults(jobId: string): Promise<ReadonlyMap<string, string | null>> {
    return this.read((connection) => findParentResults(connection, jobId))
  }

  findChain(jobId: string, now: number): Promise<Chain | null> {
    return this.read((connection) => history.findChain(connection, jobId, now))
  }

  findChainEnds(chainIds: readonly string[]): Promise<readonly jobs.ChainEnd[]> {
    return this.read((connection) => history.findChainEnds(connection, chainIds))
  }

  listJobs(filter: jobs.JobFilter, now: number): Promise<jobs.Page<Job>> {
    return this.read((connection) => listJobs(connection, filter, now))
  }

  listChildren(jobId: string, page: jobs.ChildrenPage, now: number): Promise<jobs.Page<Job> | null> {
    return this.read((connection) => listChildren(connection, jobId, page, now))
  }

  listQueue(limit: number, now: number): Promise<readonly Job[]> {
    return this.read((connection) => listQueue(connection, limit, now))
  }

  // Runs

  async claimJobs(request: runs.ClaimRequest): Promise<runs.Claimed> {
    if (request.limit === 0 || request.types.size === 0) return { tickets: [], jobs: [] }
    const claimed = await this.behindEnds(() =>
      // Mostly it is as it was at the last claim. That saves a round trip, and decides nothing.
      this.habits.claimsAreLimited ? this.claimLimited(request) : this.writeHot([], () => this.claimOpen(request)),
    )
    this.noteClaimed(claimed.jobs.length)
    return claimed
  }

  /** Where neither a limit nor a ticket is to be looked at: all in one statement. What others took meanwhile is replaced. */
  protected async claimOpen(request: runs.ClaimRequest): Promise<runs.Claimed> {
    const jobs: runs.ClaimedJob[] = []
    for (let round = 1; ; round++) {
      const rest = withoutClaimed(request, [], jobs)
      const claim = await this.hot.claim(rest)
      jobs.push(...(await this.toClaimedJobs(request, claim.rows)))
      if (claim.isLimited) {
        const more = await this.claimLimited(rest)
        return { tickets: more.tickets, jobs: [...jobs, ...more.jobs] }
      }
      if (claim.lost === 0 || jobs.length === request.limit || round === CLAIM_ROUNDS_MAX) return { tickets: [], jobs }
    }
  }

  /** One after the other: two at once would pass over each other's Jobs, and a node begins what it claims in the order of the queue. */
  protected claimLimited(request: runs.ClaimRequest): Promise<runs.Claimed> {
    const claimed = this.limitedClaims.last.then(() => this.claimLimitedNow(request))
    this.limitedClaims.last = claimed.catch(() => {})
    return claimed
  }

  protected async claimLimitedNow(request: runs.ClaimRequest): Promise<runs.Claimed> {
    const { isLimited, tickets, jobs } = await this.write((transaction) => claimJobs(transaction, request))
    this.habits.claimsAreLimited = isLimited
    return { tickets, jobs }
  }

  protected async toClaimedJobs(request: runs.ClaimRequest, rows: OpenClaim['rows']): Promise<runs.ClaimedJob[]> {
    const unknown = new Set(rows.map((row) => row.policy_id).filter((id) => !this.interned.policiesById.has(id)))
    const learned = new Map<number, JobPolicy>()
    if (unknown.size > 0) {
      await this.read(async (connection) => {
        for (const id of unknown) learned.set(id, await policyById(connection, this.interned, id))
      })
    }
    return rows.map((row) => {
      const policy = learned.get(row.policy_id) ?? (this.interned.policiesById.get(row.policy_id) as JobPolicy)
      return toClaimedJob(row, request, policy)
    })
  }

  finishRuns(list: readonly runs.FinishedRun[], newId: () => string): Promise<readonly runs.FinishResult[]> {
    // Plain ends let nothing start that could not start before, but under limits.
    const matters = this.habits.claimsAreLimited || !list.every(isPlainEnd)
    return this.endingBefore(matters, this.finishAll(list, newId))
  }

  protected async finishAll(
    list: readonly runs.FinishedRun[],
    newId: () => string,
  ): Promise<readonly runs.FinishResult[]> {
    const ended = await this.finishPlain(list.filter(isPlainEnd))
    const rest = list.filter((run) => !ended.has(run))
    const plans = rest.flatMap(({ followUps }) => followUps)
    const results =
      rest.length === 0 ? [] : await this.write((transaction) => finishRuns(transaction, rest, newId), plans)
    const byRun = new Map(rest.map((run, index) => [run, results[index] as runs.FinishResult]))
    return list.map((run) => byRun.get(run) ?? { kind: 'finished', retryJobId: null, followUps: [] })
  }

  /** Ends those that concern nobody else, and returns them. */
  protected async finishPlain(plain: readonly runs.FinishedRun[]): Promise<ReadonlySet<runs.FinishedRun>> {
    const nodeSeqs = plain.flatMap(({ by }) => this.interned.nodeSeqs.get(by) ?? [])
    // The first end of a node takes the general way, which learns its number.
    if (plain.length === 0 || nodeSeqs.length < plain.length) return new Set()
    return this.writeHot([], () => this.hot.finish({ runs: plain, nodeSeqs }))
  }

  releaseOccupancies(claims: readonly runs.Claim[], now: number): Promise<void> {
    return this.endingBefore(
      true,
      this.write((transaction) => releaseOccupancies(transaction, claims, now)),
    )
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
    return this.read((connection) => listOccupancies(connection, nodeId, limit))
  }

  findCancelWishes(nodeId: string): Promise<readonly runs.CancelWish[]> {
    return this.read((connection) => findCancelWishes(connection, nodeId))
  }

  nextDueAt(): Promise<number | null> {
    return this.read((connection) => nextDueAt(connection))
  }

  findRun(runId: string): Promise<Run | null> {
    return this.read((connection) => history.findRun(connection, { runId }))
  }

  findRunOfJob(jobId: string): Promise<Run | null> {
    return this.read((connection) => history.findRun(connection, { jobId }))
  }

  listRuns(filter: runs.RunFilter): Promise<jobs.Page<Run>> {
    return this.read((connection) => listRuns(connection, filter))
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
    return this.write((transaction) => groups.createGroup(transaction, group, members, now), members)
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
    return this.read((connection) => events.readEvents(connection, afterSeq, limit))
  }

  // Maintenance

  registerTypes(types: readonly maintenance.TypeRecord[], now: number): Promise<void> {
    // With their lanes and policies, so that whoever enqueues them later in a long transaction need not write those.
    return this.write((transaction) => registerTypes(transaction, types, now), types)
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
    return this.read((connection) => damage.findDamage(connection, limit))
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
