import type { NewGroup } from '../../../store/groups.ts'
import type { Connection } from '../connection.ts'

const INSERT_GROUP = `
insert into pawl.groups (group_id, name, mode, on_failure, created_by, total, created_at)
values ($1, $2, $3, $4, $5, $6, $7)`

/** Before its members, because one of them may settle at once. */
export async function insertGroup(connection: Connection, group: NewGroup, total: number, now: number): Promise<void> {
  const { groupId, name, mode, onFailure, createdBy } = group
  await connection.run(INSERT_GROUP, groupId, name, mode, onFailure, createdBy, total, now)
}
