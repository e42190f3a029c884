import type { AuditEntry, AuditFilter, AuditNote } from '../../../store/audit.ts'
import type { Page } from '../../../store/jobs.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

/** Does the work, and leaves the note if it changed anything. */
export function withNote<T>(_transaction: Transaction, _note: AuditNote, _work: (transaction: Transaction) => T): T {
  throw new Error('being built')
}

export function listAudit(_connection: Connection, _filter: AuditFilter): Page<AuditEntry> {
  throw new Error('being built')
}

export function pruneAudit(_transaction: Transaction, _before: number, _limit: number): number {
  throw new Error('being built')
}
