import type { JobPolicy } from '../../../domain/job.ts'
import type { TypeRecord } from '../../../store/maintenance.ts'
import { readPolicy } from '../../shared/read-policy.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

// As many rows as are new or have another policy. In the order of their names, so that nodes that start at once wait for
// each other in turn and never in a circle.
const UPSERT_TYPES = `
insert into pawl.types as t (type, policy, registered_at)
select type, policy, $3
from unnest($1::text[], $2::text[]) as given (type, policy)
order by type collate "C"
on conflict (type) do update
set policy = excluded.policy, registered_at = excluded.registered_at
where t.policy <> excluded.policy`

export async function registerTypes(
  { connection }: Transaction,
  types: readonly TypeRecord[],
  now: number,
): Promise<void> {
  // Of one that is named twice the last counts: a statement cannot write the same row twice.
  const policies = new Map(types.map(({ type, policy }) => [type, JSON.stringify(policy)]))
  if (policies.size > 0) await connection.run(UPSERT_TYPES, [...policies.keys()], [...policies.values()], now)
}

const SELECT_TYPES = 'select type, policy from pawl.types order by type'

export async function findTypes(connection: Connection): Promise<TypeRecord[]> {
  const rows = await connection.all<{ type: string; policy: string }>(SELECT_TYPES)
  return rows.map((row) => ({ type: row.type, policy: policyOf(row.type, row.policy) }))
}

function policyOf(type: string, text: string): JobPolicy {
  const advice = 'Start a node that handles it: it writes the policy anew.'
  return readPolicy(text, `The stored policy of type \`${type}\` is damaged. ${advice}`, { type })
}
