import type { JobPolicy } from '../../../domain/job.ts'
import type { ReservationReason, ReservationStatus } from '../../../domain/reservation.ts'
import type { RunStatus } from '../../../domain/run.ts'
import type {
  DirectClaim,
  DirectFinishResult,
  DirectOccupancy,
  FinishedDirectRun,
} from '../../../store/reservations.ts'
import type { ChildIdentity, FollowUpResult } from '../../../store/runs.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { enqueueOrDrop } from './enqueue.ts'
import { LIMITS_STAY } from './limits.ts'

// 1 row: ended. 0 rows: it has ended before, and that word stands.
const END_DIRECT_RUN = `
update pawl.reservations
set status = 'RELEASED', ended_at = $1, outcome = $2, reason = $3, error = $4, result = $5
where reservation_seq = $6 and reservation_id = $7 and status = 'RUNNING'`

// One row per body that is gone, and with it its permits.
const FREE_DIRECT_OCCUPANCIES = `
with freed as (
  delete from pawl.direct_occupancies
  where reservation_seq = any($1::bigint[]) and ${LIMITS_STAY}
  returning reservation_seq
),
released as (
  update pawl.permits
  set reservation_seq = null
  where reservation_seq = any(array(select reservation_seq from freed))
)
select reservation_seq
from freed`

export async function finishDirectRuns(
  transaction: Transaction,
  runs: readonly FinishedDirectRun[],
): Promise<DirectFinishResult[]> {
  const results: DirectFinishResult[] = []
  for (const run of runs) results.push(await finishDirectRun(transaction, run))
  return results
}

async function finishDirectRun(transaction: Transaction, run: FinishedDirectRun): Promise<DirectFinishResult> {
  const { connection } = transaction
  const { outcome, finishedAt } = run
  const { reservationId, ref } = run.ticket.claim
  const isEnded = await connection.run(
    END_DIRECT_RUN,
    finishedAt,
    outcome.status,
    reasonOf(run),
    outcome.status === 'FAILED' ? outcome.error : outcome.status === 'SKIPPED' ? outcome.message : null,
    outcome.status === 'COMPLETED' ? outcome.result : null,
    Number(ref),
    reservationId,
  )
  if (isEnded === 0) return answerEnded(connection, run)
  if (run.body === 'ended') await connection.runReturningAll(FREE_DIRECT_OCCUPANCIES, [Number(ref)])
  transaction.noteReservation(reservationId)
  const followUps: FollowUpResult[] = []
  if (outcome.status === 'COMPLETED') {
    for (const job of run.followUps) followUps.push(await enqueueOrDrop(transaction, job, finishedAt))
  }
  return { kind: 'finished', followUps }
}

function reasonOf({ outcome }: FinishedDirectRun): ReservationReason | null {
  return outcome.status === 'FAILED' ? outcome.reason : null
}

const SELECT_END = 'select status, ended_at, outcome, reason from pawl.reservations where reservation_id = $1'

interface EndRow {
  status: ReservationStatus
  ended_at: number | null
  outcome: RunStatus | null
  reason: ReservationReason | null
}

/** It has ended before. The same word is a repeated call after a lost reply. */
async function answerEnded(connection: Connection, run: FinishedDirectRun): Promise<DirectFinishResult> {
  const row = await connection.get<EndRow>(SELECT_END, run.ticket.claim.reservationId)
  const isRepeated =
    row !== undefined &&
    row.ended_at === run.finishedAt &&
    row.outcome === run.outcome.status &&
    row.reason === reasonOf(run)
  if (!isRepeated) return { kind: 'already-finished' }
  return { kind: 'finished', followUps: run.followUps.map(({ jobId }) => ({ kind: 'created', jobId })) }
}

// Those whose outcome is not written yet are left out. What has ended stays so.
const SELECT_ENDED = `
select reservation_seq
from pawl.reservations
where reservation_id = any($1::text[]) and status <> 'RUNNING'
order by reservation_seq`

export async function releaseDirectOccupancies(
  transaction: Transaction,
  claims: readonly DirectClaim[],
  _now: number,
): Promise<void> {
  const { connection } = transaction
  const ids = claims.map(({ reservationId }) => reservationId)
  const ended = await connection.all<{ reservation_seq: number }>(SELECT_ENDED, ids)
  if (ended.length === 0) return
  const seqs = ended.map(({ reservation_seq }) => reservation_seq)
  // 0 rows: they were released before.
  const freed = await connection.runReturningAll(FREE_DIRECT_OCCUPANCIES, seqs)
  if (freed.length > 0) transaction.stirs.add('reservations')
}

// 1 row: it cannot end before this transaction does. 0 rows: it has ended.
const LOCK_RUNNING = `
select reservation_seq
from pawl.reservations
where reservation_id = $1 and status = 'RUNNING'
for share`

// 1 row: it may begin.
const RECORD_CHILD = 'update pawl.direct_occupancies set child = $1 where reservation_seq = $2'

export async function recordDirectChild(
  { connection }: Transaction,
  { reservationId }: DirectClaim,
  child: ChildIdentity,
): Promise<'recorded' | 'late'> {
  const running = await connection.get<{ reservation_seq: number }>(LOCK_RUNNING, reservationId)
  if (running === undefined) return 'late'
  const recorded = await connection.run(RECORD_CHILD, JSON.stringify(child), running.reservation_seq)
  return recorded === 1 ? 'recorded' : 'late'
}

// Reads all of them: as many as bodies of direct executions execute right now on all nodes.
const SELECT_DIRECT_OCCUPANCIES = `
select s.reservation_seq, s.reservation_id, l.type, p.body as policy, s.status, s.params, s.started_at, d.child
from pawl.direct_occupancies d
join pawl.reservations s on s.reservation_seq = d.reservation_seq
join pawl.lanes l on l.lane_id = s.lane_id
join pawl.policies p on p.policy_id = s.policy_id
where d.node_seq = (select node_seq from pawl.nodes where node_id = $1)
order by d.reservation_seq
limit $2`

interface OccupancyRow {
  reservation_seq: number
  reservation_id: string
  type: string
  policy: string
  status: ReservationStatus
  params: string
  started_at: number
  child: string | null
}

export async function listDirectOccupancies(
  connection: Connection,
  nodeId: string,
  limit: number,
): Promise<DirectOccupancy[]> {
  return (await connection.all<OccupancyRow>(SELECT_DIRECT_OCCUPANCIES, nodeId, limit)).map((row) => ({
    ticket: {
      claim: { reservationId: row.reservation_id, nodeId, ref: row.reservation_seq },
      type: row.type,
      params: row.params,
      policy: JSON.parse(row.policy) as JobPolicy,
      startedAt: row.started_at,
    },
    ended: row.status !== 'RUNNING',
    child: row.child === null ? null : (JSON.parse(row.child) as ChildIdentity),
  }))
}
