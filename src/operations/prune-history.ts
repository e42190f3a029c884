import { rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { invalid, readWhole, refuseUnknownKeys } from '../domain/options.ts'
import type { OperationContext } from './context.ts'

export interface PruneOptions {
  /** Only chains that settled at least this long ago. */
  readonly olderThanMs: number
  /** Removes nothing, and says how much would be removed. @default false */
  readonly dryRun?: boolean
}

/** How much was removed, or would be. */
export interface Pruned {
  readonly jobsRemoved: number
  /** Groups of which no member is left then. */
  readonly groupsRemoved: number
  /** Records of direct executions. */
  readonly reservationsRemoved: number
  /** Entries of the audit log. */
  readonly auditRemoved: number
  /** Bulk operations that ended in that time. */
  readonly operationsRemoved: number
}

const PAGE = 200

/**
 * Removes settled chains with their Runs, logs and log files, the records of direct executions and bulk operations, and what the audit
 * log says of that time, page by page, so that work goes on meanwhile.
 */
export async function pruneHistory(context: OperationContext, options: PruneOptions): Promise<Pruned> {
  refuseUnknownKeys(options, ['olderThanMs', 'dryRun'], '')
  const olderThanMs = readWhole(options.olderThanMs, 0, Number.MAX_SAFE_INTEGER, 'olderThanMs')
  const { dryRun = false } = options
  if (typeof dryRun !== 'boolean') throw invalid('dryRun', 'true or false', dryRun)
  const endedBefore = context.clock.now() - olderThanMs
  if (dryRun) return countPrunable(context, endedBefore)
  let jobsRemoved = 0
  let groupsRemoved = 0
  let cursor: string | null = null
  do {
    const page = await context.store.pruneChains({ endedBefore, limit: PAGE, cursor })
    jobsRemoved += page.jobsRemoved
    groupsRemoved += page.groupsRemoved
    cursor = page.nextCursor
    for (const path of page.logPaths) await removeLogFile(context, path)
  } while (cursor !== null)
  let reservationsRemoved = 0
  do {
    const page = await context.store.pruneReservations({ endedBefore, limit: PAGE, cursor })
    reservationsRemoved += page.removed
    cursor = page.nextCursor
  } while (cursor !== null)
  const { store } = context
  const operationsRemoved = await untilPageIsShort(() => store.pruneOperations(endedBefore, PAGE))
  const auditRemoved = await untilPageIsShort(() => store.pruneAudit(endedBefore, PAGE))
  return { jobsRemoved, groupsRemoved, reservationsRemoved, auditRemoved, operationsRemoved }
}

async function countPrunable({ store }: OperationContext, endedBefore: number): Promise<Pruned> {
  let jobsRemoved = 0
  let groupsRemoved = 0
  let cursor: string | null = null
  do {
    const page = await store.countPrunableChains({ endedBefore, limit: PAGE, cursor })
    jobsRemoved += page.jobs
    groupsRemoved += page.groups
    cursor = page.nextCursor
  } while (cursor !== null)
  let reservationsRemoved = 0
  do {
    const page = await store.countPrunableReservations({ endedBefore, limit: PAGE, cursor })
    reservationsRemoved += page.reservations
    cursor = page.nextCursor
  } while (cursor !== null)
  const auditRemoved = await store.countAudit(endedBefore)
  const operationsRemoved = await store.countPrunableOperations(endedBefore)
  return { jobsRemoved, groupsRemoved, reservationsRemoved, auditRemoved, operationsRemoved }
}

/** Until a page is not full: where pruning itself is noted, each page that removes something leaves one more entry. */
async function untilPageIsShort(prune: () => Promise<number>): Promise<number> {
  let removed = 0
  for (;;) {
    const page = await prune()
    removed += page
    if (page < PAGE) return removed
  }
}

/** Only inside the store's own folder: a path in a database is data, and data may be wrong. */
async function removeLogFile(context: OperationContext, path: string): Promise<void> {
  const { logDirectory } = context.store
  if (logDirectory !== null && dirname(resolve(path)) === resolve(logDirectory)) await rm(path, { force: true })
}
