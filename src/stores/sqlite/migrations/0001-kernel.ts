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

-- Numbers that must survive what they were read from: 'last_pruned_job', so that its number is never given again.
create table pawl_counters (
  name text primary key,
  value integer not null
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

-- Jobs. A row is written when the Job is accepted; afterwards only its place and a cancellation change it. Where it
-- stands is told by the other tables: QUEUED Jobs have a row in pawl_queue, RUNNING ones an open Run.
create table pawl_jobs (
  seq integer primary key,
  job_id text not null unique,
  lane_id integer not null references pawl_lanes,
  policy_id integer not null references pawl_policies,
  priority integer not null,
  position integer not null,
  run_at integer not null,
  created_at integer not null,
  attempt integer not null default 1,
  -- Null in the first Job of a chain: the chain has that Job's id.
  chain_id text,
  retry_of text,
  error_retries integer not null default 0,
  crash_retries integer not null default 0,
  shutdown_retries integer not null default 0,
  -- Set when it became CANCELLED: before it ran, or because its body was aborted.
  cancelled_at integer,
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

create unique index pawl_jobs_retry_of on pawl_jobs (retry_of) where retry_of is not null;
create index pawl_jobs_cancelled on pawl_jobs (seq) where cancelled_at is not null;
create index pawl_jobs_chain on pawl_jobs (chain_id, attempt) where chain_id is not null;

-- The queue: one narrow row per QUEUED Job, gone when it starts. It is stored in its own order. Priority, position and
-- created_at are those of the Job, so that its row here is found by them.
create table pawl_queue (
  priority integer not null,
  position integer not null,
  created_at integer not null,
  -- No foreign key: checking it would need one more index, and pruning touches no Job that is queued.
  seq integer not null,
  lane_id integer not null references pawl_lanes,
  -- 1: nothing but limits keeps it from starting.
  ready integer not null,
  -- 1: a body of an earlier attempt has not ended yet.
  awaits_predecessor integer not null,
  run_at integer not null,
  primary key (priority desc, position, created_at, seq)
) strict, without rowid;

-- The heads of the queue: each lane in order, without what is delayed or waiting.
create index pawl_queue_ready on pawl_queue (lane_id, priority desc, position, created_at) where ready = 1;
create index pawl_queue_due on pawl_queue (run_at) where ready = 0 and awaits_predecessor = 0;

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
  -- Written out, because a list of values would be a small table, built anew for each statement.
  status text check (status = 'COMPLETED' or status = 'FAILED' or status = 'SKIPPED'),
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

create index pawl_runs_started on pawl_runs (started_at, seq);
create index pawl_runs_retried on pawl_runs (will_retry) where will_retry = 1;

-- Bodies that execute right now, and on which node: as many rows as bodies.
create table pawl_occupancies (
  seq integer primary key references pawl_runs,
  node_seq integer not null references pawl_nodes,
  lane_id integer not null references pawl_lanes,
  priority integer not null,
  position integer not null,
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

-- One row per commit. Transitions are stored as groups [event, at, outcome, reason, [seq of the Job, …], …].
create table pawl_events (
  seq integer primary key,
  at integer not null,
  transitions text not null
) strict;

create view pawl_jobs_readable as
select j.job_id, l.type as job_type, j.name,
  case
    when j.cancelled_at is not null then 'CANCELLED'
    when q.seq is not null then 'QUEUED'
    when r.status is null then 'RUNNING'
    else 'FINISHED'
  end as status,
  r.status as outcome, j.priority, j.position, j.attempt,
  coalesce(j.chain_id, j.job_id) as chain_id, j.retry_of, j.params, l.resources, p.body as policy, j.tags,
  j.business_key, j.idempotency_key, j.created_by,
  strftime('%Y-%m-%dT%H:%M:%fZ', j.created_at / 1000.0, 'unixepoch') as created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', j.run_at / 1000.0, 'unixepoch') as run_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', r.started_at / 1000.0, 'unixepoch') as started_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(r.finished_at, j.cancelled_at) / 1000.0, 'unixepoch') as finished_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', j.cancel_requested_at / 1000.0, 'unixepoch') as cancel_requested_at,
  j.cancel_mode, j.cancel_reason
from pawl_jobs j
join pawl_lanes l using (lane_id)
join pawl_policies p using (policy_id)
left join pawl_queue q using (priority, position, created_at, seq)
left join pawl_runs r using (seq);

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
select e.seq, strftime('%Y-%m-%dT%H:%M:%fZ', (g.value ->> 1) / 1000.0, 'unixepoch') as at, g.value ->> 0 as event,
  j.job_id, coalesce(j.chain_id, j.job_id) as chain_id, l.type as job_type, j.attempt, g.value ->> 2 as outcome,
  g.value ->> 3 as reason
from pawl_events e, json_each(e.transitions) g, json_each(g.value, '$[4]') s
join pawl_jobs j on j.seq = s.value
join pawl_lanes l using (lane_id);

create view pawl_nodes_readable as
select n.node_id, n.name, n.host, n.pid, n.types, n.concurrency,
  strftime('%Y-%m-%dT%H:%M:%fZ', n.started_at / 1000.0, 'unixepoch') as started_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', n.ended_at / 1000.0, 'unixepoch') as ended_at,
  (select count(*) from pawl_occupancies o where o.node_seq = n.node_seq) as bodies
from pawl_nodes n;
`,
} as const
