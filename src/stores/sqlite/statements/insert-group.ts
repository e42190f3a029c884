import type { NewGroup } from '../../../store/groups.ts'
import type { Connection } from '../connection.ts'

const INSERT_GROUP = `
insert into pawl_groups (group_id, name, mode, on_failure, created_by, total, created_at)
values (?, ?, ?, ?, ?, ?, ?)`

/** Before its members, because one of them may settle at once. */
export function insertGroup(connection: Connection, group: NewGroup, total: number, now: number): void {
  const { groupId, name, mode, onFailure, createdBy } = group
  connection.run(INSERT_GROUP, groupId, name, mode, onFailure, createdBy, total, now)
}
