import assert from 'node:assert/strict'
import type { ChainOutcome } from '../../domain/chain.ts'
import type { OnParentFailure } from '../../domain/dependency.ts'
import type { Group, GroupCounts } from '../../domain/group.ts'
import type { CancelMode, Job } from '../../domain/job.ts'
import type { NewGroup } from '../groups.ts'
import type { ManualRetryResult, NewJob } from '../jobs.ts'
import type { ClaimedJob } from '../runs.ts'
import { completed, failed, NOW, newId, newJob, SECOND, skipped } from './fixtures.ts'
import type { Stage } from './stage.ts'

/** When everything in the tests of composition is claimed: after all ends, which come one second after NOW. */
export const LATER = NOW + 10 * SECOND

/** So many dependents or members that no store deals with all of them in the transaction that concerns them. */
export const MANY = 600

/** Dependents or members per page, in tests that look at the state between two pages. */
export const PAGE = 100

const PAGES_MAX = 200

/** A Job that depends on these. */
export function childOf(
  parents: readonly (string | NewJob)[],
  onParentFailure: OnParentFailure = 'cancel',
  overrides: Partial<NewJob> = {},
): NewJob {
  const dependsOn = parents.map((parent) => (typeof parent === 'string' ? parent : parent.jobId))
  return newJob({ dependsOn, onParentFailure, ...overrides })
}

export function childrenOf(parent: string, count: number, onParentFailure: OnParentFailure = 'cancel'): NewJob[] {
  return Array.from({ length: count }, () => childOf([parent], onParentFailure))
}

/** Ends a Job that executes so that its chain settles with this outcome. */
export async function settle(stage: Stage, job: ClaimedJob, outcome: ChainOutcome): Promise<void> {
  const outcomes = { COMPLETED: completed(), SKIPPED: skipped(), FAILED: failed(), CANCELLED: failed('cancelled') }
  assert.equal((await stage.finish(job, { outcome: outcomes[outcome] })).kind, 'finished')
}

/** A chain that has settled with this outcome. Returns its id. */
export async function settled(stage: Stage, outcome: ChainOutcome, job: NewJob = newJob()): Promise<string> {
  await settle(stage, await stage.start(job), outcome)
  return job.jobId
}

/** Claims what can start later, which must be exactly this Job. */
export async function startsLater(stage: Stage, jobId: string): Promise<ClaimedJob> {
  const claimed = await stage.claimOne({ now: LATER })
  assert.equal(claimed.claim.jobId, jobId)
  return claimed
}

export async function retryByHand(
  stage: Stage,
  jobId: string,
  options: { readonly dependents?: boolean } = {},
): Promise<ManualRetryResult> {
  const dependents = options.dependents === true ? { newId } : null
  return stage.store.retryByHand({ by: { jobId }, newJobId: newId(), priority: null, dependents, now: LATER })
}

/** Tries a chain again, which must be possible. Returns the id of the new Job. */
export async function retried(
  stage: Stage,
  jobId: string,
  options: { readonly dependents?: boolean } = {},
): Promise<string> {
  const result = await retryByHand(stage, jobId, options)
  assert.ok(result.kind === 'created', `a retry is possible: ${result.kind}`)
  return result.jobId
}

/** The last Job of a chain. */
export async function lastOf(stage: Stage, chainId: string): Promise<Job> {
  const chain = await stage.store.findChain(chainId, LATER)
  const last = chain?.items.at(-1)
  assert.ok(last, `chain ${chainId} exists`)
  return last
}

/** How the last Jobs of these chains stand, such as `QUEUED dependencies` or `FINISHED COMPLETED`. */
export async function statesOf(stage: Stage, chainIds: readonly string[]): Promise<string[]> {
  const jobs = await Promise.all(chainIds.map((chainId) => lastOf(stage, chainId)))
  return jobs.map(({ status, hold, outcome }) => [status, hold ?? outcome].filter((word) => word !== null).join(' '))
}

/** How many of these chains stand so, for each way to stand. */
export async function tally(stage: Stage, chainIds: readonly string[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const state of await statesOf(stage, chainIds)) counts[state] = (counts[state] ?? 0) + 1
  return counts
}

export function applyPage(stage: Stage, limit = PAGE): Promise<'applied' | 'idle'> {
  return stage.store.applyCascade({ nodeId: stage.nodeId, newId, limit, now: LATER })
}

/** Carries out whatever is stored, page by page. */
export async function applyAll(stage: Stage, limit = PAGE): Promise<void> {
  for (let page = 0; page < PAGES_MAX; page++) {
    if (!(await stage.store.hasCascades())) return
    assert.equal(await applyPage(stage, limit), 'applied')
  }
  assert.fail(`the cascades do not end within ${PAGES_MAX} pages`)
}

export async function createGroup(
  stage: Stage,
  members: readonly NewJob[],
  overrides: Partial<NewGroup> = {},
): Promise<string> {
  const group = newGroup(overrides)
  const result = await stage.store.createGroup(group, members, NOW)
  assert.ok(result.kind === 'enqueued')
  assert.deepEqual(
    result.items.map(({ kind, jobId }) => [kind, jobId]),
    members.map(({ jobId }) => ['created', jobId]),
  )
  return group.groupId
}

export function newGroup(overrides: Partial<NewGroup> = {}): NewGroup {
  return { groupId: newId(), name: null, mode: 'parallel', onFailure: 'stop', createdBy: null, ...overrides }
}

export async function groupOf(stage: Stage, groupId: string): Promise<Group> {
  const group = await stage.store.findGroup(groupId)
  assert.ok(group, `group ${groupId} exists`)
  return group
}

/** The counts of a group: those that are not named are 0. */
export function counts(given: Partial<GroupCounts>): GroupCounts {
  const none = { total: 0, queued: 0, running: 0, completed: 0, failed: 0, skipped: 0, cancelled: 0 }
  const { total: _, ...states } = { ...none, ...given }
  return { ...none, ...given, total: Object.values(states).reduce((sum, count) => sum + count, 0) }
}

export function cancelGroup(
  stage: Stage,
  groupId: string,
  mode: CancelMode = 'graceful',
): Promise<'requested' | 'ended' | 'not-found'> {
  return stage.store.cancelGroup({ groupId, mode, reason: 'no longer wanted', now: NOW + 2 })
}

export function idsOf(jobs: readonly NewJob[]): string[] {
  return jobs.map(({ jobId }) => jobId)
}
