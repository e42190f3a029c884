import { createHash } from 'node:crypto'
import { patternOf } from '../domain/failure-pattern.ts'
import { readText, readWhole, refuseUnknownKeys } from '../domain/options.ts'
import type { FailureReason } from '../domain/run.ts'
import type { FailedRun } from '../store/runs.ts'
import type { OperationContext } from './context.ts'
import { readInstant } from './enqueue-options.ts'

/** Failures that have the same cause, as far as their errors tell. */
export interface FailureGroup {
  /** The same for the same type, reason and pattern. */
  readonly fingerprint: string
  readonly type: string
  readonly reason: FailureReason | null
  /** What kind of error it was, such as `TypeError`. Null: a plain one. */
  readonly errorName: string | null
  /** The latest. */
  readonly message: string
  /** Its first line, with numbers, ids and times taken out. */
  readonly pattern: string
  readonly count: number
  readonly firstSeenAt: number
  readonly lastSeenAt: number
  /** The latest. */
  readonly exampleJobId: string
  readonly exampleRunId: string
}

export interface Failures {
  /** The latest first. */
  readonly items: readonly FailureGroup[]
  /** Runs that were looked at. */
  readonly lookedAt: number
  /** There are older failures that were not looked at. */
  readonly limited: boolean
  /** The start of the oldest that was looked at. Null: none was. */
  readonly since: number | null
}

export interface FailureOptions {
  readonly type?: string
  /** Only Runs that started at this instant or later. */
  readonly since?: Date | number
  /** Groups. @default 50 */
  readonly limit?: number
}

/** Failed Runs that are looked at, the latest ones. */
const LOOKED_AT_MAX = 2_000

/** Recent failures, those with the same cause together. Costs the same whatever the history. */
export async function listFailures(context: OperationContext, options: FailureOptions = {}): Promise<Failures> {
  refuseUnknownKeys(options, ['type', 'since', 'limit'], '')
  const limit = readWhole(options.limit ?? 50, 1, 200, 'limit')
  const type = options.type === undefined ? null : readText(options.type, 'type')
  const since = options.since === undefined ? 0 : readInstant(options.since, 'since')
  const runs = await context.store.listFailedRuns(since, LOOKED_AT_MAX + 1)
  const lookedAt = runs.slice(0, LOOKED_AT_MAX)
  return {
    items: group(lookedAt.filter((run) => type === null || run.type === type)).slice(0, limit),
    lookedAt: lookedAt.length,
    limited: runs.length > LOOKED_AT_MAX,
    since: lookedAt.at(-1)?.startedAt ?? null,
  }
}

/** The latest start comes first, but what started later may have ended earlier. */
function group(runs: readonly FailedRun[]): FailureGroup[] {
  const groups = new Map<string, FailureGroup>()
  for (const run of runs) {
    const { name, pattern } = patternOf(run.error)
    const key = JSON.stringify([run.type, run.reason, pattern])
    const seenAt = run.finishedAt
    const known = groups.get(key)
    const isLatest = known === undefined || seenAt > known.lastSeenAt
    groups.set(key, {
      fingerprint: known?.fingerprint ?? createHash('sha256').update(key).digest('hex').slice(0, 16),
      type: run.type,
      reason: run.reason,
      errorName: name,
      pattern,
      message: isLatest ? run.error : known.message,
      count: (known?.count ?? 0) + 1,
      firstSeenAt: Math.min(seenAt, known?.firstSeenAt ?? seenAt),
      lastSeenAt: Math.max(seenAt, known?.lastSeenAt ?? seenAt),
      exampleJobId: isLatest ? run.jobId : known.exampleJobId,
      exampleRunId: isLatest ? run.runId : known.exampleRunId,
    })
  }
  return [...groups.values()].toSorted((a, b) => b.lastSeenAt - a.lastSeenAt)
}
