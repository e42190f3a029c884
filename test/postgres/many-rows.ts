import type { Client } from 'pg'

/** Fills an empty schema of Pawl with so many finished and so many queued Jobs, and what belongs to them. */
export async function fillSchema(client: Client, schema: string, count: number): Promise<void> {
  for (const statement of STATEMENTS) {
    await client.query(statement.replaceAll('pawl.', `"${schema}".`).replaceAll(':count', String(count)))
  }
  // Not all there is: tables of other tests that are empty just now would count as such when they are filled.
  const { rows } = await client.query('select tablename from pg_tables where schemaname = $1', [schema])
  await client.query(`analyze ${rows.map(({ tablename }) => `"${schema}"."${tablename}"`).join(', ')}`)
}

const JOB_ID = (seq: string) => `'job' || lpad((${seq})::text, 9, '0')`

const POLICY =
  '{"retry":{"maxRetries":3,"maxCrashRetries":3,"backoff":{"kind":"none"}},"timeoutMs":null,"resources":[]}'

// Each kind of Job is told by its number: the first half has finished, the second is queued. Of the finished, every 20th is
// the retry of the one before it, and every 33rd was cancelled before it ran.
const STATEMENTS: readonly string[] = [
  `insert into pawl.lanes (type, resources)
   select 'type' || n / 2, case when n % 2 = 0 then '[]' else '["gpu"]' end
   from generate_series(0, 19) n`,
  `insert into pawl.policies (body, digest) values ('${POLICY}', sha256('${POLICY}'))`,
  `insert into pawl.nodes (node_id, name, host, pid, types, concurrency, claims, started_at, ended_at)
   select 'node' || n, 'n', 'h', 1, '["type0"]', 10, n <= 5, 1, case when n > 5 then 2 end
   from generate_series(1, 2000) n`,
  `insert into pawl.jobs (
     seq, job_id, lane_id, policy_id, priority, position, run_at, created_at, attempt, chain_id, retry_of, cancelled_at,
     tags, schedule_id, slot_at, template_id, group_id, parents, awaited, business_key, idempotency_key, params
   )
   select n, ${JOB_ID('n')}, 1 + n % 20, 1, case when n % 50 = 0 then 5 else 0 end, 100 * n, 1000000 + n, 1000000 + n,
     case when is_retry then 2 else 1 end, case when is_retry then ${JOB_ID('n - 1')} end,
     case when is_retry then ${JOB_ID('n - 1')} end, case when n % 33 = 0 and n <= :count then 1000500 + n end,
     case when n % 10 = 3 then '["tag' || n / 10 % 100 || '"]' end, case when n % 20 = 5 then 'schedule' || n / 20 % 50 end,
     case when n % 20 = 5 then 1000000 + n end, case when n % 20 = 6 then 'template' || n / 20 % 50 end,
     case when n % 20 = 7 then 'group' || n / 20 % (:count / 1000) end, case when n % 20 = 9 then 1 else 0 end, n % 20 = 8,
     case when n % 20 = 11 then 'b' || n end, case when n % 20 = 12 then 'i' || n end, '{"n":' || n || '}'
   from (select n, n % 20 = 0 and n <= :count as is_retry from generate_series(1, 2 * :count) n) numbers`,
  `select setval('pawl.job_seq', 2 * :count)`,
  `insert into pawl.job_tags select 'tag' || seq / 10 % 100, seq from pawl.jobs where tags is not null`,
  `insert into pawl.runs (seq, run_id, node_seq, status, reason, started_at, finished_at, will_retry, result)
   select n, 'run' || n, 1 + n % 5,
     case when n % 20 = 19 then 'FAILED' when n % 77 = 0 then 'SKIPPED' else 'COMPLETED' end,
     case when n % 20 = 19 then 'error' end, 1000100 + n, 1000200 + n, n % 20 = 19, case when n % 20 <> 19 then '1' end
   from generate_series(1, :count) n
   where n % 33 <> 0`,
  `insert into pawl.uncompleted_runs
   select status, started_at, seq, will_retry from pawl.runs where status in ('FAILED', 'SKIPPED')`,
  `insert into pawl.run_logs
   select n, line, 1, 'info', 'text' from generate_series(1, :count, 3) n, generate_series(1, 2) line`,
  `insert into pawl.queue (seq, position, created_at, run_at, priority, lane_id, unmet_parents, ready, awaits_predecessor)
   select seq, position, created_at, run_at, priority, lane_id, parents, parents = 0 and seq % 4 <> 0, false
   from pawl.jobs
   where seq > :count`,
  `insert into pawl.dependencies
   select n, ${JOB_ID('n - 1')}, n - 1, 0, false, 'cancel', case when n > :count then 0 else 3 end
   from generate_series(1, 2 * :count) n
   where n % 20 = 9`,
  `insert into pawl.groups (group_id, mode, on_failure, total, completed, created_at)
   select 'group' || n, 'parallel', 'continue', 100, 50, 1 from generate_series(0, :count / 1000 - 1) n`,
  `insert into pawl.events select n, 0, n, '[]' from generate_series(1, :count) n`,
  `insert into pawl.webhooks (webhook_id, url, secret, enabled, created_at, updated_at)
   select 'webhook' || n, 'u', 's', true, 1, 1 from generate_series(1, 10) n`,
  `insert into pawl.deliveries (
     delivery_id, webhook_seq, job_seq, event, will_retry, status, endpoint, next_attempt_at, created_at
   )
   select 'd' || n, 1 + n % 10, n, 'job.run.completed', false,
     case when n % 7 = 0 then 'PENDING' when n % 7 = 1 then 'FAILED' else 'DELIVERED' end, 'webhook' || 1 + n % 10,
     case when n % 7 = 0 then n end, n
   from generate_series(1, :count / 2) n`,
  `insert into pawl.audit (at, actor, action, subject)
   select n, 'actor' || n % 10, 'job.cancel', ${JOB_ID('n')} from generate_series(1, :count / 2) n`,
  `insert into pawl.operations (operation_id, kind, filter, status, matched, is_capped, last_seq, created_at, updated_at, ended_at)
   select 'o' || lpad(n::text, 9, '0'), 'cancel', '{}', case when n % 1000 = 0 then 'RUNNING' else 'COMPLETED' end, 0, 0, 0, n, n,
     case when n % 1000 <> 0 then n end
   from generate_series(1, :count / 10) n`,
  `insert into pawl.business_keys
   select business_key, job_id from pawl.jobs where business_key is not null and seq > :count`,
  `insert into pawl.idempotency_keys
   select idempotency_key, job_id, 'f', created_at from pawl.jobs where idempotency_key is not null`,
  `insert into pawl.reservations (
     reservation_id, lane_id, policy_id, status, caller_seq, created_at, renewed_at, ended_at, params
   )
   select 'r' || n, 1, 1, 'RELEASED', 1, n, n, n, 'null' from generate_series(1, :count / 5) n`,
  `insert into pawl.scheduled_chains
   select schedule_id, seq from pawl.jobs where schedule_id is not null and seq > :count`,
]
