import type { JobPolicy } from '../../../domain/job.ts'
import type { TypeRecord } from '../../../store/maintenance.ts'
import { readPolicy } from '../../shared/read-policy.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

const UPSERT_TYPE = `
insert into pawl_types (type, policy, registered_at)
values (?, ?, ?)
on conflict (type) do update
set policy = excluded.policy, registered_at = excluded.registered_at
where policy <> excluded.policy`

export function registerTypes(transaction: Transaction, types: readonly TypeRecord[], now: number): void {
  for (const { type, policy } of types) transaction.connection.run(UPSERT_TYPE, type, JSON.stringify(policy), now)
}

const SELECT_TYPES = 'select type, policy from pawl_types order by type'

export function findTypes(connection: Connection): TypeRecord[] {
  return connection
    .all<{ type: string; policy: string }>(SELECT_TYPES)
    .map((row) => ({ type: row.type, policy: policyOf(row.type, row.policy) }))
}

function policyOf(type: string, text: string): JobPolicy {
  const advice = 'Start a node that handles it: it writes the policy anew.'
  return readPolicy(text, `The stored policy of type \`${type}\` is damaged. ${advice}`, { type })
}
