/**
 * The kernel: Jobs, their Runs, and what executes them. docs/sqlite-schema.md describes each table for people who query
 * it with plain SQL. Times are epoch milliseconds; the `…_readable` views show them as text.
 */
export const kernel = {
  version: 1,
  name: 'kernel',
  sql: `
create table pawl_types (
  type text primary key,
  policy text not null,
  registered_at integer not null
) strict, without rowid;

create table pawl_limits (
  name text primary key,
  max integer not null check (max >= 0)
) strict, without rowid;

-- A lane is one combination of type and resources: Jobs of one lane can start under the same conditions.
create table pawl_lanes (
  lane_id integer primary key,
  type text not null,
  resources text not null,
  unique (type, resources)
) strict;

-- Retry policy, timeout and resources of Jobs, each distinct one kept once.
create table pawl_policies (
  policy_id integer primary key,
  body text not null unique
) strict;

create table pawl_jobs (
  seq integer primary key,
  job_id text not null unique,
  lane_id integer not null references pawl_lanes,
  policy_id integer not null references pawl_policies,
  status text not null check (status in ('QUEUED', 'RUNNING', 'CANCELLED', 'FINISHED')),
  -- 1: QUEUED, and nothing but limits keeps it from starting.
  ready integer not null check (ready = 0 or status = 'QUEUED'),
  awaits_predecessor integer not null default 0,
  priority integer not null,
  position integer not null,
  run_at integer not null,
  created_at integer not null,
  started_at integer,
  finished_at integer,
  outcome text check (outcome in ('COMPLETED', 'FAILED', 'SKIPPED')),
  attempt integer not null default 1,
  -- Null in the first Job of a chain: the chain has that Job's id.
  chain_id text,
  retry_of text,
  error_retries integer not null default 0,
  crash_retries integer not null default 0,
  shutdown_retries integer not null default 0,
  cancel_requested_at integer,
  cancel_mode text,
  cancel_reason text,
  name text,
  tags text,
  created_by text,
  business_key text,
  idempotency_key text,
  params text not null
) strict;

-- The heads of the queue: each lane in order, without what is delayed or waiting.
create index pawl_jobs_ready on pawl_jobs (lane_id, priority desc, position, created_at) where ready = 1;
-- The whole queue in order, for new positions and moves.
create index pawl_jobs_order on pawl_jobs (priority desc, position, created_at) where status = 'QUEUED';
create index pawl_jobs_due on pawl_jobs (run_at) where status = 'QUEUED' and ready = 0 and awaits_predecessor = 0;
create index pawl_jobs_running on pawl_jobs (priority, position) where status = 'RUNNING';
create unique index pawl_jobs_retry_of on pawl_jobs (retry_of) where retry_of is not null;
create index pawl_jobs_chain on pawl_jobs (chain_id, attempt) where chain_id is not null;

create table pawl_nodes (
  node_seq integer primary key,
  node_id text not null unique,
  name text not null,
  host text not null,
  pid integer not null,
  types text not null,
  concurrency integer not null,
  started_at integer not null,
  ended_at integer
) strict;

create index pawl_nodes_live on pawl_nodes (node_seq) where ended_at is null;

-- A Run has the number of its Job, so a Job can have at most one.
create table pawl_runs (
  seq integer primary key references pawl_jobs,
  run_id text not null unique,
  node_seq integer not null references pawl_nodes,
  status text check (status in ('COMPLETED', 'FAILED', 'SKIPPED')),
  reason text,
  started_at integer not null,
  finished_at integer,
  -- The node that ended it, when it is not the one that executed it.
  finished_by integer references pawl_nodes,
  will_retry integer not null default 0,
  exit_code integer,
  result text,
  error text,
  stack text,
  artifacts text,
  log_path text,
  progress real,
  progress_message text,
  log_lines integer not null default 0,
  logs_dropped integer not null default 0
) strict;

create index pawl_runs_retried on pawl_runs (seq) where will_retry = 1;

create table pawl_occupancies (
  seq integer primary key references pawl_runs,
  node_seq integer not null references pawl_nodes,
  lane_id integer not null references pawl_lanes,
  child text
) strict;

create table pawl_run_logs (
  seq integer not null references pawl_runs,
  line integer not null,
  at integer not null,
  level text not null,
  text text not null,
  fields text,
  primary key (seq, line)
) strict, without rowid;

create table pawl_business_keys (
  business_key text primary key,
  chain_id text not null
) strict, without rowid;

create table pawl_idempotency_keys (
  idempotency_key text primary key,
  job_id text not null,
  fingerprint text not null,
  created_at integer not null
) strict, without rowid;

create table pawl_events (
  seq integer primary key autoincrement,
  at integer not null,
  transitions text not null
) strict;

create view pawl_jobs_readable as
select j.job_id, l.type as job_type, j.name, j.status, j.outcome, j.priority, j.position, j.attempt,
  coalesce(j.chain_id, j.job_id) as chain_id, j.retry_of, j.params, l.resources, p.body as policy, j.tags,
  j.business_key, j.idempotency_key, j.created_by,
  strftime('%Y-%m-%dT%H:%M:%fZ', j.created_at / 1000.0, 'unixepoch') as created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', j.run_at / 1000.0, 'unixepoch') as run_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', j.started_at / 1000.0, 'unixepoch') as started_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', j.finished_at / 1000.0, 'unixepoch') as finished_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', j.cancel_requested_at / 1000.0, 'unixepoch') as cancel_requested_at,
  j.cancel_mode, j.cancel_reason
from pawl_jobs j
join pawl_lanes l using (lane_id)
join pawl_policies p using (policy_id);

create view pawl_runs_readable as
select r.run_id, j.job_id, coalesce(j.chain_id, j.job_id) as chain_id, l.type as job_type, j.attempt, r.status, r.reason,
  strftime('%Y-%m-%dT%H:%M:%fZ', r.started_at / 1000.0, 'unixepoch') as started_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', r.finished_at / 1000.0, 'unixepoch') as finished_at,
  r.finished_at - r.started_at as duration_ms,
  j.params as params_snapshot, r.result, r.error, r.exit_code, r.will_retry, r.artifacts, r.log_path, r.progress,
  r.progress_message, n.name as node, n.node_id
from pawl_runs r
join pawl_jobs j using (seq)
join pawl_lanes l using (lane_id)
join pawl_nodes n using (node_seq);

create view pawl_events_readable as
select e.seq, strftime('%Y-%m-%dT%H:%M:%fZ', t.value ->> 9 / 1000.0, 'unixepoch') as at, t.value ->> 0 as event,
  t.value ->> 1 as job_id, t.value ->> 2 as run_id, coalesce(t.value ->> 3, t.value ->> 1) as chain_id,
  t.value ->> 4 as job_type, t.value ->> 5 as status, t.value ->> 6 as outcome, t.value ->> 7 as reason,
  t.value ->> 8 as attempt
from pawl_events e, json_each(e.transitions) t;

create view pawl_nodes_readable as
select n.node_id, n.name, n.host, n.pid, n.types, n.concurrency,
  strftime('%Y-%m-%dT%H:%M:%fZ', n.started_at / 1000.0, 'unixepoch') as started_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', n.ended_at / 1000.0, 'unixepoch') as ended_at,
  (select count(*) from pawl_occupancies o where o.node_seq = n.node_seq) as bodies
from pawl_nodes n;
`,
} as const
