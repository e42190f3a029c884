import type { Group } from '../../../domain/group.ts'
import type { GroupFilter, GroupStore, NewGroup } from '../../../store/groups.ts'
import type { EnqueueResult, NewJob, Page } from '../../../store/jobs.ts'
import { type GroupRow, toGroup } from '../../shared/group-rows.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { carryOut, NOBODY } from './cascades.ts'
import { enqueueMembers } from './enqueue.ts'

export function createGroup(
  transaction: Transaction,
  group: NewGroup,
  members: readonly NewJob[],
  now: number,
): EnqueueResult {
  return enqueueMembers(transaction, members, group, now)
}

// 1 row: ordered. 0 rows: it has settled, or there is none. The first time and reason stand.
const WISH_CANCEL = `
update pawl_groups
set cancel_requested_at = coalesce(cancel_requested_at, ?), cancel_reason = coalesce(cancel_reason, ?), stopped = 1
where group_id = ? and finished_at is null`

const EXISTS_GROUP = 'select 1 as found from pawl_groups where group_id = ?'

export function cancelGroup(
  transaction: Transaction,
  request: Parameters<GroupStore['cancelGroup']>[0],
): 'requested' | 'ended' | 'not-found' {
  const { groupId, mode, reason, now } = request
  if (transaction.connection.run(WISH_CANCEL, now, reason, groupId) === 0) {
    return transaction.connection.get(EXISTS_GROUP, groupId) === undefined ? 'not-found' : 'ended'
  }
  transaction.cascades.push({ kind: 'cancel', subject: groupId, mode, reason: reason ?? 'the group was cancelled' })
  carryOut(transaction, NOBODY, now)
  return 'requested'
}

// Members that execute are counted from the occupancies: as many rows as bodies execute right now.
const GROUP_COLUMNS = `
  g.group_id, g.name, g.mode, g.on_failure, g.created_by, g.total, g.completed, g.failed, g.skipped, g.cancelled,
  g.created_at, g.started_at, g.finished_at, g.cancel_requested_at, g.cancel_reason,
  exists (select 1 from pawl_cascades c where c.subject = g.group_id) as has_cascade,
  case when g.finished_at is null then (
    select count(*)
    from pawl_occupancies o
    join pawl_runs r on r.seq = o.seq
    join pawl_jobs j on j.seq = o.seq
    where r.status is null and j.group_id = g.group_id
  ) else 0 end as running`

const SELECT_GROUP = `
select ${GROUP_COLUMNS}
from pawl_groups g
where g.group_id = ?`

export function findGroup(connection: Connection, groupId: string): Group | null {
  const row = connection.get<GroupRow>(SELECT_GROUP, groupId)
  return row === undefined ? null : toGroup(row)
}

// One row per group that is live no more.
const SELECT_SETTLED = `
select value as group_id
from json_each(?)
where not exists (select 1 from pawl_groups where group_id = value and finished_at is null)`

export function findSettledGroups(connection: Connection, groupIds: readonly string[]): string[] {
  return connection.all<{ group_id: string }>(SELECT_SETTLED, JSON.stringify(groupIds)).map(({ group_id }) => group_id)
}

const SELECT_GROUPS = `
select ${GROUP_COLUMNS}
from pawl_groups g
order by g.group_id desc
limit ?`

const SELECT_GROUPS_BEFORE = `
select ${GROUP_COLUMNS}
from pawl_groups g
where g.group_id < ?
order by g.group_id desc
limit ?`

/** Ids grow with time, so newest first is by id. A cursor is the last id of the page before. */
export function listGroups(connection: Connection, { limit, cursor }: GroupFilter): Page<Group> {
  const rows =
    cursor == null
      ? connection.all<GroupRow>(SELECT_GROUPS, limit)
      : connection.all<GroupRow>(SELECT_GROUPS_BEFORE, cursor, limit)
  return {
    items: rows.map(toGroup),
    nextCursor: rows.length === limit ? (rows[rows.length - 1]?.group_id ?? null) : null,
  }
}
