import type { Job } from '../../../domain/job.ts'
import {
  COUNTED_MAX,
  type Dependents,
  type EndedStanding,
  LISTED_MAX,
  type OtherJob,
} from '../../../domain/standing.ts'
import type { Connection } from '../connection.ts'
import type { JobRow } from '../rows.ts'
import { Holders } from './holders.ts'
import { OtherJobs } from './other-job.ts'
import { chainSeqOf } from './parents.ts'
import { readRun } from './standing-run.ts'

export async function readEnded(connection: Connection, row: JobRow, job: Job, now: number): Promise<EndedStanding> {
  const others = new OtherJobs(connection, now)
  const parentId = row.cancelled_for
  return {
    kind: 'ended',
    job,
    run: await readRun(connection, row.seq),
    body: await new Holders(connection).ofJob(row.seq),
    next: await others.retryOf(row.job_id),
    last: await others.lastOf(row),
    cancelledFor: parentId === null ? null : { parentId, last: await others.lastOfChainWith(parentId) },
    groupCancelRequestedAt: row.group_id === null ? null : await findGroupCancel(connection, row.group_id),
    dependents: await readDependents(connection, others, row),
  }
}

const SELECT_GROUP_CANCEL = 'select cancel_requested_at from pawl.groups where group_id = $1'

async function findGroupCancel(connection: Connection, groupId: string): Promise<number | null> {
  const row = await connection.get<{ cancel_requested_at: number | null }>(SELECT_GROUP_CANCEL, groupId)
  return row?.cancel_requested_at ?? null
}

// The chains that waited for one, by what became of that, counted up to a number.
const COUNT_DEPENDENTS = `
select (
    select count(*)
    from (select 1 from pawl.dependencies where parent_seq = $1 and met = state.met limit ${COUNTED_MAX}) of_state
  ) as dependents
from (values (0), (1), (2), (3)) as state (met)
order by state.met`

// Those that wait or gave up come first, because somebody may have to do something.
const SELECT_DEPENDENTS = `
select listed.child_seq
from (values (0, 0), (1, 2), (2, 1), (3, 3)) as state (place, met)
cross join lateral (
  select d.child_seq
  from pawl.dependencies d
  where d.parent_seq = $1 and d.met = state.met
  order by d.child_seq
  limit ${LISTED_MAX}
) listed
order by state.place, listed.child_seq`

async function readDependents(connection: Connection, others: OtherJobs, row: JobRow): Promise<Dependents> {
  const chainSeq = row.chain_id === null ? row.seq : ((await chainSeqOf(connection, row.chain_id)) ?? row.seq)
  const counts = await connection.all<{ dependents: number }>(COUNT_DEPENDENTS, chainSeq)
  // As `pawl.dependencies.met` says it.
  const [waiting = 0, stillLive = 0, givenUp = 0, settled = 0] = counts.map(({ dependents }) => dependents)
  const released = Math.min(COUNTED_MAX, stillLive + settled)
  const hasAny = waiting + givenUp + released > 0
  return { waiting, released, givenUp, first: hasAny ? await listDependents(connection, others, chainSeq) : [] }
}

/** A child that named several Jobs of the chain has several edges, and is listed once. */
async function listDependents(connection: Connection, others: OtherJobs, chainSeq: number): Promise<OtherJob[]> {
  const rows = await connection.all<{ child_seq: number }>(SELECT_DEPENDENTS, chainSeq)
  const seqs = [...new Set(rows.map(({ child_seq }) => child_seq))].slice(0, LISTED_MAX)
  const first: OtherJob[] = []
  for (const seq of seqs) {
    const last = await others.lastOfChain(seq)
    if (last !== null) first.push(last)
  }
  return first
}
