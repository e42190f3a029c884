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
export async function withNote<T>(
  transaction: Transaction,
  note: AuditNote,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const { connection } = transaction
  const { rowsChanged } = connection
  const transitions = transaction.transitions.length
  const result = await work(transaction)
  if (connection.rowsChanged !== rowsChanged) {
    await insertNote(connection, note, await findMade(transaction, note, transitions))
  }
  return result
}

const SELECT_GROUPS = 'select group_id from pawl.groups where group_id = any($1::text[])'

/** Of the ids that were drawn, those of something that is there now. `from`: the first transition of this work. */
async function findMade(
  { connection, transitions }: Transaction,
  note: AuditNote,
  from: number,
): Promise<readonly string[]> {
  const drawn = note.made()
  if (drawn.length === 0) return drawn
  const queued = queuedSince(transitions, from)
  // Whatever is neither a Job nor a group is made alone, and its id is drawn first.
  if (queued.size === 0) return note.subject === null ? drawn.slice(0, 1) : []
  const others = drawn.filter((id) => !queued.has(id))
  const rows = others.length === 0 ? [] : await connection.all<{ group_id: string }>(SELECT_GROUPS, others)
  const groups = new Set(rows.map(({ group_id }) => group_id))
  return drawn.filter((id) => queued.has(id) || groups.has(id))
}

const INSERT_NOTE = `
insert into pawl.audit (at, actor, action, subject, others, details)
values ($1, $2, $3, $4, $5, $6)`

export async function insertNote(connection: Connection, note: AuditNote, made: readonly string[]): Promise<void> {
  const { subject, others } = subjectOf(note, made)
  await connection.run(INSERT_NOTE, note.at, note.actor, note.action, subject, others, note.details(made))
}

const SELECT_AUDIT = `
select ${AUDIT_COLUMNS}
from pawl.audit
where audit_seq < $1
order by audit_seq desc
limit $2`

// Ordered by the whole of its index: by the number alone, the planner may walk through the entries of all others.
const SELECT_AUDIT_OF_SUBJECT = `
select ${AUDIT_COLUMNS}
from pawl.audit
where (subject, audit_seq) < ($1::text, $2::bigint) and subject >= $1
order by subject desc, audit_seq desc
limit $3`

const SELECT_AUDIT_OF_ACTOR = `
select ${AUDIT_COLUMNS}
from pawl.audit
where (actor, audit_seq) < ($1::text, $2::bigint) and actor >= $1
order by actor desc, audit_seq desc
limit $3`

export async function listAudit(connection: Connection, filter: AuditFilter): Promise<Page<AuditEntry>> {
  const { subject, actor, limit, cursor } = filter
  const [before = 0] = readCursor(cursor, 1)
  if (subject === undefined) {
    const rows =
      actor === undefined
        ? await connection.all<AuditRow>(SELECT_AUDIT, before, limit)
        : await connection.all<AuditRow>(SELECT_AUDIT_OF_ACTOR, actor, before, limit)
    return toAuditPage(rows, limit)
  }
  if (actor === undefined) {
    return toAuditPage(await connection.all<AuditRow>(SELECT_AUDIT_OF_SUBJECT, subject, before, limit), limit)
  }
  const looked = await connection.all<AuditRow>(SELECT_AUDIT_OF_SUBJECT, subject, before, LOOK_MAX)
  return toActorPage(looked, actor, limit)
}

// Rows changed: entries that were old enough, the oldest first. What somebody else removes just then is left to them.
const DELETE_AUDIT = `
delete from pawl.audit
where audit_seq = any(array(
  select audit_seq
  from pawl.audit
  where at < $1
  order by at
  limit $2
  for update skip locked
))`

export async function pruneAudit({ connection }: Transaction, before: number, limit: number): Promise<number> {
  return connection.run(DELETE_AUDIT, before, limit)
}

const COUNT_AUDIT = 'select count(*) as entries from pawl.audit where at < $1'

export async function countAudit(connection: Connection, before: number): Promise<number> {
  return (await connection.get<{ entries: number }>(COUNT_AUDIT, before))?.entries ?? 0
}
