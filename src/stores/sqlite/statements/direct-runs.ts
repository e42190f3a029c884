import type { ReservationReason, ReservationStatus } from '../../../domain/reservation.ts'
import type { RunStatus } from '../../../domain/run.ts'
import type {
  ClaimedTicket,
  DirectClaim,
  DirectFinishResult,
  DirectOccupancy,
  FinishedDirectRun,
} from '../../../store/reservations.ts'
import type { ChildIdentity } from '../../../store/runs.ts'
import type { Connection, SqlRow } from '../connection.ts'
import type { Interned, Transaction } from '../transaction.ts'
import { enqueueOrDrop } from './enqueue.ts'
import { laneById, policyById } from './interned.ts'

// 1 row: ended. 0 rows: it has ended before, and that word stands.
const END_DIRECT_RUN = `
update pawl_reservations
set status = 'RELEASED', ended_at = ?, outcome = ?, reason = ?, error = ?, result = ?
where reservation_seq = ? and reservation_id = ? and status = 'RUNNING'`

const DELETE_OCCUPANCY = 'delete from pawl_direct_occupancies where reservation_seq = ?'

export function finishDirectRuns(transaction: Transaction, runs: readonly FinishedDirectRun[]): DirectFinishResult[] {
  return runs.map((run) => finishDirectRun(transaction, run))
}

function finishDirectRun(transaction: Transaction, run: FinishedDirectRun): DirectFinishResult {
  const { connection } = transaction
  const { outcome, finishedAt } = run
  const { reservationId, ref } = run.ticket.claim
  const isEnded = connection.run(
    END_DIRECT_RUN,
    finishedAt,
    outcome.status,
    reasonOf(run),
    outcome.status === 'FAILED' ? outcome.error : outcome.status === 'SKIPPED' ? outcome.message : null,
    outcome.status === 'COMPLETED' ? outcome.result : null,
    ref,
    reservationId,
  )
  if (isEnded === 0) return answerEnded(connection, run)
  if (run.body === 'ended') connection.run(DELETE_OCCUPANCY, ref)
  transaction.noteReservation(reservationId)
  const followUps = outcome.status === 'COMPLETED' ? run.followUps : []
  return { kind: 'finished', followUps: followUps.map((job) => enqueueOrDrop(transaction, job, finishedAt)) }
}

function reasonOf({ outcome }: FinishedDirectRun): ReservationReason | null {
  return outcome.status === 'FAILED' ? outcome.reason : null
}

const SELECT_END = 'select status, ended_at, outcome, reason from pawl_reservations where reservation_id = ?'

interface EndRow extends SqlRow {
  status: ReservationStatus
  ended_at: number | null
  outcome: RunStatus | null
  reason: ReservationReason | null
}

/** It has ended before. The same word is a repeated call after a lost reply. */
function answerEnded(connection: Connection, run: FinishedDirectRun): DirectFinishResult {
  const row = connection.get<EndRow>(SELECT_END, run.ticket.claim.reservationId)
  const isRepeated =
    row !== undefined &&
    row.ended_at === run.finishedAt &&
    row.outcome === run.outcome.status &&
    row.reason === reasonOf(run)
  if (!isRepeated) return { kind: 'already-finished' }
  return { kind: 'finished', followUps: run.followUps.map(({ jobId }) => ({ kind: 'created', jobId })) }
}

// 1 row: its place is free. 0 rows: it was before, or its outcome is not written yet.
const RELEASE_OCCUPANCY = `
delete from pawl_direct_occupancies
where reservation_seq = (select reservation_seq from pawl_reservations where reservation_id = ? and status <> 'RUNNING')`

export function releaseDirectOccupancies(transaction: Transaction, claims: readonly DirectClaim[], _now: number): void {
  for (const { reservationId } of claims) {
    if (transaction.connection.run(RELEASE_OCCUPANCY, reservationId) === 1) transaction.stirs.add('reservations')
  }
}

// 1 row: it may begin. 0 rows: the direct execution has ended.
const RECORD_CHILD = `
update pawl_direct_occupancies
set child = ?
where reservation_seq = (select reservation_seq from pawl_reservations where reservation_id = ? and status = 'RUNNING')`

export function recordDirectChild(
  { connection }: Transaction,
  { reservationId }: DirectClaim,
  child: ChildIdentity,
): 'recorded' | 'late' {
  return connection.run(RECORD_CHILD, JSON.stringify(child), reservationId) === 1 ? 'recorded' : 'late'
}

// Reads all of them: as many as bodies of direct executions execute right now on all nodes.
const SELECT_DIRECT_OCCUPANCIES = `
select s.reservation_seq, s.reservation_id, s.lane_id, s.policy_id, s.status, s.params, s.started_at, d.child
from pawl_direct_occupancies d
join pawl_reservations s on s.reservation_seq = d.reservation_seq
where d.node_seq = (select node_seq from pawl_nodes where node_id = ?)
order by d.reservation_seq
limit ?`

interface OccupancyRow extends SqlRow {
  reservation_seq: number
  reservation_id: string
  lane_id: number
  policy_id: number
  status: ReservationStatus
  params: string
  started_at: number
  child: string | null
}

export function listDirectOccupancies(
  connection: Connection,
  interned: Interned,
  nodeId: string,
  limit: number,
): DirectOccupancy[] {
  return connection.all<OccupancyRow>(SELECT_DIRECT_OCCUPANCIES, nodeId, limit).map((row) => ({
    ticket: toTicket(row, connection, interned, nodeId),
    ended: row.status !== 'RUNNING',
    child: row.child === null ? null : (JSON.parse(row.child) as ChildIdentity),
  }))
}

function toTicket(row: OccupancyRow, connection: Connection, interned: Interned, nodeId: string): ClaimedTicket {
  return {
    claim: { reservationId: row.reservation_id, nodeId, ref: row.reservation_seq },
    type: laneById(connection, interned, row.lane_id).type,
    params: row.params,
    policy: policyById(connection, interned, row.policy_id),
    startedAt: row.started_at,
  }
}
