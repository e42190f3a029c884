import { rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { readWhole, refuseUnknownKeys } from '../domain/options.ts'
import type { OperationContext } from './context.ts'

export interface PruneOptions {
  /** Only chains that settled at least this long ago. */
  readonly olderThanMs: number
}

/** How much was removed. */
export interface Pruned {
  readonly jobsRemoved: number
  /** Records of direct executions. */
  readonly reservationsRemoved: number
}

const PAGE = 200

/** Removes settled chains with their Runs, logs and log files, and the records of direct executions, page by page, so that work goes on meanwhile. */
export async function pruneHistory(context: OperationContext, options: PruneOptions): Promise<Pruned> {
  refuseUnknownKeys(options, ['olderThanMs'], '')
  const olderThanMs = readWhole(options.olderThanMs, 0, Number.MAX_SAFE_INTEGER, 'olderThanMs')
  const endedBefore = context.clock.now() - olderThanMs
  let jobsRemoved = 0
  let cursor: string | null = null
  do {
    const page = await context.store.pruneChains({ endedBefore, limit: PAGE, cursor })
    jobsRemoved += page.jobsRemoved
    cursor = page.nextCursor
    for (const path of page.logPaths) await removeLogFile(context, path)
  } while (cursor !== null)
  let reservationsRemoved = 0
  do {
    const page = await context.store.pruneReservations({ endedBefore, limit: PAGE, cursor })
    reservationsRemoved += page.removed
    cursor = page.nextCursor
  } while (cursor !== null)
  return { jobsRemoved, reservationsRemoved }
}

/** Only inside the store's own folder: a path in a database is data, and data may be wrong. */
async function removeLogFile(context: OperationContext, path: string): Promise<void> {
  const { logDirectory } = context.store
  if (logDirectory !== null && dirname(resolve(path)) === resolve(logDirectory)) await rm(path, { force: true })
}
