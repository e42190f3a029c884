import type { EventRow, Transition, TransitionKind } from '../../../store/events.ts'
import type { Connection, SqlRow } from '../connection.ts'
import type { Interned, Transaction } from '../transaction.ts'
import { laneById } from './interned.ts'

/**
 * Transitions of one kind that followed each other, as they are stored. What never changes of a Job (its ids, its type)
 * is not repeated here: its number leads to it.
 */
type StoredGroup = [
  kind: TransitionKind,
  at: number,
  outcome: Transition['outcome'],
  reason: Transition['reason'],
  seqs: number[],
  progress?: number,
  message?: string | null,
]

const INSERT_EVENTS = 'insert into pawl_events (at, transitions) values (?, ?)'

/** Writes the transitions of a transaction as one row, if it has any. */
export function insertEventRow(transaction: Transaction): EventRow | null {
  const { transitions } = transaction
  if (transitions.length === 0) return null
  const at = transitions[transitions.length - 1]?.at ?? 0
  const seq = transaction.connection.insert(INSERT_EVENTS, at, JSON.stringify(groupTransitions(transaction)))
  return { seq, transitions }
}

function groupTransitions({ transitions, transitionSeqs }: Transaction): StoredGroup[] {
  const groups: StoredGroup[] = []
  let last: StoredGroup | null = null
  for (let index = 0; index < transitions.length; index++) {
    const transition = transitions[index] as Transition
    const { kind, at, outcome, reason, progress } = transition
    const seq = transitionSeqs[index] as number
    if (
      last !== null &&
      last[0] === kind &&
      last[1] === at &&
      last[2] === outcome &&
      last[3] === reason &&
      progress === undefined
    ) {
      last[4].push(seq)
      continue
    }
    last = [kind, at, outcome, reason, [seq]]
    if (progress !== undefined) last.push(progress, transition.message ?? null)
    groups.push(last)
  }
  return groups
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

/** A Job that was pruned since has no events any more either. Those of the others keep their places. */
function withoutPruned(seq: number, all: readonly (Transition | null)[]): EventRow {
  const transitions = all.filter((transition) => transition !== null)
  if (transitions.length === all.length) return { seq, transitions }
  return { seq, transitions, indexes: all.flatMap((transition, index) => (transition === null ? [] : index)) }
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
  const [kind, at, outcome, reason, seqs, progress, message] = group
  return seqs.map((seq) => {
    const row = connection.get<EventJobRow>(SELECT_JOB_OF_EVENT, seq)
    if (row === undefined) return null
    const transition: Transition = {
      kind,
      jobId: row.job_id,
      runId: hadRun(kind, outcome) ? row.run_id : null,
      chainId: row.chain_id ?? row.job_id,
      type: laneById(connection, interned, row.lane_id).type,
      status: statusAfter(kind, reason),
      outcome,
      reason,
      attempt: row.attempt,
      at,
    }
    if (kind === 'schedule.triggered') return { ...transition, scheduleId: row.schedule_id ?? '' }
    return progress === undefined ? transition : { ...transition, progress, message: message ?? null }
  })
}

function hadRun(kind: TransitionKind, outcome: Transition['outcome']): boolean {
  switch (kind) {
    case 'job.queued':
    case 'job.moved':
    case 'job.edited':
    case 'job.released':
    case 'schedule.triggered':
      return false
    case 'job.cancelled':
      return outcome !== null
    case 'job.started':
    case 'job.cancel-requested':
    case 'job.finished':
    case 'run.progress':
    case 'run.released':
      return true
  }
}

function statusAfter(kind: TransitionKind, reason: Transition['reason']): Transition['status'] {
  switch (kind) {
    case 'job.queued':
    case 'job.moved':
    case 'job.edited':
    case 'job.released':
    case 'schedule.triggered':
      return 'QUEUED'
    case 'job.started':
    case 'job.cancel-requested':
    case 'run.progress':
      return 'RUNNING'
    case 'job.cancelled':
      return 'CANCELLED'
    case 'job.finished':
    case 'run.released':
      return reason === 'cancelled' ? 'CANCELLED' : 'FINISHED'
  }
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
