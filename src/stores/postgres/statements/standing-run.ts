import type { CancelMode } from '../../../domain/job.ts'
import type { FailureReason, RunStatus } from '../../../domain/run.ts'
import type { GroupOrder, RunStanding } from '../../../domain/standing.ts'
import type { Connection } from '../connection.ts'
import type { JobRow } from '../rows.ts'

const SELECT_RUN = `
select r.run_id, n.node_id, n.name, r.status, r.reason, r.error, r.started_at, r.finished_at, r.will_retry, r.progress,
  r.progress_message
from pawl.runs r
join pawl.nodes n on n.node_seq = r.node_seq
where r.seq = $1`

interface RunRow {
  run_id: string
  node_id: string
  name: string
  status: RunStatus | null
  reason: FailureReason | null
  error: string | null
  started_at: number
  finished_at: number | null
  will_retry: boolean
  progress: number | null
  progress_message: string | null
}

/** Without params and result, which may be long and explain nothing. */
export async function readRun(connection: Connection, seq: number): Promise<RunStanding | null> {
  const row = await connection.get<RunRow>(SELECT_RUN, seq)
  if (row === undefined) return null
  return {
    runId: row.run_id,
    nodeId: row.node_id,
    nodeName: row.name,
    status: row.status,
    reason: row.reason,
    error: row.error,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    willRetry: row.will_retry,
    progress: row.progress === null ? null : { fraction: row.progress, message: row.progress_message },
  }
}

// The first order that has not come to this member yet, if there is one.
const SELECT_GROUP_ORDER = `
select kind, mode, reason, created_at
from pawl.cascades
where subject = $1 and cursor < $2 and kind in ('cancel', 'stop', 'skip')
order by cascade_seq
limit 1`

interface OrderRow {
  kind: GroupOrder['kind']
  mode: CancelMode | null
  reason: string | null
  created_at: number
}

/** What is about to happen to a member of a group, because of an order to all of them. */
export async function readGroupOrder(connection: Connection, row: JobRow): Promise<GroupOrder | null> {
  if (row.group_id === null) return null
  const order = await connection.get<OrderRow>(SELECT_GROUP_ORDER, row.group_id, row.seq)
  if (order === undefined) return null
  // A member that has started is neither stopped nor skipped, and a waiting retry has, unless it waits for parents again.
  const hasStarted = row.queued === null || (row.attempt > 1 && row.unmet_parents === 0)
  if (order.kind !== 'cancel' && hasStarted) return null
  const { kind, mode, reason, created_at: orderedAt } = order
  return { groupId: row.group_id, kind, mode: mode ?? 'graceful', reason, orderedAt }
}
