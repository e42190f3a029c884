import {
  BULK_COUNT_MAX,
  BULK_JOB_IDS_MAX,
  BULK_STATUSES,
  type BulkCancelMode,
  type BulkCounts,
  type BulkKind,
  type BulkOperation,
  type BulkStatus,
  walksOf,
} from '../domain/bulk-operation.ts'
import { PawlError } from '../domain/errors.ts'
import type { CancelMode } from '../domain/job.ts'
import { invalid, readText, readWord, refuseUnknownKeys } from '../domain/options.ts'
import { capText, ERROR_TEXT_MAX } from '../domain/run.ts'
import type { BulkFilter } from '../store/bulk-operations.ts'
import type { Page } from '../store/jobs.ts'
import type { OperationContext } from './context.ts'
import { readStorable } from './enqueue-options.ts'
import { bulkOperationNotFound } from './not-found.ts'
import { type JobFilterOptions, type PageOptions, readJobFilter, readPage } from './read-history.ts'

export interface BulkOptions {
  /** `cancel` applies to QUEUED and RUNNING Jobs, `retry` to the last failed or cancelled Job of each chain. */
  readonly kind: BulkKind
  /** All Jobs that match, as `listJobs` would find them. `{}`: all there are. */
  readonly filter?: JobFilterOptions
  /** Or these Jobs, at most 1,000. */
  readonly jobIds?: readonly string[]
  /** What happens to bodies that execute. Only of a cancel. @default 'graceful' */
  readonly mode?: CancelMode
  /** For the history. Only of a cancel. */
  readonly reason?: string
  /** Who asked, for the history. */
  readonly createdBy?: string
}

/** How many Jobs an operation would concern. */
export type BulkMatch = Pick<BulkCounts, 'matched' | 'isMatchedCapped'>

interface CheckedBulk {
  readonly kind: BulkKind
  readonly filter: BulkFilter | null
  readonly jobIds: readonly string[] | null
  readonly mode: BulkCancelMode | null
  readonly reason: string | null
}

/** Writes the order to cancel or retry many Jobs. Nodes carry it out, page by page. */
export async function startOperation(context: OperationContext, options: BulkOptions): Promise<BulkOperation> {
  const checked = readBulkOptions(options)
  const createdBy = readStorable(options.createdBy, 'createdBy', 512)
  const matched = await countMatching(context, checked)
  const operationId = context.newId()
  await context.store.startOperation({ ...checked, operationId, createdBy, matched }, context.clock.now())
  return getOperation(context, operationId)
}

/** How many Jobs the same request would concern now. Nothing is changed. */
export async function countForOperation(context: OperationContext, options: BulkOptions): Promise<BulkMatch> {
  return countMatching(context, readBulkOptions(options))
}

function readBulkOptions(options: BulkOptions): CheckedBulk {
  refuseUnknownKeys(options, ['kind', 'filter', 'jobIds', 'mode', 'reason', 'createdBy'], '')
  const kind = readWord(options.kind, ['cancel', 'retry'], 'kind')
  if ((options.filter === undefined) === (options.jobIds === undefined)) {
    throw invalid('filter', 'given, or `jobIds`, and not both', options.filter)
  }
  if (kind === 'retry' && options.mode !== undefined) throw invalid('mode', 'absent from a retry', options.mode)
  if (kind === 'retry' && options.reason !== undefined) throw invalid('reason', 'absent from a retry', options.reason)
  const filter = options.filter === undefined ? null : readBulkFilter(kind, options.filter)
  const jobIds = options.jobIds === undefined ? null : readJobIds(options.jobIds)
  const reason = options.reason === undefined ? null : capText(readText(options.reason, 'reason'), ERROR_TEXT_MAX)
  return { kind, filter, jobIds, mode: kind === 'cancel' ? readMode(options, filter) : null, reason }
}

/** Who asks for QUEUED Jobs does not mean those that have started since. */
function readMode({ mode = 'graceful' }: BulkOptions, filter: BulkFilter | null): BulkCancelMode {
  const read = readWord(mode, ['graceful', 'abort'], 'mode')
  return filter?.status === 'QUEUED' ? 'only-queued' : read
}

function readBulkFilter(kind: BulkKind, options: JobFilterOptions): BulkFilter {
  if (typeof options !== 'object' || options === null) throw invalid('filter', 'an object', options)
  const filter = within('filter', () => readJobFilter(options))
  const { status, outcome } = filter
  if (status !== undefined) readWord(status, BULK_STATUSES[kind], 'filter.status')
  if (outcome !== undefined && kind === 'cancel') throw invalid('filter.outcome', 'absent from a cancel', outcome)
  if (outcome !== undefined) readWord(outcome, ['FAILED'], 'filter.outcome')
  return filter
}

/** An error that names a field of what stands there. */
function within<T>(name: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof PawlError) || error.path === undefined) throw error
    const { code, message, path, details } = error
    throw new PawlError(code, message, { path: `${name}.${path}`, details: { ...details }, cause: error })
  }
}

function readJobIds(jobIds: readonly string[]): readonly string[] {
  if (!Array.isArray(jobIds) || jobIds.length === 0 || jobIds.length > BULK_JOB_IDS_MAX) {
    const came = Array.isArray(jobIds) ? jobIds.length : jobIds
    throw invalid('jobIds', `a list of 1 to ${BULK_JOB_IDS_MAX} ids; for more, give a filter`, came)
  }
  return [
    ...new Set(jobIds.map((jobId, index) => readStorable(readText(jobId, `jobIds.${index}`), `jobIds.${index}`, 512))),
  ].filter((id) => id !== null)
}

/** Jobs that are looked for at once, and how often: what is counted must not take long, whatever the history. */
const COUNT_PAGE = 1_000
const COUNT_PAGES_MAX = 50

async function countMatching({ store }: OperationContext, bulk: CheckedBulk): Promise<BulkMatch> {
  const { kind, mode, filter, jobIds } = bulk
  if (jobIds !== null) return { matched: jobIds.length, isMatchedCapped: false }
  let matched = 0
  let pages = 0
  // The same list may be gone through twice, but nothing in it is counted twice.
  for (const walk of new Map(walksOf(kind, filter?.status).map((each) => [each.status, each])).values()) {
    let cursor: string | null = null
    do {
      const limit = Math.min(COUNT_PAGE, BULK_COUNT_MAX - matched)
      if (limit === 0 || pages === COUNT_PAGES_MAX) return { matched, isMatchedCapped: true }
      const request = { kind, mode, filter: { ...filter, ...walk, limit, cursor }, lastSeq: null }
      const page: Page<string> = await store.matchJobs(request)
      matched += page.items.length
      cursor = page.nextCursor
      pages++
    } while (cursor !== null)
  }
  return { matched, isMatchedCapped: false }
}

export async function getOperation(context: OperationContext, operationId: string): Promise<BulkOperation> {
  const operation = await context.store.findOperation(readText(operationId, 'operationId'))
  if (operation === null) throw bulkOperationNotFound(operationId)
  return operation
}

/** Newest first. */
export async function listOperations(
  context: OperationContext,
  options: PageOptions & { readonly status?: BulkStatus } = {},
): Promise<Page<BulkOperation>> {
  refuseUnknownKeys(options, ['limit', 'cursor', 'status'], '')
  const { status } = options
  if (status !== undefined) readWord(status, ['RUNNING', 'COMPLETED', 'ABORTED'], 'status')
  return context.store.listOperations({ ...readPage(options), ...(status !== undefined && { status }) })
}

/** Ends it after the page that is under way. What was done stays. One that is aborted already is returned as it is. */
export async function abortOperation(context: OperationContext, operationId: string): Promise<BulkOperation> {
  const result = await context.store.abortOperation(readText(operationId, 'operationId'), context.clock.now())
  const operation = await getOperation(context, operationId)
  if (result !== 'ended' || operation.status === 'ABORTED') return operation
  const message = `Operation ${operationId} has ended (${operation.status}); it cannot be aborted any more.`
  throw new PawlError('operation_ended', message, { details: { operationId, status: operation.status } })
}
