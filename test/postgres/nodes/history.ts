import type { Pool } from 'pg'
import type { Order } from './workload.ts'

/** A Job and its Run, as the database has them in the end. */
export interface StoredJob {
  readonly jobId: string
  readonly chainId: string
  readonly attempt: number
  readonly groupId: string | null
  readonly order: Order
  readonly status: 'QUEUED' | 'RUNNING' | 'FINISHED' | 'CANCELLED'
  readonly run: StoredRun | null
}

export interface StoredRun {
  readonly runId: string
  readonly status: 'COMPLETED' | 'FAILED' | 'SKIPPED' | null
  readonly reason: string | null
  readonly node: string
}

export interface StoredGroup {
  readonly groupId: string
  readonly isSettled: boolean
  readonly counts: Readonly<Record<'total' | 'completed' | 'failed' | 'skipped' | 'cancelled', number>>
}

export interface History {
  /** The attempts of a chain come in their order. */
  readonly jobs: readonly StoredJob[]
  readonly groups: readonly StoredGroup[]
}

interface JobRow {
  readonly job_id: string
  readonly chain_id: string
  readonly attempt: number
  readonly group_id: string | null
  readonly params: string
  readonly status: StoredJob['status']
  readonly run_id: string | null
  readonly run_status: StoredRun['status']
  readonly reason: string | null
  readonly node: string
}

type GroupRow = Readonly<Record<'total' | 'completed' | 'failed' | 'skipped' | 'cancelled', number>> & {
  readonly group_id: string
  readonly finished_at: Date | null
}

/** Reads all of it with plain SQL, past the code that wrote it. */
export async function readHistory(pool: Pool, schema: string): Promise<History> {
  const jobs = await pool.query<JobRow>(`
select j.job_id, j.chain_id, j.attempt, j.group_id, j.params, j.status, r.run_id, r.status as run_status, r.reason, r.node
from "${schema}".jobs_readable j
left join "${schema}".runs_readable r using (job_id)
order by j.chain_id, j.attempt`)
  const groups = await pool.query<GroupRow>(`select * from "${schema}".groups_readable`)
  return { jobs: jobs.rows.map(toJob), groups: groups.rows.map(toGroup) }
}

function toJob(row: JobRow): StoredJob {
  const run = { runId: row.run_id ?? '', status: row.run_status, reason: row.reason, node: row.node }
  return {
    jobId: row.job_id,
    chainId: row.chain_id,
    attempt: Number(row.attempt),
    groupId: row.group_id,
    order: JSON.parse(row.params) as Order,
    status: row.status,
    run: row.run_id === null ? null : run,
  }
}

function toGroup({ group_id, finished_at, total, completed, failed, skipped, cancelled }: GroupRow): StoredGroup {
  return {
    groupId: group_id,
    isSettled: finished_at !== null,
    counts: { total, completed, failed, skipped, cancelled },
  }
}
