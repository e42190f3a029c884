import type { Connection } from '../connection.ts'
import { atPlaceOf, IN_QUEUE, type JobRow } from '../rows.ts'
import { lockChains } from './locks.ts'

/** What must be known of a Job to end it, cancel it, or tell it of a parent; without its params, which may be large. */
export type LiveRow = Pick<
  JobRow,
  | 'seq'
  | 'job_id'
  | 'chain_id'
  | 'type'
  | 'attempt'
  | 'priority'
  | 'position'
  | 'created_at'
  | 'run_at'
  | 'business_key'
  | 'group_id'
  | 'schedule_id'
  | 'webhook_url'
  | 'parents'
  | 'cancelled_at'
  | 'queued'
  | 'awaits_predecessor'
  | 'unmet_parents'
  | 'run_status'
> & {
  /** The number of the chain: that of its first Job. */
  readonly chain_seq: number
}

export const LIVE_COLUMNS = `
  j.seq, j.job_id, j.chain_id, coalesce(c.seq, j.seq) as chain_seq, l.type, j.attempt, j.priority, j.position, j.created_at,
  j.run_at, j.business_key, j.group_id, j.schedule_id, j.webhook_url, j.parents, j.cancelled_at, q.seq as queued,
  q.awaits_predecessor, q.unmet_parents, r.status as run_status`

/** To be put behind a table `pawl.jobs j`. */
export const JOIN_LIVE = `
join pawl.lanes l on l.lane_id = j.lane_id
left join pawl.jobs c on c.job_id = j.chain_id
left join pawl.queue q on ${IN_QUEUE}
left join pawl.runs r on r.seq = j.seq`

/** The row of a Job whose chain was locked by `lockJob`. */
export function asLive(row: JobRow, chainSeq: number): LiveRow {
  return { ...row, chain_seq: chainSeq }
}

/**
 * Locks the chains of those Jobs that `read` finds and `concerns` picks, and keeps those that are QUEUED from starting.
 * Reads again until nothing can have changed since: what is returned stays so until the transaction ends. `locked`: chains
 * that are locked already.
 */
export async function lockLive<Row extends LiveRow>(
  connection: Connection,
  read: () => Promise<Row[]>,
  { concerns = () => true, locked: held = [] }: { concerns?: (row: Row) => boolean; locked?: readonly number[] } = {},
): Promise<Row[]> {
  const chains = new Set<number>(held)
  const queued = new Set<number>()
  for (;;) {
    const rows = await read()
    const picked = rows.filter(concerns)
    const unlocked = picked.filter(({ chain_seq }) => !chains.has(chain_seq)).map(({ chain_seq }) => chain_seq)
    if (unlocked.length > 0) {
      await lockChains(connection, unlocked)
      for (const chainSeq of unlocked) chains.add(chainSeq)
      continue
    }
    const startable = picked.filter((row) => row.queued !== null && !queued.has(row.seq))
    const locked = await lockAllQueued(connection, startable)
    for (const seq of locked) queued.add(seq)
    // One that is missing has started, or was moved to another place.
    if (locked.length === startable.length) return rows
  }
}

// As many rows as are still QUEUED where they stood: these stay so. Waits for claims that are under way.
const LOCK_ALL_QUEUED = `
select q.seq
from unnest($1::integer[], $2::bigint[], $3::bigint[], $4::bigint[]) as given (priority, position, created_at, seq)
join pawl.queue q on ${atPlaceOf('given')}
order by q.seq
for update of q`

async function lockAllQueued(connection: Connection, rows: readonly LiveRow[]): Promise<number[]> {
  if (rows.length === 0) return []
  const locked = await connection.all<{ seq: number }>(LOCK_ALL_QUEUED, ...placesOf(rows))
  return locked.map(({ seq }) => seq)
}

/** Where they stand in the queue: one list each of priorities, positions, instants and numbers. */
export function placesOf(
  rows: readonly Pick<LiveRow, 'priority' | 'position' | 'created_at' | 'seq'>[],
): [number[], number[], number[], number[]] {
  return [
    rows.map(({ priority }) => priority),
    rows.map(({ position }) => position),
    rows.map(({ created_at }) => created_at),
    rows.map(({ seq }) => seq),
  ]
}
