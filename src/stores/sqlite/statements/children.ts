import type { Job } from '../../../domain/job.ts'
import type { ChildrenPage, Page } from '../../../store/jobs.ts'
import { pageOf, readCursor, type Spot, seqsOf, writeCursor } from '../../shared/list-spots.ts'
import type { Connection, SqlRow } from '../connection.ts'
import { toJob } from '../rows.ts'
import type { Interned } from '../transaction.ts'
import { findJobRow } from './history.ts'
import { readListed } from './match-jobs.ts'
import { chainSeqOf } from './parents.ts'

// In the order of their acceptance. The index has them by whether they still wait, so each of its four parts is asked.
const SELECT_CHILDREN = `
select distinct child_seq
from pawl_dependencies
where parent_seq = ? and met = ? and child_seq > ? and of_group = 0
order by child_seq
limit ?`

const MET = [0, 1, 2, 3] as const

// Of each chain, given by its first Job, the number of its last.
const SELECT_LAST = `
select coalesce(
  (select c.seq from pawl_jobs c where c.chain_id = j.job_id order by c.attempt desc limit 1),
  j.seq
) as seq
from json_each(?) as listed
cross join pawl_jobs j on j.seq = listed.value`

/** A cursor names the last chain: `<seq>`. */
export function listChildren(
  connection: Connection,
  interned: Interned,
  jobId: string,
  { limit, cursor }: ChildrenPage,
  now: number,
): Page<Job> | null {
  const job = findJobRow(connection, { jobId })
  if (job === undefined) return null
  const [after = 0] = cursor === null ? [0] : readCursor(cursor, 1)
  const chainSeq = job.chain_id === null ? job.seq : chainSeqOf(connection, job.chain_id)
  const { spots, next } = pageOf(readChildren(connection, chainSeq ?? job.seq, after, limit + 1), limit)
  if (spots.length === 0) return { items: [], nextCursor: null }
  const last = connection.all<{ seq: number } & SqlRow>(SELECT_LAST, JSON.stringify(seqsOf(spots)))
  const rows = readListed(
    connection,
    last.map(({ seq }) => [seq]),
    { limit },
  )
  return { items: rows.map((row) => toJob(row, connection, interned, now)), nextCursor: writeCursor(next) }
}

/** One may have named several Jobs of the chain, so it may be found more than once. */
function readChildren(connection: Connection, parentSeq: number, after: number, limit: number): Spot[] {
  const found = new Set<number>()
  for (const met of MET) {
    const rows = connection.all<{ child_seq: number } & SqlRow>(SELECT_CHILDREN, parentSeq, met, after, limit)
    for (const { child_seq } of rows) found.add(child_seq)
  }
  return [...found]
    .toSorted((a, b) => a - b)
    .slice(0, limit)
    .map((seq) => [seq])
}
