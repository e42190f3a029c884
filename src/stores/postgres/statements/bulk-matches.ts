import type { BulkMatchRequest } from '../../../store/bulk-operations.ts'
import type { Page } from '../../../store/jobs.ts'
import { seqsOf, writeCursor } from '../../shared/list-spots.ts'
import type { Connection } from '../connection.ts'
import { findSpots } from './list-jobs.ts'

// Of the given Jobs, those of chains that were there already, and that are not asked to end in this way yet. A retry that was
// made meanwhile belongs to its chain.
const SELECT_CANCELLABLE = `
select j.job_id
from unnest($1::bigint[]) with ordinality as listed (seq, place)
join pawl.jobs j on j.seq = listed.seq
left join pawl.jobs head on head.job_id = j.chain_id
where coalesce(head.seq, j.seq) <= $2
  and coalesce(j.cancel_mode, '') not in ('abort', $3)
order by listed.place`

// Of the given Jobs, those that were there already and are the last of their chains.
const SELECT_RETRYABLE = `
select j.job_id
from unnest($1::bigint[]) with ordinality as listed (seq, place)
join pawl.jobs j on j.seq = listed.seq
where j.seq <= $2
  and not exists (select 1 from pawl.jobs later where later.retry_of = j.job_id)
order by listed.place`

export async function matchJobs(connection: Connection, request: BulkMatchRequest): Promise<Page<string>> {
  const { kind, mode, filter, lastSeq } = request
  const { spots, next } = await findSpots(connection, filter)
  const seqs = seqsOf(spots)
  const bound = lastSeq ?? Number.MAX_SAFE_INTEGER
  const rows =
    spots.length === 0
      ? []
      : kind === 'cancel'
        ? await connection.all<{ job_id: string }>(SELECT_CANCELLABLE, seqs, bound, mode ?? 'graceful')
        : await connection.all<{ job_id: string }>(SELECT_RETRYABLE, seqs, bound)
  return { items: rows.map(({ job_id }) => job_id), nextCursor: writeCursor(next) }
}
