import type { CancelMode, JobPolicy } from '../../../domain/job.ts'
import type { CancelWish, ChildIdentity, ClaimedJob, Occupancy } from '../../../store/runs.ts'
import type { Connection } from '../connection.ts'
import { countsOf } from '../rows.ts'

/** What makes a `ClaimedJob`: of a Run `r`, its node `n`, its Job `j`, and the lane `l` and the policy `p` of that. */
export const CLAIMED_COLUMNS = `
  r.seq, r.run_id, r.status, r.started_at, n.node_id, j.job_id, j.chain_id, l.type, p.body as policy, j.attempt, j.priority,
  j.run_at, j.business_key, j.params, j.error_retries, j.crash_retries, j.shutdown_retries, j.group_id, j.schedule_id,
  j.webhook_url, j.parents`

export interface ClaimedRow {
  seq: number
  run_id: string
  status: string | null
  started_at: number
  node_id: string
  job_id: string
  chain_id: string | null
  type: string
  policy: string
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

export function toClaimedJob(row: ClaimedRow): ClaimedJob {
  return {
    claim: { runId: row.run_id, jobId: row.job_id, nodeId: row.node_id, ref: row.seq },
    chainId: row.chain_id ?? row.job_id,
    type: row.type,
    attempt: row.attempt,
    priority: row.priority,
    businessKey: row.business_key,
    params: row.params,
    policy: JSON.parse(row.policy) as JobPolicy,
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
from pawl.occupancies o
join pawl.runs r on r.seq = o.seq
join pawl.jobs j on j.seq = o.seq
join pawl.nodes n on n.node_seq = o.node_seq
join pawl.lanes l on l.lane_id = j.lane_id
join pawl.policies p on p.policy_id = j.policy_id
where n.node_id = $1
order by r.started_at, o.seq
limit $2`

export async function listOccupancies(connection: Connection, nodeId: string, limit: number): Promise<Occupancy[]> {
  const rows = await connection.all<ClaimedRow & { child: string | null }>(SELECT_OCCUPANCIES, nodeId, limit)
  return rows.map((row) => ({
    job: toClaimedJob(row),
    ended: row.status !== null,
    child: row.child === null ? null : (JSON.parse(row.child) as ChildIdentity),
  }))
}

const SELECT_CANCEL_WISHES = `
select r.seq, r.run_id, j.job_id, j.cancel_mode
from pawl.occupancies o
join pawl.runs r on r.seq = o.seq
join pawl.jobs j on j.seq = o.seq
where o.node_seq = (select node_seq from pawl.nodes where node_id = $1)
  and r.status is null
  and j.cancel_requested_at is not null
order by r.seq`

interface WishRow {
  seq: number
  run_id: string
  job_id: string
  cancel_mode: CancelMode
}

export async function findCancelWishes(connection: Connection, nodeId: string): Promise<CancelWish[]> {
  return (await connection.all<WishRow>(SELECT_CANCEL_WISHES, nodeId)).map((row) => ({
    claim: { runId: row.run_id, jobId: row.job_id, nodeId, ref: row.seq },
    mode: row.cancel_mode,
  }))
}
