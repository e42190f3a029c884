import type { Connection } from '../connection.ts'
import { IN_QUEUE } from '../rows.ts'
import { HAS_BUSY_PREDECESSOR, UNMET_EDGES } from './checks/dependencies.ts'
import { IS_MISPLACED } from './checks/jobs.ts'
import { CHAIN_SEQ } from './checks/pieces.ts'
import { lockChains } from './locks.ts'
import type { PlaceRow } from './match-jobs.ts'

const IS_WRONGLY_HELD = `(
  q.unmet_parents <> ${UNMET_EDGES} or q.awaits_predecessor <> ${HAS_BUSY_PREDECESSOR}
  or (q.ready and (q.unmet_parents > 0 or q.awaits_predecessor))
)`

const SELECT_WRONG = `
select q.seq, ${CHAIN_SEQ} as chain_seq
from pawl.queue q
join pawl.jobs j on j.seq = q.seq
where ${IS_MISPLACED} or ${IS_WRONGLY_HELD}`

// Those that are being claimed wait for their claim, and are gone then.
const LOCK_WRONG = `
select q.seq
from pawl.queue q
where q.seq = any($1::bigint[])
order by q.seq
for update`

/** What was found is looked at again under the locks of its chains and of its rows: nothing can change it meanwhile. */
export async function rebuildQueue(connection: Connection): Promise<number> {
  const wrong = await connection.all<{ seq: number; chain_seq: number | null }>(SELECT_WRONG)
  if (wrong.length === 0) return 0
  const seqs = wrong.map(({ seq }) => seq)
  await lockChains(
    connection,
    wrong.flatMap(({ chain_seq }) => chain_seq ?? []),
  )
  await connection.all(LOCK_WRONG, seqs)
  return (await putInPlace(connection, seqs)) + (await holdRightly(connection, seqs))
}

const SELECT_MISPLACED_ROWS = `
select q.priority, q.position, q.created_at, q.seq
from pawl.queue q
join pawl.jobs j on j.seq = q.seq
where ${IS_MISPLACED} and q.seq = any($1::bigint[])`

// 1 row: it was too many, because its Job stands at its own place already, runs, or has ended.
const DELETE_SURPLUS = `
delete from pawl.queue s
where s.priority = $1 and s.position = $2 and s.created_at = $3 and s.seq = $4
  and exists (
    select 1
    from pawl.jobs j
    where j.seq = s.seq
      and (j.priority, j.position, j.created_at) is distinct from (s.priority, s.position, s.created_at)
      and (
        j.cancelled_at is not null
        or exists (select 1 from pawl.runs r where r.seq = j.seq)
        or exists (select 1 from pawl.queue q where ${IN_QUEUE})
      )
  )`

// 1 row. What it may have been ready for is found out by the next claim.
const PUT_IN_PLACE = `
update pawl.queue q
set priority = j.priority, position = j.position, created_at = j.created_at, lane_id = j.lane_id, run_at = j.run_at,
  ready = false
from pawl.jobs j
where q.priority = $1 and q.position = $2 and q.created_at = $3 and q.seq = $4 and j.seq = q.seq`

async function putInPlace(connection: Connection, seqs: readonly number[]): Promise<number> {
  const misplaced = await connection.all<PlaceRow>(SELECT_MISPLACED_ROWS, seqs)
  for (const { priority, position, created_at, seq } of misplaced) {
    if ((await connection.run(DELETE_SURPLUS, priority, position, created_at, seq)) > 0) continue
    await connection.run(PUT_IN_PLACE, priority, position, created_at, seq)
  }
  return misplaced.length
}

// As many rows as were held wrongly. All of them are locked.
const HOLD_RIGHTLY = `
update pawl.queue q
set unmet_parents = ${UNMET_EDGES}, awaits_predecessor = ${HAS_BUSY_PREDECESSOR}, ready = false
from pawl.jobs j
where q.seq = any($1::bigint[]) and j.seq = q.seq and ${IS_WRONGLY_HELD}`

async function holdRightly(connection: Connection, seqs: readonly number[]): Promise<number> {
  return connection.run(HOLD_RIGHTLY, seqs)
}
