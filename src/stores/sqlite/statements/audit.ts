import type { AuditEntry, AuditFilter, AuditNote } from '../../../store/audit.ts'
import type { Page } from '../../../store/jobs.ts'
import {
  AUDIT_COLUMNS,
  type AuditRow,
  LOOK_MAX,
  queuedSince,
  subjectOf,
  toActorPage,
  toAuditPage,
} from '../../shared/audit-rows.ts'
import { readCursor } from '../../shared/list-spots.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

/** Does the work, and leaves the note if it changed anything. */
export function withNote<T>(transaction: Transaction, note: AuditNote, work: (transaction: Transaction) => T): T {
  const { connection } = transaction
  // Several works share a transaction, so only the difference tells what one of them did.
  const { rowsChanged } = connection
  const transitions = transaction.transitions.length
  const result = work(transaction)
  if (connection.rowsChanged !== rowsChanged) insertNote(connection, note, findMade(transaction, note, transitions))
  return result
}

const EXISTS_GROUP = 'select 1 as found from pawl_groups where group_id = ?'

/** Of the ids that were drawn, those of something that is there now. `from`: the first transition of this work. */
function findMade({ connection, transitions }: Transaction, note: AuditNote, from: number): readonly string[] {
  const drawn = note.made()
  if (drawn.length === 0) return drawn
  const queued = queuedSince(transitions, from)
  // Whatever is neither a Job nor a group is made alone, and its id is drawn first.
  if (queued.size === 0) return note.subject === null ? drawn.slice(0, 1) : []
  return drawn.filter((id) => queued.has(id) || connection.get(EXISTS_GROUP, id) !== undefined)
}

const INSERT_NOTE = `
insert into pawl_audit (at, actor, action, subject, others, details)
values (?, ?, ?, ?, ?, ?)`

export function insertNote(connection: Connection, note: AuditNote, made: readonly string[]): void {
  const { subject, others } = subjectOf(note, made)
  connection.run(INSERT_NOTE, note.at, note.actor, note.action, subject, others, note.details(made))
}

const SELECT_AUDIT = `
select ${AUDIT_COLUMNS}
from pawl_audit
where audit_seq < ?
order by audit_seq desc
limit ?`

const SELECT_AUDIT_OF_SUBJECT = `
select ${AUDIT_COLUMNS}
from pawl_audit
where subject = ? and audit_seq < ?
order by audit_seq desc
limit ?`

const SELECT_AUDIT_OF_ACTOR = `
select ${AUDIT_COLUMNS}
from pawl_audit
where actor = ? and audit_seq < ?
order by audit_seq desc
limit ?`

export function listAudit(connection: Connection, filter: AuditFilter): Page<AuditEntry> {
  const { subject, actor, limit, cursor } = filter
  const [before = 0] = readCursor(cursor, 1)
  if (subject === undefined) {
    const rows =
      actor === undefined
        ? connection.all<AuditRow>(SELECT_AUDIT, before, limit)
        : connection.all<AuditRow>(SELECT_AUDIT_OF_ACTOR, actor, before, limit)
    return toAuditPage(rows, limit)
  }
  if (actor === undefined) {
    return toAuditPage(connection.all<AuditRow>(SELECT_AUDIT_OF_SUBJECT, subject, before, limit), limit)
  }
  const looked = connection.all<AuditRow>(SELECT_AUDIT_OF_SUBJECT, subject, before, LOOK_MAX)
  return toActorPage(looked, actor, limit)
}

// Rows changed: entries that were old enough, the oldest first.
const DELETE_AUDIT = `
delete from pawl_audit
where audit_seq in (select audit_seq from pawl_audit where at < ? order by at limit ?)`

export function pruneAudit({ connection }: Transaction, before: number, limit: number): number {
  return connection.run(DELETE_AUDIT, before, limit)
}

const COUNT_AUDIT = 'select count(*) as entries from pawl_audit where at < ?'

export function countAudit(connection: Connection, before: number): number {
  return connection.get<{ entries: number }>(COUNT_AUDIT, before)?.entries ?? 0
}
