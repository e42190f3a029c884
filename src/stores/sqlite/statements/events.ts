import type { EventRow, Transition } from '../../../store/events.ts'
import {
  groupTransitions,
  restoreOperation,
  restoreTransition,
  type StoredGroup,
  withoutPruned,
} from '../../shared/stored-transitions.ts'
import type { Connection, SqlRow } from '../connection.ts'
import type { Interned, Transaction } from '../transaction.ts'
import { laneById } from './interned.ts'

const INSERT_EVENTS = 'insert into pawl_events (at, transitions) values (?, ?)'

/** Writes the transitions of a transaction as one row, if it has any. */
export function insertEventRow(transaction: Transaction): EventRow | null {
  const { transitions } = transaction
  if (transitions.length === 0) return null
  const at = transitions[transitions.length - 1]?.at ?? 0
  const seq = transaction.connection.insert(INSERT_EVENTS, at, JSON.stringify(groupTransitions(transaction)))
  return { seq, transitions }
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

export function readEvents(connection: Connection, interned: Interned, afterSeq: number, limit: number): EventRow[] {
  return connection.all<StoredEvents>(SELECT_EVENTS, afterSeq, limit).map(({ seq, transitions }) => {
    const groups = JSON.parse(transitions) as StoredGroup[]
    return withoutPruned(
      seq,
      groups.flatMap((group) => restore(connection, interned, group)),
    )
  })
}

const SELECT_JOB_OF_EVENT = `
select j.job_id, j.chain_id, j.lane_id, j.attempt, j.schedule_id, r.run_id
from pawl_jobs j
left join pawl_runs r on r.seq = j.seq
where j.seq = ?`

interface EventJobRow extends SqlRow {
  job_id: string
  chain_id: string | null
  lane_id: number
  attempt: number
  schedule_id: string | null
  run_id: string | null
}

/** Null: its Job was pruned. */
function restore(connection: Connection, interned: Interned, group: StoredGroup): (Transition | null)[] {
  const operation = restoreOperation(group)
  if (operation !== null) return [operation]
  return group[4].map((seq) => {
    const row = connection.get<EventJobRow>(SELECT_JOB_OF_EVENT, seq)
    if (row === undefined) return null
    return restoreTransition(group, { ...row, type: laneById(connection, interned, row.lane_id).type })
  })
}

const SELECT_LAST_SEQ = 'select max(seq) as last from pawl_events'

export function lastEventSeq(connection: Connection): number {
  return connection.get<{ last: number | null }>(SELECT_LAST_SEQ)?.last ?? 0
}

// Looks at the oldest rows only. The newest row stays, however old it is: the next one's number follows from it.
const DELETE_EVENTS = `
delete from pawl_events
where seq in (
  select seq
  from (select seq, at from pawl_events where seq < (select max(seq) from pawl_events) order by seq limit ?)
  where at < ?
)`

export function pruneEvents(transaction: Transaction, before: number, limit: number): number {
  return transaction.connection.run(DELETE_EVENTS, limit, before)
}
