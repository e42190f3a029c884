import type { BulkOperation, BulkStatus } from '../../../domain/bulk-operation.ts'
import type {
  BulkOperationFilter,
  BulkOperationStore,
  NewBulkOperation,
  RunningBulkOperation,
} from '../../../store/bulk-operations.ts'
import type { CancelResult, ManualRetryResult, Page } from '../../../store/jobs.ts'
import {
  addPage,
  OPERATION_COLUMNS,
  type OperationRow,
  skipReasonOf,
  toOperation,
  toRunning,
} from '../../shared/bulk-rows.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { cancelJob } from './cancel.ts'
import { retryByHand } from './retry-by-hand.ts'

const INSERT_OPERATION = `
insert into pawl_operations (operation_id, kind, filter, job_ids, mode, reason, created_by, matched, is_capped, last_seq, created_at, updated_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, (select coalesce(max(seq), 0) from pawl_jobs), ?, ?)`

export function startOperation(transaction: Transaction, operation: NewBulkOperation, now: number): void {
  const { operationId, kind, filter, jobIds, mode, reason, createdBy } = operation
  const { matched, isMatchedCapped } = operation.matched
  const [texts, ids] = [filter, jobIds].map((value) => (value === null ? null : JSON.stringify(value)))
  const first = [operationId, kind, texts ?? null, ids ?? null, mode, reason, createdBy]
  transaction.connection.run(INSERT_OPERATION, ...first, matched, Number(isMatchedCapped), now, now)
  tell(transaction, operationId, now)
}

const SELECT_OPERATION = `
select ${OPERATION_COLUMNS}
from pawl_operations
where operation_id = ?`

function findRow(connection: Connection, operationId: string): OperationRow | undefined {
  return connection.get<OperationRow>(SELECT_OPERATION, operationId)
}

export function findOperation(connection: Connection, operationId: string): BulkOperation | null {
  const row = findRow(connection, operationId)
  return row === undefined ? null : toOperation(row)
}

const SELECT_OPERATIONS = `
select ${OPERATION_COLUMNS}
from pawl_operations
where operation_id < ?
order by operation_id desc
limit ?`

const SELECT_OPERATIONS_OF_STATUS = `
select ${OPERATION_COLUMNS}
from pawl_operations
where status = ? and operation_id < ?
order by operation_id desc
limit ?`

/** Behind every id. */
const BEFORE_ALL = '~'

/** Ids grow with time, so newest first is by id. A cursor is the last id of the page before. */
export function listOperations(connection: Connection, filter: BulkOperationFilter): Page<BulkOperation> {
  const { status, limit, cursor } = filter
  const before = cursor ?? BEFORE_ALL
  const rows =
    status === undefined
      ? connection.all<OperationRow>(SELECT_OPERATIONS, before, limit)
      : connection.all<OperationRow>(SELECT_OPERATIONS_OF_STATUS, status, before, limit)
  const nextCursor = rows.length === limit ? (rows[rows.length - 1]?.operation_id ?? null) : null
  return { items: rows.map(toOperation), nextCursor }
}

const SELECT_RUNNING = `
select ${OPERATION_COLUMNS}
from pawl_operations
where status = 'RUNNING'
order by operation_id
limit ?`

export function findRunningOperations(connection: Connection, limit: number): RunningBulkOperation[] {
  return connection.all<OperationRow>(SELECT_RUNNING, limit).map(toRunning)
}

const MOVE_ON = `
update pawl_operations
set status = ?, matched = ?, is_capped = ?, done = ?, changed = ?, skipped = ?, failed = ?, skip_reasons = ?,
  pages = pages + 1, walk = ?, cursor = ?, ended_at = ?, updated_at = ?
where operation_id = ?`

/** There is one writer, so what is read here stays so until the commit. */
export function applyOperationPage(
  transaction: Transaction,
  page: Parameters<BulkOperationStore['applyOperationPage']>[0],
): 'applied' | 'lost' {
  const { operationId, jobIds, failed, next, now } = page
  const row = findRow(transaction.connection, operationId)
  if (row === undefined || row.status !== 'RUNNING' || row.pages !== page.pages) return 'lost'
  const operation = toOperation(row)
  const reasons = jobIds.map((jobId) => skipReasonOf(applyTo(transaction, operation, jobId, page.newId, now)))
  const counts = addPage(operation, reasons, failed, next === null)
  const { matched, isMatchedCapped, done, changed, skipped } = counts
  const status: BulkStatus = next === null ? 'COMPLETED' : 'RUNNING'
  const numbers = [matched, Number(isMatchedCapped), done, changed, skipped, counts.failed]
  const place = [next?.walk ?? row.walk, next?.cursor ?? null, next === null ? now : null, now]
  transaction.connection.run(MOVE_ON, status, ...numbers, JSON.stringify(counts.skipReasons), ...place, operationId)
  tell(transaction, operationId, now)
  return 'applied'
}

function applyTo(
  transaction: Transaction,
  { kind, mode, reason }: BulkOperation,
  jobId: string,
  newId: () => string,
  now: number,
): CancelResult | ManualRetryResult {
  if (kind === 'retry') return retryByHand(transaction, { by: { jobId }, newJobId: newId(), priority: null, now })
  return cancelJob(transaction, { jobId, mode: mode ?? 'graceful', reason, now })
}

// 1 row: it ends here. 0 rows: it had ended, or there is none.
const ABORT = `
update pawl_operations
set status = 'ABORTED', ended_at = ?, updated_at = ?
where operation_id = ? and status = 'RUNNING'`

export function abortOperation(
  transaction: Transaction,
  operationId: string,
  now: number,
): 'aborted' | 'ended' | 'not-found' {
  if (transaction.connection.run(ABORT, now, now, operationId) === 1) {
    tell(transaction, operationId, now)
    return 'aborted'
  }
  return findRow(transaction.connection, operationId) === undefined ? 'not-found' : 'ended'
}

function tell(transaction: Transaction, operationId: string, now: number): void {
  const row = findRow(transaction.connection, operationId)
  if (row !== undefined) transaction.noteOperation(toOperation(row), now)
}

const DELETE_ENDED = `
delete from pawl_operations
where operation_id in (select operation_id from pawl_operations where ended_at < ? order by ended_at limit ?)`

export function pruneOperations({ connection }: Transaction, before: number, limit: number): number {
  return connection.run(DELETE_ENDED, before, limit)
}

const COUNT_ENDED = 'select count(*) as count from pawl_operations where ended_at < ?'

export function countPrunableOperations(connection: Connection, before: number): number {
  return connection.get<{ count: number }>(COUNT_ENDED, before)?.count ?? 0
}
