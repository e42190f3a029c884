import type { CancelMode } from '../../../domain/job.ts'
import type { CancelWish, ChildIdentity, ClaimedJob, Occupancy } from '../../../store/runs.ts'
import type { Connection, SqlRow } from '../connection.ts'
import { countsOf } from '../rows.ts'
import type { Interned } from '../transaction.ts'
import { isUnbroken } from '../unbroken.ts'
import { laneById, policyById } from './interned.ts'

export const CLAIMED_COLUMNS = `
  r.seq, r.run_id, r.status, r.started_at, n.node_id, j.job_id, j.chain_id, j.lane_id, j.policy_id, j.attempt, j.priority,
  j.run_at, j.business_key, j.params, j.error_retries, j.crash_retries, j.shutdown_retries, j.group_id, j.schedule_id,
  j.webhook_url, j.parents`

export interface ClaimedRow extends SqlRow {
  seq: number
  run_id: string
  status: string | null
  started_at: number
  node_id: string
  job_id: string
  chain_id: string | null
  lane_id: number
  policy_id: number
  attempt: number
  priority: number
  run_at: number
  business_key: string | null
  params: string
  error_retries: number
  crash_retries: number
  shutdown_retries: number
  group_id: string | null
  schedule_id: string | null
  webhook_url: string | null
  parents: number
}

export function toClaimedJob(row: ClaimedRow, connection: Connection, interned: Interned): ClaimedJob {
  return {
    claim: { runId: row.run_id, jobId: row.job_id, nodeId: row.node_id, ref: row.seq },
    chainId: row.chain_id ?? row.job_id,
    type: laneById(connection, interned, row.lane_id).type,
    attempt: row.attempt,
    priority: row.priority,
    businessKey: row.business_key,
    params: row.params,
    policy: policyById(connection, interned, row.policy_id),
    counts: countsOf(row),
    runAt: row.run_at,
    startedAt: row.started_at,
    groupId: row.group_id,
    scheduleId: row.schedule_id,
    webhookUrl: row.webhook_url,
    hasParents: row.parents > 0,
  }
}

// Reads all occupancies: as many as bodies execute right now on all nodes.
const SELECT_OCCUPANCIES = `
select ${CLAIMED_COLUMNS}, o.child
from pawl_occupancies o
join pawl_runs r on r.seq = o.seq
join pawl_jobs j on j.seq = o.seq
join pawl_nodes n on n.node_seq = o.node_seq
where o.node_seq = (select node_seq from pawl_nodes where node_id = ?)
order by r.started_at, o.seq
limit ?`

export function listOccupancies(
  connection: Connection,
  interned: Interned,
  nodeId: string,
  limit: number,
): Occupancy[] {
  return connection.all<ClaimedRow & { child: string | null }>(SELECT_OCCUPANCIES, nodeId, limit).map((row) => ({
    job: toClaimedJob(row, connection, interned),
    ended: row.status !== null,
    child: row.child === null ? null : (JSON.parse(row.child) as ChildIdentity),
  }))
}

const SELECT_CANCEL_WISHES = `
select r.seq, r.run_id, j.job_id, j.cancel_mode
from pawl_occupancies o
join pawl_runs r on r.seq = o.seq
join pawl_jobs j on j.seq = o.seq
where o.node_seq = (select node_seq from pawl_nodes where node_id = ?)
  and r.status is null
  and j.cancel_requested_at is not null`

export function findCancelWishes(connection: Connection, nodeId: string): CancelWish[] {
  return connection
    .all<{ seq: number; run_id: string; job_id: string; cancel_mode: CancelMode }>(SELECT_CANCEL_WISHES, nodeId)
    .map((row) => ({ claim: { runId: row.run_id, jobId: row.job_id, nodeId, ref: row.seq }, mode: row.cancel_mode }))
}

// 1 row: its body has ended now. 0 rows: it was released before.
const DELETE_OCCUPANCY = 'delete from pawl_occupancies where seq = ?'

const DELETE_OCCUPANCIES = `
delete from pawl_occupancies
where seq in (select value from json_each(?))`

const DELETE_OCCUPANCY_RANGE = `
delete from pawl_occupancies
where seq between ? and ?`

/** False: it was released before. */
export function deleteOccupancy(connection: Connection, seq: number): boolean {
  return connection.run(DELETE_OCCUPANCY, seq) === 1
}

export function deleteOccupancies(connection: Connection, seqs: readonly number[]): void {
  const [first] = seqs
  if (first === undefined) return
  const inOrder = seqs.toSorted((a, b) => a - b)
  if (seqs.length === 1) connection.run(DELETE_OCCUPANCY, first)
  else if (isUnbroken(inOrder)) connection.run(DELETE_OCCUPANCY_RANGE, inOrder[0] as number, inOrder.at(-1) as number)
  else connection.run(DELETE_OCCUPANCIES, JSON.stringify(seqs))
}
