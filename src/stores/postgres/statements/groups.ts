import type { Group } from '../../../domain/group.ts'
import type { GroupFilter, GroupStore, NewGroup } from '../../../store/groups.ts'
import type { EnqueueResult, NewJob, Page } from '../../../store/jobs.ts'
import { type GroupRow, toGroup } from '../../shared/group-rows.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { carryOutCascades, conclude, NOBODY } from './cascades.ts'
import { enqueueMembers } from './enqueue.ts'
import { readGroups } from './members.ts'

export function createGroup(
  transaction: Transaction,
  group: NewGroup,
  members: readonly NewJob[],
  now: number,
): Promise<EnqueueResult> {
  return enqueueMembers(transaction, members, group, now)
}

const SELECT_IS_SETTLED = 'select finished_at is not null as is_settled from pawl.groups where group_id = $1'

// 1 row: ordered. 0 rows: it has settled. The first time and reason stand.
const WISH_CANCEL = `
update pawl.groups
set cancel_requested_at = coalesce(cancel_requested_at, $1), cancel_reason = coalesce(cancel_reason, $2), stopped = true
where group_id = $3 and finished_at is null`

/**
 * The members come before the row of the group, which whoever ends one of them needs too, and has last. A member that is not
 * reached here, because they are many, and ends before this commits, may still leave a retry: the stored order finds it.
 */
export async function cancelGroup(
  transaction: Transaction,
  request: Parameters<GroupStore['cancelGroup']>[0],
): Promise<'requested' | 'ended' | 'not-found'> {
  const { connection } = transaction
  const { groupId, mode, reason, now } = request
  const found = await connection.get<{ is_settled: boolean }>(SELECT_IS_SETTLED, groupId)
  if (found === undefined) return 'not-found'
  if (found.is_settled) return 'ended'
  await readGroups(transaction, [groupId])
  const group = transaction.groups.get(groupId)
  // Members that end in here are cancelled as members of a cancelled group, and stop nobody.
  if (group !== undefined) group.isStopped = true
  transaction.cascades.push({ kind: 'cancel', subject: groupId, mode, reason: reason ?? 'the group was cancelled' })
  await carryOutCascades(transaction, NOBODY, now)
  const isOrdered = (await connection.run(WISH_CANCEL, now, reason, groupId)) === 1
  await conclude(transaction, now)
  return isOrdered ? 'requested' : 'ended'
}

// Members that execute are counted from the occupancies: as many rows as bodies execute right now.
const GROUP_COLUMNS = `
  g.group_id, g.name, g.mode, g.on_failure, g.created_by, g.total, g.completed, g.failed, g.skipped, g.cancelled,
  g.created_at, g.started_at, g.finished_at, g.cancel_requested_at, g.cancel_reason,
  exists (select 1 from pawl.cascades c where c.subject = g.group_id)::integer as has_cascade,
  case when g.finished_at is null then (
    select count(*)
    from pawl.occupancies o
    join pawl.runs r on r.seq = o.seq
    join pawl.jobs j on j.seq = o.seq
    where r.status is null and j.group_id = g.group_id
  ) else 0 end as running`

const SELECT_GROUP = `
select ${GROUP_COLUMNS}
from pawl.groups g
where g.group_id = $1`

export async function findGroup(connection: Connection, groupId: string): Promise<Group | null> {
  const row = await connection.get<GroupRow>(SELECT_GROUP, groupId)
  return row === undefined ? null : toGroup(row)
}

// One row per group that is live no more.
const SELECT_SETTLED = `
select given.group_id
from unnest($1::text[]) with ordinality as given (group_id, place)
where not exists (select 1 from pawl.groups g where g.group_id = given.group_id and g.finished_at is null)
order by given.place`

export async function findSettledGroups(connection: Connection, groupIds: readonly string[]): Promise<string[]> {
  const rows = await connection.all<{ group_id: string }>(SELECT_SETTLED, groupIds)
  return rows.map(({ group_id }) => group_id)
}

const SELECT_GROUPS = `
select ${GROUP_COLUMNS}
from pawl.groups g
order by g.group_id desc
limit $1`

const SELECT_GROUPS_BEFORE = `
select ${GROUP_COLUMNS}
from pawl.groups g
where g.group_id < $1
order by g.group_id desc
limit $2`

/** Ids grow with time, so newest first is by id. A cursor is the last id of the page before. */
export async function listGroups(connection: Connection, { limit, cursor }: GroupFilter): Promise<Page<Group>> {
  const rows =
    cursor == null
      ? await connection.all<GroupRow>(SELECT_GROUPS, limit)
      : await connection.all<GroupRow>(SELECT_GROUPS_BEFORE, cursor, limit)
  return {
    items: rows.map(toGroup),
    nextCursor: rows.length === limit ? (rows[rows.length - 1]?.group_id ?? null) : null,
  }
}
