import type { Job } from '../../../domain/job.ts'
import { COUNTED_MAX, type Dependents, type EndedStanding, LISTED_MAX } from '../../../domain/standing.ts'
import type { Connection } from '../connection.ts'
import type { JobRow } from '../rows.ts'
import type { Interned } from '../transaction.ts'
import { Holders } from './holders.ts'
import { OtherJobs } from './other-job.ts'
import { chainSeqOf } from './parents.ts'
import { readRun } from './standing-run.ts'

export function readEnded(
  connection: Connection,
  interned: Interned,
  row: JobRow,
  job: Job,
  now: number,
): EndedStanding {
  const others = new OtherJobs(connection, interned, now)
  const parentId = row.cancelled_for
  return {
    kind: 'ended',
    job,
    run: readRun(connection, row.seq),
    body: new Holders(connection, interned).ofJob(row.seq),
    next: others.retryOf(row.job_id),
    last: others.lastOf(row),
    cancelledFor: parentId === null ? null : { parentId, last: others.lastOfChainWith(parentId) },
    groupCancelRequestedAt: row.group_id === null ? null : findGroupCancel(connection, row.group_id),
    dependents: readDependents(connection, others, row),
  }
}

const SELECT_GROUP_CANCEL = 'select cancel_requested_at from pawl_groups where group_id = ?'

function findGroupCancel(connection: Connection, groupId: string): number | null {
  return (
    connection.get<{ cancel_requested_at: number | null }>(SELECT_GROUP_CANCEL, groupId)?.cancel_requested_at ?? null
  )
}

// The chains that waited for one, by what became of that, counted up to a number.
const COUNT_DEPENDENTS = `
select count(*) as dependents
from (select 1 from pawl_dependencies where parent_seq = ? and met = ? limit ${COUNTED_MAX})`

const SELECT_DEPENDENTS = `
select child_seq
from pawl_dependencies
where parent_seq = ? and met = ?
order by child_seq
limit ?`

/** How `pawl_dependencies.met` says it. */
const WAITING = 0
const RELEASED = 1
const GIVEN_UP = 2
const RELEASED_AND_SETTLED = 3

function readDependents(connection: Connection, others: OtherJobs, row: JobRow): Dependents {
  const chainSeq = row.chain_id === null ? row.seq : (chainSeqOf(connection, row.chain_id) ?? row.seq)
  const count = (met: number): number =>
    connection.get<{ dependents: number }>(COUNT_DEPENDENTS, chainSeq, met)?.dependents ?? 0
  const first = (): Dependents['first'] => {
    const seqs = new Set<number>()
    for (const met of [WAITING, GIVEN_UP, RELEASED, RELEASED_AND_SETTLED]) {
      const rows = connection.all<{ child_seq: number }>(SELECT_DEPENDENTS, chainSeq, met, LISTED_MAX - seqs.size)
      for (const { child_seq } of rows) seqs.add(child_seq)
    }
    return [...seqs].flatMap((seq) => others.lastOfChain(seq) ?? [])
  }
  const waiting = count(WAITING)
  const givenUp = count(GIVEN_UP)
  const released = Math.min(COUNTED_MAX, count(RELEASED) + count(RELEASED_AND_SETTLED))
  return { waiting, released, givenUp, first: waiting + givenUp + released === 0 ? [] : first() }
}
