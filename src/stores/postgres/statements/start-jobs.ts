import type { JobPolicy } from '../../../domain/job.ts'
import type { ClaimedJob, ClaimRequest } from '../../../store/runs.ts'
import { atPlaceOf, countsOf } from '../rows.ts'
import type { Lane, Transaction } from '../transaction.ts'
import { policyById } from './interned.ts'
import type { Permit } from './permits.ts'

/** Where a ready Job stands in the queue. */
export interface HeadRow {
  readonly seq: number
  readonly lane_id: number
  readonly priority: number
  readonly position: number
  readonly created_at: number
}

/** A Job that has just started. */
export interface StartedRow {
  seq: number
  lane_id: number
  run_id: string
  priority: number
  job_id: string
  policy_id: number
  run_at: number
  params: string
  /** A `Particulars` as JSON. Null: it has none, as most. */
  particulars: string | null
}

/** What a Job has that is no first attempt, or that does not stand alone. */
export interface Particulars {
  readonly chain_id: string | null
  readonly attempt: number
  readonly business_key: string | null
  readonly error_retries: number
  readonly crash_retries: number
  readonly shutdown_retries: number
  readonly group_id: string | null
  readonly schedule_id: string | null
  readonly webhook_url: string | null
  readonly parents: number
}

const NONE: Particulars = {
  chain_id: null,
  attempt: 1,
  business_key: null,
  error_retries: 0,
  crash_retries: 0,
  shutdown_retries: 0,
  group_id: null,
  schedule_id: null,
  webhook_url: null,
  parents: 0,
}

export function particularsOf({ particulars }: Pick<StartedRow, 'particulars'>): Particulars {
  return particulars === null ? NONE : (JSON.parse(particulars) as Particulars)
}

/** What becomes of a `StartedRow`, of the Job `j`. Columns that nobody needs cost both sides as much as those that are read. */
export const STARTED_COLUMNS = `
  j.job_id, j.policy_id, j.run_at, j.params,
  case
    when j.attempt > 1 or j.business_key is not null or j.group_id is not null or j.schedule_id is not null
      or j.webhook_url is not null or j.parents > 0
    then json_build_object(
      'chain_id', j.chain_id, 'attempt', j.attempt, 'business_key', j.business_key, 'error_retries', j.error_retries,
      'crash_retries', j.crash_retries, 'shutdown_retries', j.shutdown_retries, 'group_id', j.group_id,
      'schedule_id', j.schedule_id, 'webhook_url', j.webhook_url, 'parents', j.parents
    )::text
  end as particulars`

/**
 * The row of a started Job `s` in pawl.jobs. Written as a limited subquery, so that each is looked up by its number, whatever
 * PostgreSQL believes of the size of the table.
 */
export const JOB_OF_STARTED = `
lateral (
  select *
  from pawl.jobs
  where jobs.seq = s.seq
  limit 1
) j`

// One row per Job that starts. One that is missing was taken, changed or locked by another since it was chosen. A row that
// changed after this statement began is locked in its new version, which the deletion by `ctid` does not see: what we read of
// its Job would be older than the change.
const START_JOBS = `
with chosen as materialized (
  select *
  from unnest($3::integer[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::boolean[]) with ordinality
    as chosen (priority, position, created_at, seq, run_id, has_permits, place)
),
locked as materialized (
  select q.ctid as at, chosen.run_id, chosen.has_permits, chosen.place
  from chosen
  join pawl.queue q on ${atPlaceOf('chosen')}
  where q.ready::integer = 1
  for update of q skip locked
),
taken as (
  delete from pawl.queue q
  using locked
  where q.ctid = locked.at
  returning q.seq, q.lane_id, q.priority, q.position, locked.run_id, locked.has_permits, locked.place
),
executed as (
  insert into pawl.runs (seq, run_id, node_seq, started_at)
  select seq, run_id, $1, $2
  from taken
),
occupied as (
  insert into pawl.occupancies (seq, node_seq, lane_id, priority, position, has_permits)
  select seq, $1, lane_id, priority, position, has_permits
  from taken
),
permitted as (
  update pawl.permits p
  set job_seq = taken.seq
  from unnest($9::text[], $10::integer[], $11::bigint[]) as given (name, slot, seq)
  join taken on taken.seq = given.seq
  where p.name = given.name and p.slot = given.slot
)
select s.seq, s.lane_id, s.run_id, s.priority, ${STARTED_COLUMNS}
from taken s
cross join ${JOB_OF_STARTED}
order by s.place`

/** Starts Jobs, each with the permits that were locked for it. Those that were lost are left out. */
export async function startJobs(
  transaction: Transaction,
  request: ClaimRequest,
  nodeSeq: number,
  chosen: readonly { readonly lane: Lane; readonly row: HeadRow; readonly permits: readonly Permit[] }[],
): Promise<ClaimedJob[]> {
  if (chosen.length === 0) return []
  const given = chosen.flatMap(({ row, permits }) => permits.map((permit) => ({ ...permit, seq: row.seq })))
  const rows = await transaction.connection.runReturningAll<StartedRow>(
    START_JOBS,
    nodeSeq,
    request.now,
    chosen.map(({ row }) => row.priority),
    chosen.map(({ row }) => row.position),
    chosen.map(({ row }) => row.created_at),
    chosen.map(({ row }) => row.seq),
    chosen.map(() => request.newRunId()),
    chosen.map(({ permits }) => permits.length > 0),
    given.map(({ name }) => name),
    given.map(({ slot }) => slot),
    given.map(({ seq }) => seq),
  )
  const types = new Map(chosen.map(({ lane }) => [lane.laneId, lane.type]))
  return toClaimedJobs(transaction, request, rows, types)
}

/** Notes that Jobs have started, and says what their bodies need. */
async function toClaimedJobs(
  transaction: Transaction,
  request: ClaimRequest,
  rows: readonly StartedRow[],
  types: ReadonlyMap<number, string>,
): Promise<ClaimedJob[]> {
  const jobs: ClaimedJob[] = []
  for (const row of rows) {
    const type = types.get(row.lane_id) ?? ''
    const policy = await policyById(transaction.connection, transaction.interned, row.policy_id)
    const job = toClaimedJob({ ...row, type }, request, policy)
    const { claim, chainId, attempt } = job
    const { jobId, runId } = claim
    const at = request.now
    transaction.note(row.seq, { kind: 'job.started', jobId, runId, chainId, type, status: 'RUNNING', attempt, at })
    jobs.push(job)
  }
  return jobs
}

export function toClaimedJob(
  row: StartedRow & { readonly type: string },
  { nodeId, now }: ClaimRequest,
  policy: JobPolicy,
): ClaimedJob {
  const particulars = particularsOf(row)
  return {
    claim: { runId: row.run_id, jobId: row.job_id, nodeId, ref: row.seq },
    chainId: particulars.chain_id ?? row.job_id,
    type: row.type,
    attempt: particulars.attempt,
    priority: row.priority,
    businessKey: particulars.business_key,
    params: row.params,
    policy,
    counts: countsOf(particulars),
    runAt: row.run_at,
    startedAt: now,
    groupId: particulars.group_id,
    scheduleId: particulars.schedule_id,
    webhookUrl: particulars.webhook_url,
    hasParents: particulars.parents > 0,
  }
}
