import type { Transaction } from '../transaction.ts'
import { IS_MISCOUNTED, RECOUNT_OF_MEMBERS } from './checks/groups.ts'

const SELECT_MISCOUNTED_GROUPS = `
select g.group_id
from pawl.groups g
where ${IS_MISCOUNTED}
order by g.group_id`

// Whoever settles a member counts it under this lock: what is committed is counted, what is not will be.
const LOCK_GROUP = 'select group_id from pawl.groups where group_id = $1 for update'

// 1 row, unless it is right by now, or members of a settled group were pruned: then it cannot be counted any more.
const RECOUNT_GROUP = `
update pawl.groups g
set (total, completed, failed, skipped, cancelled) =
    (select m.total, m.completed, m.failed, m.skipped, m.cancelled from (${RECOUNT_OF_MEMBERS}) as m)
where g.group_id = $1
  and ${IS_MISCOUNTED}
  and (g.finished_at is null or g.total <= (select m.total from (${RECOUNT_OF_MEMBERS}) as m))`

const SETTLE_GROUP = `
update pawl.groups
set finished_at = case when completed + failed + skipped + cancelled = total then coalesce(finished_at, $1::bigint) end
where group_id = $2
returning finished_at`

const DROP_CASCADES = 'delete from pawl.cascades where subject = $1'

export async function recountGroups(transaction: Transaction, now: number): Promise<number> {
  const { connection } = transaction
  let recounted = 0
  for (const { group_id: groupId } of await connection.all<{ group_id: string }>(SELECT_MISCOUNTED_GROUPS)) {
    await connection.get(LOCK_GROUP, groupId)
    if ((await connection.run(RECOUNT_GROUP, groupId)) === 0) continue
    recounted++
    const row = await connection.runReturning<{ finished_at: number | null }>(SETTLE_GROUP, now, groupId)
    if (row === undefined || row.finished_at === null) continue
    await connection.run(DROP_CASCADES, groupId)
    transaction.stirs.add('groups')
    transaction.settledGroups.add(groupId)
  }
  return recounted
}
