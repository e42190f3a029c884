import type { Job } from '../../../domain/job.ts'
import type { ChildrenPage, Page } from '../../../store/jobs.ts'
import { pageOf, readCursor, type Spot, seqsOf, writeCursor } from '../../shared/list-spots.ts'
import type { Connection } from '../connection.ts'
import { toJobs } from '../rows.ts'

import { findJobRow } from './history.ts'
import { readListed } from './match-jobs.ts'
import { chainSeqOf } from './parents.ts'

// In the order of their acceptance. The index has them by whether they still wait, so each of its four parts is asked.
const SELECT_CHILDREN = `
select distinct child_seq
from pawl.dependencies
where parent_seq = $1 and met = $2 and child_seq > $3 and of_group = false
order by child_seq
limit $4`

const MET = [0, 1, 2, 3] as const

// Of each chain, given by its first Job, the number of its last.
const SELECT_LAST = `
select coalesce(
  (select c.seq from pawl.jobs c where c.chain_id = j.job_id order by c.attempt desc limit 1),
  j.seq
) as seq
from unnest($1::bigint[]) with ordinality as listed (seq, place)
join pawl.jobs j on j.seq = listed.seq
order by listed.place`

/** A cursor names the last chain: `<seq>`. */
export async function listChildren(
  connection: Connection,
  jobId: string,
  { limit, cursor }: ChildrenPage,
  now: number,
): Promise<Page<Job> | null> {
  const job = await findJobRow(connection, { jobId })
  if (job === undefined) return null
  const [after = 0] = cursor === null ? [0] : readCursor(cursor, 1)
  const chainSeq = job.chain_id === null ? job.seq : await chainSeqOf(connection, job.chain_id)
  const { spots, next } = pageOf(await readChildren(connection, chainSeq ?? job.seq, after, limit + 1), limit)
  if (spots.length === 0) return { items: [], nextCursor: null }
  const last = await connection.all<{ seq: number }>(SELECT_LAST, seqsOf(spots))
  const rows = await readListed(
    connection,
    last.map(({ seq }) => [seq]),
    { limit },
  )
  return { items: await toJobs(rows, connection, now), nextCursor: writeCursor(next) }
}

/** One may have named several Jobs of the chain, so it may be found more than once. */
async function readChildren(connection: Connection, parentSeq: number, after: number, limit: number): Promise<Spot[]> {
  const found = new Set<number>()
  for (const met of MET) {
    const rows = await connection.all<{ child_seq: number }>(SELECT_CHILDREN, parentSeq, met, after, limit)
    for (const { child_seq } of rows) found.add(child_seq)
  }
  return [...found]
    .toSorted((a, b) => a - b)
    .slice(0, limit)
    .map((seq) => [seq])
}
