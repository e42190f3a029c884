import type { EventRow, Transition } from '../../../store/events.ts'
import {
  type EventJob,
  groupTransitions,
  restoreOperation,
  restoreTransition,
  type StoredGroup,
  withoutPruned,
} from '../../shared/stored-transitions.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

// A caller's transaction may accept Jobs several times: the parts stand behind each other.
const INSERT_EVENTS = `
insert into pawl.events (seq, part, at, transitions)
select x.seq, coalesce((select max(part) + 1 from pawl.events e where e.seq = x.seq), 0), $1, $2
from (select pg_current_xact_id()::text::bigint as seq) x
returning seq`

/** Writes the transitions of a transaction as one row, if it has any. */
export async function insertEventRow(transaction: Transaction): Promise<EventRow | null> {
  const { connection, transitions } = transaction
  if (transitions.length === 0) return null
  const row = await connection.runReturning<{ seq: number }>(INSERT_EVENTS, ...valuesOf(transaction))
  return { seq: row?.seq ?? 0, transitions }
}

/** The same, and commits. */
export async function commitWithEventRow(transaction: Transaction): Promise<EventRow | null> {
  const { connection, transitions } = transaction
  if (transitions.length === 0) {
    await connection.exec('commit')
    return null
  }
  const row = await connection.commitReturning<{ seq: number }>(INSERT_EVENTS, ...valuesOf(transaction))
  return { seq: row?.seq ?? 0, transitions }
}

function valuesOf(transaction: Transaction): [number, string] {
  return [transaction.transitions.at(-1)?.at ?? 0, JSON.stringify(groupTransitions(transaction))]
}

// Numbers of transactions are given when they begin to write, and they commit in any order. Below the oldest one that is
// still under way nothing can appear any more.
const SELECT_EVENTS = `
select seq, transitions
from pawl.events
where seq > $1 and seq < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
order by seq, part
limit $2`

interface StoredEvents {
  seq: number
  transitions: string
}

export async function readEvents(connection: Connection, afterSeq: number, limit: number): Promise<EventRow[]> {
  // One more than asked for: the parts of the last commit may not all be among them.
  const parts = await connection.all<StoredEvents>(SELECT_EVENTS, afterSeq, limit + 1)
  const commits = new Map<number, StoredGroup[]>()
  for (const { seq, transitions } of parts) {
    const groups = JSON.parse(transitions) as StoredGroup[]
    commits.set(seq, [...(commits.get(seq) ?? []), ...groups])
  }
  if (parts.length > limit && commits.size > 1) commits.delete(parts[limit]?.seq ?? 0)
  const jobs = await findJobs(connection, [...commits.values()].flat())
  return [...commits].map(([seq, groups]) => withoutPruned(seq, restoreAll(groups, jobs)))
}

const SELECT_JOBS_OF_EVENTS = `
select j.seq, j.job_id, j.chain_id, l.type, j.attempt, j.schedule_id, r.run_id
from pawl.jobs j
join pawl.lanes l on l.lane_id = j.lane_id
left join pawl.runs r on r.seq = j.seq
where j.seq = any($1::bigint[])`

async function findJobs(connection: Connection, groups: readonly StoredGroup[]): Promise<Map<number, EventJob>> {
  const seqs = [...new Set(groups.flatMap((group) => group[4]))]
  if (seqs.length === 0) return new Map()
  const rows = await connection.all<EventJob & { readonly seq: number }>(SELECT_JOBS_OF_EVENTS, seqs)
  return new Map(rows.map((row) => [row.seq, row]))
}

/** Null: its Job was pruned. */
function restoreAll(groups: readonly StoredGroup[], jobs: ReadonlyMap<number, EventJob>): (Transition | null)[] {
  return groups.flatMap((group) => {
    const operation = restoreOperation(group)
    if (operation !== null) return [operation]
    return group[4].map((seq) => {
      const job = jobs.get(seq)
      return job === undefined ? null : restoreTransition(group, job)
    })
  })
}

const FOREIGN_PAGE = 1_000

// Rows removed: events of another server, of whose copy this database was made, that would come after all of this one.
const DELETE_FOREIGN = `
delete from pawl.events
where ctid = any(array(
  select ctid
  from pawl.events
  where seq >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
  order by seq desc
  limit ${FOREIGN_PAGE}
))`

/**
 * A copy that `pg_restore` made has the numbers of the transactions of the server that it was made on. Those that this server
 * has still to give would be taken already. Everything else that the database knows of those Jobs stays.
 */
export async function forgetForeignEvents(connection: Connection): Promise<void> {
  while ((await connection.run(DELETE_FOREIGN)) === FOREIGN_PAGE);
}

const SELECT_LAST_SEQ = `
select seq
from pawl.events
where seq < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
order by seq desc
limit 1`

export async function lastEventSeq(connection: Connection): Promise<number> {
  return (await connection.get<{ seq: number }>(SELECT_LAST_SEQ))?.seq ?? 0
}

// Looks at the oldest rows only. The newest stays, however old it is: a reader that has seen it is up to date.
const DELETE_EVENTS = `
delete from pawl.events
where seq = any(array(
  select seq
  from (
    select seq, at
    from pawl.events
    where seq < (select max(seq) from pawl.events)
    order by seq
    limit $2
  ) oldest
  where at < $1
))`

export async function pruneEvents({ connection }: Transaction, before: number, limit: number): Promise<number> {
  return connection.run(DELETE_EVENTS, before, limit)
}
