// The last part of the life whose statements are explained: somebody looks whether all of it was right, and mends it.
import type { StoreSource } from 'pawl'
import { DERIVED } from 'pawl/store'
import type { SettableClock } from 'pawl/testing'
import { expect } from 'vitest'
import { withHandle } from './stage.ts'

type Store = Awaited<ReturnType<StoreSource['open']>>

/** What only a person with SQL can do: each leads to a statement that is executed only then. */
const HARM = [
  'update pawl_queue set position = position + 1 where seq = (select min(seq) from pawl_queue)',
  'update pawl_queue set awaits_predecessor = 1 where seq = (select max(seq) from pawl_queue)',
  "insert into pawl_groups (group_id, mode, on_failure, total, created_at) values ('empty', 'parallel', 'stop', 1, 1)",
  "insert into pawl_job_tags values ('nothing', 999999)",
  "insert into pawl_business_keys values ('nobody', 'nothing')",
]

/** Kinds of rows of which none may be left after pruning. */
const LEFT_OVER = [
  `insert into pawl_reservations (reservation_id, lane_id, policy_id, status, caller_seq, created_at, renewed_at, ended_at, params)
   select 'over', lane_id, policy_id, 'RELEASED', (select max(node_seq) from pawl_nodes), 1, 1, 1, 'null'
   from pawl_jobs
   limit 1`,
  `insert into pawl_deliveries (delivery_id, job_seq, event, will_retry, status, endpoint, last_attempt_at, created_at)
   select 'over', seq, 'job.settled', 0, 'DELIVERED', 'nobody', 1, 1
   from pawl_jobs
   limit 1`,
]

export async function examineAndMend(source: StoreSource, clock: SettableClock, path: string): Promise<void> {
  const store = await source.open()
  const now = clock.now()
  change(path, LEFT_OVER)
  expect(await findFaults(store, now)).toEqual([])
  await store.readVitals(now)
  change(path, HARM)
  expect(new Set(await findFaults(store, now))).toEqual(new Set(['I8', 'I10', 'I12', 'I13', 'tags']))
  for (const what of DERIVED) await store.rebuild(what, now)
  expect(await findFaults(store, now)).toEqual([])
  await store.close()
}

function change(path: string, statements: readonly string[]): void {
  withHandle(path, (handle) => {
    for (const sql of statements) handle.exec(sql)
  })
}

async function findFaults(store: Store, now: number): Promise<string[]> {
  const checked = await store.checkInvariants(now)
  return checked.flatMap(({ invariant, findings }) =>
    findings.filter(({ severity }) => severity === 'fault').map(() => invariant),
  )
}
