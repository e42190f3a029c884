import { RUNNING_LIMIT, typeLimit } from '../../../domain/limits.ts'
import type { ClaimRequest } from '../../../store/runs.ts'
import type { SqlValue } from '../connection.ts'
import { READY_LANES } from './claim-survey.ts'
import { isDue } from './due.ts'
import { LIMITS_STAY } from './limits.ts'
import { ENDED_SEQS, type EndedRow, PLAIN_FINISH, WRITTEN_AS } from './plain-finish.ts'
import { JOB_OF_STARTED, STARTED_COLUMNS, type StartedRow } from './start-jobs.ts'

/** How many heads of each lane are merged: written into the text, because PostgreSQL plans badly for a number it learns late. */
const MERGE_SIZES = [1, 5, 20, 100, 500, 1_000] as const

/**
 * How a claim deals with delayed Jobs that have become due. `behind-promotion`: a statement before it has made them ready.
 * `checks-due`: if there is one, nothing is claimed. `with-ends`: the same, and plain Runs are ended by the same statement.
 */
export type OpenClaimKind = 'behind-promotion' | 'checks-due' | 'with-ends'

// Claims Jobs where neither a limit nor a ticket concerns any lane that has a ready one. At least one row; `is_limited`: one
// does concern it, and nothing was claimed; null: the node has left. `expected` is how many rows of the queue were chosen:
// those that were not claimed were lost to another.
//
// Of a single lane as many as fit are locked from its head on. Of several, a merge without locks decides how many of each.
// Rows of the queue that somebody else has locked are passed over, never waited for. One that changed after this statement
// began is locked in its new version, which the deletion by `ctid` does not see.
const CLAIM_OPEN = (kind: OpenClaimKind, mergeSize: number) => `
with recursive ${READY_LANES},
${kind === 'with-ends' ? `${shifted(PLAIN_FINISH)},` : ''}
node as materialized (
  select node_seq
  from pawl.nodes
  where node_id = $1 and ended_at is null
  for key share
),
lane as materialized (
  select l.lane_id, l.type, l.resources, given.room
  from ready_lane r
  join pawl.lanes l on l.lane_id = r.lane_id
  join unnest($4::text[], $5::integer[]) as given (type, room) on given.type = l.type
  where given.room > 0
),
gate as materialized (
  select node.node_seq, (select count(*) from lane) as lanes,
    exists (select 1 from pawl.reservations where status = 'WAITING')
    or exists (select 1 from lane where resources <> '[]')
    or exists (select 1 from pawl.limits where name = '${RUNNING_LIMIT}')
    or exists (select 1 from lane join pawl.limits i on i.name = '${typeLimit('')}' || lane.type)
    or not ${LIMITS_STAY} as is_limited,
    ${kind === 'behind-promotion' ? 'false' : isDue('$2')} as is_due
  from node
),
share as materialized (
  select lane.lane_id, least(lane.room, $3::integer) as jobs
  from gate
  cross join lane
  where not gate.is_limited and not gate.is_due and gate.lanes = 1
  union all
  select merged.lane_id, count(*)
  from (
    select placed.lane_id
    from (
      select head.*, lane.room, row_number() over (
        partition by lane.type
        order by head.priority desc, head.position, head.created_at, head.seq
      ) as place
      from gate
      cross join lane
      cross join lateral (
        select q.lane_id, q.priority, q.position, q.created_at, q.seq
        from pawl.queue q
        where q.ready and q.lane_id = lane.lane_id
        order by q.priority desc, q.position, q.created_at, q.seq
        limit ${mergeSize}
      ) head
      where not gate.is_limited and not gate.is_due and gate.lanes > 1
    ) placed
    where placed.place <= placed.room
    order by placed.priority desc, placed.position, placed.created_at, placed.seq
    limit $3::integer
  ) merged
  group by merged.lane_id
),
locked as materialized (
  select head.at
  from share
  cross join lateral (
    select q.ctid as at
    from pawl.queue q
    where q.ready and q.lane_id = share.lane_id
    order by q.priority desc, q.position, q.created_at, q.seq
    limit share.jobs
    for update skip locked
  ) head
),
taken as (
  delete from pawl.queue q
  using locked
  where q.ctid = locked.at
  returning q.seq, q.lane_id, q.priority, q.position, q.created_at
),
started as materialized (
  select taken.*, row_number() over (order by priority desc, position, created_at, seq) as place
  from taken
),
executed as (
  insert into pawl.runs (seq, run_id, node_seq, started_at)
  select fresh.seq, fresh.run_id, gate.node_seq, $2
  from gate
  cross join (select array_agg(seq order by place) as seqs from started) claimed
  cross join lateral unnest(claimed.seqs, $6::text[]) as fresh (seq, run_id)
  where fresh.seq is not null
),
occupied as (
  insert into pawl.occupancies (seq, node_seq, lane_id, priority, position)
  select started.seq, gate.node_seq, started.lane_id, started.priority, started.position
  from started
  cross join gate
),
grouped as (
  update pawl.groups g
  set started_at = $2
  where g.started_at is null
    and g.group_id = any(array(
      select j.group_id
      from started s
      cross join ${JOB_OF_STARTED}
      where j.group_id is not null
    ))
),
told as (
  insert into pawl.events (seq, part, at, transitions)
  select pg_current_xact_id()::text::bigint, 2, $2,
    json_build_array(json_build_array('job.started', $2::bigint, null, null, json_agg(seq order by place)))::text
  from started
  having count(*) > 0
)
select
  case when coalesce(s.place, 1) = 1 then json_build_object(
    'is_limited', gate.is_limited,
    'is_due', gate.is_due,
    'xid', ${WRITTEN_AS},
    'ended', ${kind === 'with-ends' ? `${ENDED_SEQS}::text` : 'null'},
    'expected', case gate.lanes when 1 then (select count(*) from locked) else (select sum(jobs) from share) end,
    'types', (select json_object_agg(lane_id, type) from lane)
  )::text end as whole,
  s.seq, s.lane_id, s.priority, ${STARTED_COLUMNS}
from (select) always
left join gate on true
left join started s on true
left join ${JOB_OF_STARTED} on true
order by s.place`

/** The parameters of the ends follow those of the claim. */
function shifted(sql: string): string {
  return sql.replace(/\$(\d+)/g, (_, number: string) => `$${Number(number) + CLAIM_PARAMETERS}`)
}

/** One Job that was claimed, in the order of the queue; or one row without. The first one also has a `Whole`, as JSON. */
export type OpenClaimRow = { readonly whole: string | null } & (Omit<StartedRow, 'run_id'> | { readonly seq: null })

/** What is told of all that was claimed, once. */
interface Whole extends EndedRow {
  readonly is_limited: boolean | null
  readonly is_due: boolean | null
  readonly expected: number | null
  /** By the numbers of lanes. Null: there is none that could be claimed from. */
  readonly types: Readonly<Record<string, string>> | null
}

type OpenStartedRow = StartedRow & { readonly type: string }

const texts = new Map<string, string>()

/** The statement that claims up to as many Jobs. */
export function openClaimText(limit: number, kind: OpenClaimKind): string {
  const size = MERGE_SIZES.find((one) => one >= limit) ?? (MERGE_SIZES.at(-1) as number)
  const key = `${kind} ${size}`
  const text = texts.get(key) ?? CLAIM_OPEN(kind, size)
  texts.set(key, text)
  return text
}

const CLAIM_PARAMETERS = 6

/** For as many as may be claimed, in their order. */
export function newRunIds({ limit, newRunId }: ClaimRequest): string[] {
  return Array.from({ length: limit }, newRunId)
}

/** As many as `CLAIM_PARAMETERS`. */
export function openClaimValues(request: ClaimRequest, runIds: string[]): SqlValue[] {
  const types = [...request.types]
  return [
    request.nodeId,
    request.now,
    request.limit,
    types.map(([type]) => type),
    types.map(([, room]) => room),
    runIds,
  ]
}

/** What a claim without limits got. */
export interface OpenClaim {
  /** Limits or tickets are to be looked at first, and nothing was claimed. */
  readonly isLimited: boolean
  /** Due Jobs are to be made ready first, and nothing was claimed. */
  readonly isDue: boolean
  readonly rows: readonly OpenStartedRow[]
  /** How many of the Jobs that were chosen another took or changed at the same time. */
  readonly lost: number
  /** What the same statement has ended. */
  readonly ended: EndedRow
}

/** The ids of the Runs do not come back: whoever asked has them. */
export function readOpenClaim(answered: readonly OpenClaimRow[], runIds: readonly string[]): OpenClaim {
  const whole = JSON.parse(answered[0]?.whole ?? '{}') as Partial<Whole>
  const rows = answered.flatMap((row, index) =>
    // In place: there are many, and nobody else has them.
    row.seq === null
      ? []
      : [Object.assign(row, { run_id: runIds[index] as string, type: whole.types?.[row.lane_id] ?? '' })],
  )
  return {
    isLimited: whole.is_limited ?? false,
    isDue: whole.is_due ?? false,
    rows,
    lost: (whole.expected ?? 0) - rows.length,
    ended: { ended: whole.ended ?? null, xid: whole.xid ?? null },
  }
}
