import type { BulkOperation, BulkSkipReason, BulkStatus } from '../../../domain/bulk-operation.ts'
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
import { cancelPlain } from './cancel-plain.ts'
import { lockChains } from './locks.ts'
import { retryByHand } from './retry-by-hand.ts'

const INSERT_OPERATION = `
insert into pawl.operations (operation_id, kind, filter, job_ids, mode, reason, created_by, matched, is_capped, last_seq, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, (select coalesce(max(seq), 0) from pawl.jobs), $10, $10)`

export async function startOperation(
  transaction: Transaction,
  operation: NewBulkOperation,
  now: number,
): Promise<void> {
  const { operationId, kind, filter, jobIds, mode, reason, createdBy } = operation
  const { matched, isMatchedCapped } = operation.matched
  const [texts, ids] = [filter, jobIds].map((value) => (value === null ? null : JSON.stringify(value)))
  const first = [operationId, kind, texts ?? null, ids ?? null, mode, reason, createdBy]
  await transaction.connection.run(INSERT_OPERATION, ...first, matched, Number(isMatchedCapped), now)
  await tell(transaction, operationId, now)
}

const SELECT_OPERATION = `
select ${OPERATION_COLUMNS}
from pawl.operations
where operation_id = $1`

async function findRow(connection: Connection, operationId: string): Promise<OperationRow | undefined> {
  return connection.get<OperationRow>(SELECT_OPERATION, operationId)
}

export async function findOperation(connection: Connection, operationId: string): Promise<BulkOperation | null> {
  const row = await findRow(connection, operationId)
  return row === undefined ? null : toOperation(row)
}

const SELECT_OPERATIONS = `
select ${OPERATION_COLUMNS}
from pawl.operations
where operation_id < $1
order by operation_id desc
limit $2`

const SELECT_OPERATIONS_OF_STATUS = `
select ${OPERATION_COLUMNS}
from pawl.operations
where status = $1 and operation_id < $2
order by operation_id desc
limit $3`

/** Behind every id. */
const BEFORE_ALL = '~'

/** Ids grow with time, so newest first is by id. A cursor is the last id of the page before. */
export async function listOperations(
  connection: Connection,
  filter: BulkOperationFilter,
): Promise<Page<BulkOperation>> {
  const { status, limit, cursor } = filter
  const before = cursor ?? BEFORE_ALL
  const rows =
    status === undefined
      ? await connection.all<OperationRow>(SELECT_OPERATIONS, before, limit)
      : await connection.all<OperationRow>(SELECT_OPERATIONS_OF_STATUS, status, before, limit)
  const nextCursor = rows.length === limit ? (rows[rows.length - 1]?.operation_id ?? null) : null
  return { items: rows.map(toOperation), nextCursor }
}

const SELECT_RUNNING = `
select ${OPERATION_COLUMNS}
from pawl.operations
where status = 'RUNNING'
order by operation_id
limit $1`

export async function findRunningOperations(connection: Connection, limit: number): Promise<RunningBulkOperation[]> {
  return (await connection.all<OperationRow>(SELECT_RUNNING, limit)).map(toRunning)
}

const MOVE_ON = `
update pawl.operations
set status = $1, matched = $2, is_capped = $3, done = $4, changed = $5, skipped = $6, failed = $7, skip_reasons = $8,
  pages = pages + 1, walk = $9, cursor = $10, ended_at = $11, updated_at = $13
where operation_id = $12`

// It stays as it is until this transaction ends: of two who have the same page, the second finds it applied.
const LOCK_OPERATION = `
select ${OPERATION_COLUMNS}
from pawl.operations
where operation_id = $1
for update`

const SELECT_CHAINS = `
select coalesce(head.seq, j.seq) as seq
from pawl.jobs j
left join pawl.jobs head on head.job_id = j.chain_id
where j.job_id = any($1::text[])`

/** All chains of the page are locked before the first is changed, in the order of their numbers, as everybody does. */
export async function applyOperationPage(
  transaction: Transaction,
  page: Parameters<BulkOperationStore['applyOperationPage']>[0],
): Promise<'applied' | 'lost'> {
  const { operationId, jobIds, failed, next, now } = page
  const { connection } = transaction
  const row = await connection.get<OperationRow>(LOCK_OPERATION, operationId)
  if (row === undefined || row.status !== 'RUNNING' || row.pages !== page.pages) return 'lost'
  const operation = toOperation(row)
  const chains = jobIds.length === 0 ? [] : await connection.all<{ seq: number }>(SELECT_CHAINS, jobIds)
  const chainSeqs = chains.map(({ seq }) => seq)
  await lockChains(connection, chainSeqs)
  const { kind, mode, reason } = operation
  const cancelled =
    kind === 'cancel' ? await cancelPlain(transaction, jobIds, chainSeqs, { mode, reason, now }) : new Set<string>()
  const reasons: (BulkSkipReason | null)[] = []
  for (const jobId of jobIds) {
    // One that is named twice is cancelled once.
    const isDone = cancelled.delete(jobId)
    reasons.push(isDone ? null : skipReasonOf(await applyTo(transaction, operation, jobId, page.newId, now)))
  }
  const counts = addPage(operation, reasons, failed, next === null)
  const { matched, isMatchedCapped, done, changed, skipped } = counts
  const status: BulkStatus = next === null ? 'COMPLETED' : 'RUNNING'
  const numbers = [matched, Number(isMatchedCapped), done, changed, skipped, counts.failed]
  const place = [next?.walk ?? row.walk, next?.cursor ?? null, next === null ? now : null]
  await transaction.connection.run(
    MOVE_ON,
    status,
    ...numbers,
    JSON.stringify(counts.skipReasons),
    ...place,
    operationId,
    now,
  )
  await tell(transaction, operationId, now)
  return 'applied'
}

async function applyTo(
  transaction: Transaction,
  { kind, mode, reason }: BulkOperation,
  jobId: string,
  newId: () => string,
  now: number,
): Promise<CancelResult | ManualRetryResult> {
  if (kind === 'retry') return retryByHand(transaction, { by: { jobId }, newJobId: newId(), priority: null, now })
  return cancelJob(transaction, { jobId, mode: mode ?? 'graceful', reason, now })
}

// 1 row: it ends here. 0 rows: it had ended, or there is none.
const ABORT = `
update pawl.operations
set status = 'ABORTED', ended_at = $1, updated_at = $1
where operation_id = $2 and status = 'RUNNING'`

export async function abortOperation(
  transaction: Transaction,
  operationId: string,
  now: number,
): Promise<'aborted' | 'ended' | 'not-found'> {
  if ((await transaction.connection.run(ABORT, now, operationId)) === 1) {
    await tell(transaction, operationId, now)
    return 'aborted'
  }
  return (await findRow(transaction.connection, operationId)) === undefined ? 'not-found' : 'ended'
}

async function tell(transaction: Transaction, operationId: string, now: number): Promise<void> {
  const row = await findRow(transaction.connection, operationId)
  if (row !== undefined) transaction.noteOperation(toOperation(row), now)
}

const DELETE_ENDED = `
delete from pawl.operations
where operation_id = any(array(
  select operation_id from pawl.operations where ended_at < $1 order by ended_at limit $2
))`

export async function pruneOperations({ connection }: Transaction, before: number, limit: number): Promise<number> {
  return connection.run(DELETE_ENDED, before, limit)
}

const COUNT_ENDED = 'select count(*) as count from pawl.operations where ended_at < $1'

export async function countPrunableOperations(connection: Connection, before: number): Promise<number> {
  return (await connection.get<{ count: number }>(COUNT_ENDED, before))?.count ?? 0
}
