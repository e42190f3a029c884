import type { Chain } from '../domain/chain.ts'
import type { Job, JobStatus } from '../domain/job.ts'
import type { JsonObject } from '../domain/json.ts'
import { invalid, readText, readWhole, readWord, refuseUnknownKeys } from '../domain/options.ts'
import type { LogLevel, Run, RunStatus } from '../domain/run.ts'
import type { JobFilter, Page } from '../store/jobs.ts'
import type { OperationContext } from './context.ts'
import { type JobSearch, readSearch, SEARCH_KEYS } from './job-search.ts'
import { jobNotFound, runNotFound } from './not-found.ts'

const PAGE_MAX = 200
const PAGE_DEFAULT = 50
const LOG_PAGE_MAX = 10_000

export interface PageOptions {
  /** @default 50 */
  readonly limit?: number
  /** `nextCursor` of the page before. */
  readonly cursor?: string | null
}

/** One line that a handler logged. */
export interface LogEntry {
  readonly at: number
  readonly level: LogLevel
  readonly text: string
  readonly fields: JsonObject | null
}

export async function getJob(context: OperationContext, jobId: string): Promise<Job> {
  const job = await context.store.findJob(readText(jobId, 'jobId'), context.clock.now())
  if (job === null) throw jobNotFound(jobId)
  return job
}

export async function getChain(context: OperationContext, jobId: string): Promise<Chain> {
  const chain = await context.store.findChain(readText(jobId, 'jobId'), context.clock.now())
  if (chain === null) throw jobNotFound(jobId)
  return chain
}

export async function getRun(context: OperationContext, runId: string): Promise<Run> {
  const run = await context.store.findRun(readText(runId, 'runId'))
  if (run === null) throw runNotFound(runId)
  return run
}

/** The Run of a Job, or null while it has none. */
export async function findRunOfJob(context: OperationContext, jobId: string): Promise<Run | null> {
  return (await context.store.findRunOfJob(readText(jobId, 'jobId'))) ?? (await getJob(context, jobId), null)
}

const JOB_MARKS = ['type', 'tag', 'templateId', 'scheduleId', 'groupId'] as const

/** What a list of Jobs can be asked for. What is absent matches everything. */
export interface JobFilterOptions extends JobSearch {
  readonly status?: JobStatus
  readonly type?: string
  readonly tag?: string
  readonly templateId?: string
  readonly scheduleId?: string
  readonly groupId?: string
}

/** The filter that the options mean, or an error that names the field. */
export function readJobFilter(options: JobFilterOptions): Omit<JobFilter, 'limit' | 'cursor'> {
  refuseUnknownKeys(options, ['status', ...JOB_MARKS, ...SEARCH_KEYS], '')
  if (options.status !== undefined) readWord(options.status, ['QUEUED', 'RUNNING', 'CANCELLED', 'FINISHED'], 'status')
  for (const name of JOB_MARKS) {
    if (options[name] !== undefined) readText(options[name], name)
  }
  const { status, type, tag, templateId, scheduleId, groupId, ...search } = options
  const marks = withoutUndefined({ status, type, tag, templateId, scheduleId, groupId })
  return { ...marks, ...readSearch(search, status) } as Omit<JobFilter, 'limit' | 'cursor'>
}

/**
 * Newest first; with the status QUEUED, in the order of the queue. A page of several filters looks at a bounded number of
 * Jobs, so it may be short, even empty, though `nextCursor` says that more follow.
 */
export async function listJobs(
  context: OperationContext,
  options: PageOptions & JobFilterOptions = {},
): Promise<ListedJobs> {
  refuseUnknownKeys(options, ['limit', 'cursor', 'status', ...JOB_MARKS, ...SEARCH_KEYS], '')
  const { limit: _limit, cursor: _cursor, ...wanted } = options
  const filter = { ...readJobFilter(wanted), ...readPage(options) }
  const page = await context.store.listJobs(filter, context.clock.now())
  return { ...page, limited: page.nextCursor !== null && page.items.length < filter.limit }
}

/** A page of Jobs. */
export interface ListedJobs extends Page<Job> {
  /** It is short because it looked at as many Jobs as a page may: what follows may match as well. */
  readonly limited: boolean
}

function withoutUndefined(marks: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(marks).filter(([, value]) => value !== undefined))
}

/**
 * For each chain that depends on the chain of this Job its latest Job, in the order in which they were accepted. The order
 * of a sequential group is no such dependency.
 */
export async function listChildren(
  context: OperationContext,
  jobId: string,
  options: PageOptions = {},
): Promise<Page<Job>> {
  refuseUnknownKeys(options, ['limit', 'cursor'], '')
  const page = await context.store.listChildren(readText(jobId, 'jobId'), readPage(options), context.clock.now())
  if (page === null) throw jobNotFound(jobId)
  return page
}

/** The latest start first; with a type, the newest Job first. Pages may be short, as those of Jobs. */
export function listRuns(
  context: OperationContext,
  options: PageOptions & { readonly status?: RunStatus; readonly type?: string; readonly jobId?: string } = {},
): Promise<Page<Run>> {
  refuseUnknownKeys(options, ['limit', 'cursor', 'status', 'type', 'jobId'], '')
  if (options.status !== undefined) readWord(options.status, ['COMPLETED', 'FAILED', 'SKIPPED'], 'status')
  for (const name of ['type', 'jobId'] as const) if (options[name] !== undefined) readText(options[name], name)
  return context.store.listRuns({ ...options, ...readPage(options) })
}

/** The QUEUED Jobs from the head of the queue on, also those that are delayed. */
export function listQueue(
  context: OperationContext,
  options: { readonly limit?: number } = {},
): Promise<readonly Job[]> {
  refuseUnknownKeys(options, ['limit'], '')
  return context.store.listQueue(readPage(options).limit, context.clock.now())
}

export async function readLogs(
  context: OperationContext,
  runId: string,
  options: { readonly after?: number; readonly limit?: number } = {},
): Promise<readonly LogEntry[]> {
  refuseUnknownKeys(options, ['after', 'limit'], '')
  const after = readWhole(options.after ?? 0, 0, Number.MAX_SAFE_INTEGER, 'after')
  const limit = readWhole(options.limit ?? LOG_PAGE_MAX, 1, LOG_PAGE_MAX, 'limit')
  const lines = await context.store.readLogs((await getRun(context, runId)).runId, after, limit)
  return lines.map(({ at, level, text, fields }) => ({
    at,
    level,
    text,
    fields: fields === null ? null : JSON.parse(fields),
  }))
}

export function readPage({ limit, cursor = null }: PageOptions): {
  limit: number
  cursor: string | null
} {
  if (cursor !== null && (typeof cursor !== 'string' || !/^(-?\d{1,16}(:-?\d{1,16}){0,3}|[0-9a-f-]{36})$/.test(cursor)))
    throw invalid('cursor', 'as the page before answered it', cursor)
  return { limit: readLimit(limit), cursor }
}

export function readLimit(limit: unknown = PAGE_DEFAULT): number {
  return readWhole(limit, 1, PAGE_MAX, 'limit')
}
