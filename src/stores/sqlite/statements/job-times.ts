import type { Connection, SqlRow } from '../connection.ts'

const SELECT_LATEST_UP_TO = `
select seq, created_at
from pawl_jobs
where seq <= ?
order by seq desc
limit 1`

interface AcceptedRow extends SqlRow {
  seq: number
  created_at: number
}

/**
 * The number of the last Job that was accepted before an instant, as far as Jobs are numbered in the order of their times.
 * Found by halving, so it costs some twenty rows of a million.
 */
export function findLastBefore(connection: Connection, at: number): number {
  const upTo = (seq: number) => connection.get<AcceptedRow>(SELECT_LATEST_UP_TO, seq)
  let low = 0
  let high = upTo(Number.MAX_SAFE_INTEGER)?.seq ?? 0
  while (low < high) {
    const middle = low + Math.ceil((high - low) / 2)
    const row = upTo(middle)
    if (row === undefined || row.seq <= low || row.created_at < at) low = middle
    else high = row.seq - 1
  }
  return low
}
