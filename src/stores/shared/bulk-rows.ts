import type {
  BulkCancelMode,
  BulkCounts,
  BulkKind,
  BulkOperation,
  BulkSkipReason,
  BulkStatus,
} from '../../domain/bulk-operation.ts'
import type { BulkFilter, RunningBulkOperation } from '../../store/bulk-operations.ts'
import type { CancelResult, ManualRetryResult } from '../../store/jobs.ts'

export const OPERATION_COLUMNS = `
  operation_id, kind, filter, job_ids, mode, reason, created_by, status, matched, is_capped, done, changed, skipped, failed,
  skip_reasons, created_at, updated_at, ended_at, last_seq, pages, walk, cursor`

export type OperationRow = {
  operation_id: string
  kind: BulkKind
  filter: string | null
  job_ids: string | null
  mode: BulkCancelMode | null
  reason: string | null
  created_by: string | null
  status: BulkStatus
  matched: number
  is_capped: number
  done: number
  changed: number
  skipped: number
  failed: number
  skip_reasons: string
  created_at: number
  updated_at: number
  ended_at: number | null
  last_seq: number
  pages: number
  walk: number
  cursor: string | null
}

export function toOperation(row: OperationRow): BulkOperation {
  return {
    operationId: row.operation_id,
    kind: row.kind,
    filter: row.filter,
    jobIds: row.job_ids === null ? null : (JSON.parse(row.job_ids) as string[]),
    mode: row.mode,
    reason: row.reason,
    createdBy: row.created_by,
    status: row.status,
    matched: row.matched,
    isMatchedCapped: row.is_capped === 1,
    done: row.done,
    changed: row.changed,
    skipped: row.skipped,
    failed: row.failed,
    skipReasons: JSON.parse(row.skip_reasons) as BulkOperation['skipReasons'],
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    endedAt: row.ended_at,
  }
}

export function toRunning(row: OperationRow): RunningBulkOperation {
  return {
    operation: toOperation(row),
    filter: row.filter === null ? null : (JSON.parse(row.filter) as BulkFilter),
    pages: row.pages,
    place: { walk: row.walk, cursor: row.cursor },
    lastSeq: row.last_seq,
  }
}

/** What came of one Job. Null: it was changed. */
export function skipReasonOf(result: CancelResult | ManualRetryResult): BulkSkipReason | null {
  switch (result.kind) {
    case 'cancelled':
    case 'requested':
    case 'created':
    case 'made-due':
      return null
    case 'running':
      return 'job_not_queued'
    case 'already-cancelled':
      return 'already_cancelled'
    case 'ended':
      return 'job_ended'
    case 'not-last':
      return 'not_last_attempt'
    case 'not-retryable':
      return 'not_retryable'
    case 'business-key-taken':
      return 'business_key_taken'
    case 'stale':
    case 'not-found':
      return 'job_not_found'
  }
}

/** What an operation has come to with one more page. */
export interface Tallied extends BulkCounts {
  readonly skipReasons: BulkOperation['skipReasons']
}

export function addPage(
  operation: BulkOperation,
  reasons: readonly (BulkSkipReason | null)[],
  failed: number,
  isLast: boolean,
): Tallied {
  const skipReasons: Partial<Record<BulkSkipReason, number>> = { ...operation.skipReasons }
  let skipped = 0
  for (const reason of reasons) {
    if (reason === null) continue
    skipReasons[reason] = (skipReasons[reason] ?? 0) + 1
    skipped++
  }
  const done = operation.done + reasons.length + failed
  return {
    // What ends, starts or is cancelled by others meanwhile makes the first count wrong. At the end it is known.
    matched: isLast ? done : Math.max(operation.matched, done),
    isMatchedCapped: operation.isMatchedCapped && !isLast,
    done,
    changed: operation.changed + reasons.length - skipped,
    skipped: operation.skipped + skipped,
    failed: operation.failed + failed,
    skipReasons,
  }
}
