import { PawlError } from '../domain/errors.ts'
import { GROUP_MEMBERS_MAX, type Group, type GroupMode, type OnMemberFailure } from '../domain/group.ts'
import { invalid, readText, readWord, refuseUnknownKeys } from '../domain/options.ts'
import { capText, ERROR_TEXT_MAX } from '../domain/run.ts'
import type { EnqueuedItem, Page } from '../store/jobs.ts'
import { atIndex } from './at-index.ts'
import type { CancelOptions } from './cancel-job.ts'
import type { OperationContext } from './context.ts'
import { accepted, type ListedRequest, prepareList } from './enqueue-jobs.ts'
import { readStorable } from './enqueue-options.ts'
import { groupNotFound } from './not-found.ts'
import { readPage } from './read-history.ts'

export interface GroupOptions {
  /** A label for people. */
  readonly name?: string
  /** `sequential`: each member waits for the one before it. @default 'parallel' */
  readonly mode?: GroupMode
  /**
   * What happens to members that have not started when another one ends FAILED or CANCELLED: they are cancelled, they run
   * all the same, or they end as SKIPPED.
   * @default 'stop'
   */
  readonly onFailure?: OnMemberFailure
  /** Who asked, for the history. */
  readonly createdBy?: string
}

const NAME_LENGTH_MAX = 512

/** Accepts a group with all its members, or nothing. */
export async function createGroup(
  context: OperationContext,
  options: GroupOptions,
  requests: readonly ListedRequest[],
): Promise<{ readonly groupId: string; readonly items: readonly EnqueuedItem[] }> {
  refuseUnknownKeys(options, ['name', 'mode', 'onFailure', 'createdBy'], '')
  if (requests.length === 0 || requests.length > GROUP_MEMBERS_MAX) {
    throw invalid('jobs', `a list of 1 to ${GROUP_MEMBERS_MAX} jobs`, requests.length)
  }
  for (const [index, { idempotencyKey }] of requests.entries()) {
    // It might mean a Job that exists already, and that belongs to another group or to none.
    if (idempotencyKey !== null) atIndex(index, () => refuseIdempotencyKey(idempotencyKey))
  }
  const group = {
    groupId: context.newId(),
    name: readStorable(options.name, 'name', NAME_LENGTH_MAX),
    mode: readWord(options.mode ?? 'parallel', ['parallel', 'sequential'], 'mode'),
    onFailure: readWord(options.onFailure ?? 'stop', ['stop', 'continue', 'skip'], 'onFailure'),
    createdBy: readStorable(options.createdBy, 'createdBy', NAME_LENGTH_MAX),
  }
  const jobs = await prepareList(context, requests)
  if (group.mode === 'sequential') refuseBackwards(jobs)
  const result = await context.store.createGroup(group, jobs, context.clock.now())
  return { groupId: group.groupId, items: accepted(result, requests) }
}

function refuseIdempotencyKey(key: string): never {
  throw invalid('idempotencyKey', 'absent, because the members of a group are always new jobs', key)
}

/** In a sequential group each member waits for those before it, so one that depends on a later one would wait for ever. */
function refuseBackwards(jobs: readonly { readonly jobId: string; readonly dependsOn: readonly string[] }[]): void {
  const indexOf = new Map(jobs.map(({ jobId }, index) => [jobId, index]))
  for (const [index, { dependsOn }] of jobs.entries()) {
    const later = dependsOn.map((id) => indexOf.get(id) ?? -1).find((parent) => parent > index)
    if (later === undefined) continue
    throw new PawlError(
      'dependency_cycle',
      `Job ${index} of a sequential group depends on job ${later}, which waits for it. Nothing was stored.`,
      { path: `jobs.${index}.dependsOn`, details: { cycle: `${index} → ${later} → ${index}` } },
    )
  }
}

/** Cancels all members that have not ended; those that execute as `mode` says. */
export async function cancelGroup(
  context: OperationContext,
  groupId: string,
  options: Omit<CancelOptions, 'version'> = {},
): Promise<Group> {
  refuseUnknownKeys(options, ['mode', 'reason'], '')
  readText(groupId, 'groupId')
  const mode = readWord(options.mode ?? 'graceful', ['graceful', 'abort'], 'mode')
  const reason = options.reason === undefined ? null : capText(readText(options.reason, 'reason'), ERROR_TEXT_MAX)
  const result = await context.store.cancelGroup({ groupId, mode, reason, now: context.clock.now() })
  const group = await getGroup(context, groupId)
  if (result !== 'ended' || group.status === 'CANCELLED') return group
  throw new PawlError('group_ended', `Group ${groupId} has ended (${group.status}); it cannot be cancelled any more.`, {
    details: { groupId, status: group.status },
  })
}

export async function getGroup(context: OperationContext, groupId: string): Promise<Group> {
  const group = await context.store.findGroup(readText(groupId, 'groupId'))
  if (group === null) throw groupNotFound(groupId)
  return group
}

export function listGroups(
  context: OperationContext,
  options: { readonly limit?: number; readonly cursor?: string | null } = {},
): Promise<Page<Group>> {
  refuseUnknownKeys(options, ['limit', 'cursor'], '')
  return context.store.listGroups(readPage(options))
}
