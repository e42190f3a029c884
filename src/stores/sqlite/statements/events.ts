import type { EventRow, Transition, TransitionKind } from '../../../store/events.ts'
import type { Connection, SqlRow } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

/** A transition as it is stored: an array, because the names would be most of the row. The view names the fields. */
type StoredTransition = [
  TransitionKind,
  string,
  string | null,
  string | null,
  string,
  Transition['status'],
  Transition['outcome'],
  Transition['reason'],
  number,
  number,
  number?,
  (string | null)?,
]

const INSERT_EVENTS = 'insert into pawl_events (at, transitions) values (?, ?)'

/** Writes the transitions of a transaction as one row, if it has any. */
export function insertEventRow(transaction: Transaction): EventRow | null {
  const { transitions } = transaction
  if (transitions.length === 0) return null
  const at = transitions[transitions.length - 1]?.at ?? 0
  const seq = transaction.connection.insert(INSERT_EVENTS, at, JSON.stringify(transitions.map(store)))
  return { seq, transitions }
}

function store(transition: Transition): StoredTransition {
  const stored: StoredTransition = [
    transition.kind,
    transition.jobId,
    transition.runId,
    transition.chainId === transition.jobId ? null : transition.chainId,
    transition.type,
    transition.status,
    transition.outcome,
    transition.reason,
    transition.attempt,
    transition.at,
  ]
  if (transition.progress !== undefined) stored.push(transition.progress, transition.message ?? null)
  return stored
}

function restore(stored: StoredTransition): Transition {
  const [kind, jobId, runId, chainId, type, status, outcome, reason, attempt, at, progress, message] = stored
  const transition = { kind, jobId, runId, chainId: chainId ?? jobId, type, status, outcome, reason, attempt, at }
  return progress === undefined ? transition : { ...transition, progress, message: message ?? null }
}

const SELECT_EVENTS = `
select seq, transitions
from pawl_events
where seq > ?
order by seq
limit ?`

interface StoredEvents extends SqlRow {
  seq: number
  transitions: string
}

export function readEvents(connection: Connection, afterSeq: number, limit: number): EventRow[] {
  return connection.all<StoredEvents>(SELECT_EVENTS, afterSeq, limit).map((row) => ({
    seq: row.seq,
    transitions: (JSON.parse(row.transitions) as StoredTransition[]).map(restore),
  }))
}

// The sequence outlives the rows, so that a pruned table does not begin again at 1.
const SELECT_LAST_SEQ = "select seq from sqlite_sequence where name = 'pawl_events'"

export function lastEventSeq(connection: Connection): number {
  return connection.get<{ seq: number }>(SELECT_LAST_SEQ)?.seq ?? 0
}

const DELETE_EVENTS = `
delete from pawl_events
where seq in (select seq from pawl_events where at < ? order by seq limit ?)`

export function pruneEvents(transaction: Transaction, before: number, limit: number): number {
  return transaction.connection.run(DELETE_EVENTS, before, limit)
}
