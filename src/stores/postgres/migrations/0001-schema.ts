/**
 * Everything that Pawl keeps on PostgreSQL, in a schema of its own. docs/postgres-schema.md describes each table for people
 * who query it with plain SQL. Times are epoch milliseconds; the `…_readable` views show them as timestamps.
 *
 * Rows that change often are narrow, and what changes in them stands in no index where that can be, so that PostgreSQL
 * updates them in place (HOT). What is queued or executing stands in small tables of its own: the large ones are only ever
 * appended to, and a Run is updated once.
 */
export const schema = {
  version: 1,
  name: 'schema',
  sql: `
create table pawl.types (
  type text collate "C" primary key,
  policy text not null,
  registered_at bigint not null
);

create table pawl.limits (
  name text collate "C" primary key,
  max integer not null check (max >= 0)
);

-- One row for each unit of a limit. A claim locks those that it takes, so two claims never take the same one, and claims
-- under other limits do not wait for each other. A row is free when neither a Job nor a direct execution has it.
create table pawl.permits (
  name text collate "C" not null,
  slot integer not null,
  job_seq bigint,
  reservation_seq bigint,
  primary key (name, slot)
) with (fillfactor = 50);

create index permits_free on pawl.permits (name, slot) where job_seq is null and reservation_seq is null;
create index permits_of_jobs on pawl.permits (job_seq) where job_seq is not null;
create index permits_of_reservations on pawl.permits (reservation_seq) where reservation_seq is not null;

-- A lane is one combination of type and resources: Jobs of one lane can start under the same conditions.
create table pawl.lanes (
  lane_id integer generated always as identity primary key,
  type text collate "C" not null,
  resources text collate "C" not null,
  unique (type, resources)
);

-- Retry policy, timeout and resources of Jobs, each distinct one kept once.
create table pawl.policies (
  policy_id integer generated always as identity primary key,
  body text collate "C" not null,
  -- A body may be longer than an index takes.
  digest bytea not null unique
);

-- Numbers Jobs. A new Job's position is 100 times its number.
create sequence pawl.job_seq cache 1;

-- Jobs. A row is written when the Job is accepted; afterwards only its place, a cancellation and awaited change it. Where
-- it stands is told by the other tables: QUEUED Jobs have a row in pawl.queue, RUNNING ones an open Run.
create table pawl.jobs (
  seq bigint primary key default nextval('pawl.job_seq'),
  job_id text collate "C" not null unique,
  lane_id integer not null,
  policy_id integer not null,
  priority integer not null,
  position bigint not null,
  run_at bigint not null,
  created_at bigint not null,
  attempt integer not null default 1,
  -- Null in the first Job of a chain: the chain has that Job's id.
  chain_id text collate "C",
  retry_of text collate "C",
  error_retries integer not null default 0,
  crash_retries integer not null default 0,
  shutdown_retries integer not null default 0,
  -- Set when it became CANCELLED: before it ran, or because its body was aborted.
  cancelled_at bigint,
  cancel_requested_at bigint,
  cancel_mode text,
  cancel_reason text,
  name text,
  tags text,
  created_by text,
  business_key text,
  idempotency_key text,
  template_id text collate "C",
  schedule_id text collate "C",
  -- The slot for which the schedule made it; null when somebody triggered it by hand.
  slot_at bigint,
  group_id text collate "C",
  -- How many parents its chain has: nothing needs to be looked up for a Job that has none.
  parents integer not null default 0,
  webhook_url text,
  -- The chain whose failure cancelled it.
  cancelled_for text collate "C",
  -- Only in the first Job of a chain: somebody named the chain as a parent.
  awaited boolean not null default false,
  params text not null
) with (fillfactor = 95);

create unique index jobs_retry_of on pawl.jobs (retry_of) where retry_of is not null;
create index jobs_cancelled on pawl.jobs (seq) where cancelled_at is not null;
create index jobs_chain on pawl.jobs (chain_id, attempt) where chain_id is not null;
create index jobs_lane on pawl.jobs (lane_id, seq);
-- Whatever crashes or races, a slot makes at most one Job. Retries keep their slot.
create unique index jobs_slot on pawl.jobs (schedule_id, slot_at) where slot_at is not null and retry_of is null;
create index jobs_schedule on pawl.jobs (schedule_id, seq) where schedule_id is not null;
create index jobs_template on pawl.jobs (template_id, seq) where template_id is not null;
create index jobs_group on pawl.jobs (group_id, seq) where group_id is not null;

-- Jobs by tag. A Job without tags has no row here.
create table pawl.job_tags (
  tag text collate "C" not null,
  seq bigint not null,
  primary key (tag, seq)
);

-- The queue: one narrow row per QUEUED Job, gone when it starts. Priority, position and created_at are those of the Job, so
-- that its row here is found by them.
create table pawl.queue (
  seq bigint not null,
  position bigint not null,
  created_at bigint not null,
  run_at bigint not null,
  priority integer not null,
  lane_id integer not null,
  -- Parents for which it waits. As long as there are any, it is neither ready nor due.
  unmet_parents integer not null default 0,
  -- Nothing but limits keeps it from starting.
  ready boolean not null,
  -- A body of an earlier attempt has not ended yet.
  awaits_predecessor boolean not null default false
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
  -- An empty file would make PostgreSQL plan as if it stayed empty.
  vacuum_truncate = false);

create unique index queue_order on pawl.queue (priority desc, position, created_at, seq);
-- The heads of the queue: each lane in order, without what is delayed or waiting.
create index queue_ready on pawl.queue (lane_id, priority desc, position, created_at, seq) where ready;
create index queue_waiting on pawl.queue (lane_id, priority desc, position, created_at, seq) where not ready;
create index queue_due on pawl.queue (run_at) where not ready and not awaits_predecessor and unmet_parents = 0;

create table pawl.nodes (
  node_seq integer generated always as identity primary key,
  node_id text collate "C" not null unique,
  name text not null,
  host text not null,
  pid integer not null,
  types text not null,
  concurrency integer not null,
  claims boolean not null,
  started_at bigint not null,
  ended_at bigint
);

-- Proofs of life. The number grows as long as the node lives; whoever sees the same one for too long takes it for dead.
create table pawl.lives (
  node_id text collate "C" primary key,
  beat bigint not null,
  -- By the clock of the database, for people; what counts is that the number grows.
  beat_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

create index nodes_live on pawl.nodes (node_seq) where ended_at is null;

-- A Run has the number of its Job, so a Job can have at most one. It is written once and updated once; what the update
-- changes stands in no index, and less than half of each page is filled, so that every row has room for its second version.
-- A page that was filled further would take no less space: updates that do not fit make new entries in every index.
create table pawl.runs (
  seq bigint primary key,
  run_id text collate "C" not null unique,
  node_seq integer not null,
  status text check (status in ('COMPLETED', 'FAILED', 'SKIPPED')),
  reason text,
  started_at bigint not null,
  finished_at bigint,
  -- The node that ended it, when it is not the one that executed it.
  finished_by integer,
  will_retry boolean not null default false,
  exit_code integer,
  result text,
  error text,
  stack text,
  artifacts text,
  log_path text,
  progress double precision,
  progress_message text,
  log_lines integer not null default 0,
  logs_dropped integer not null default 0
) with (fillfactor = 45);

create index runs_started on pawl.runs (started_at, seq);

-- What people look for is rare among what went well: the Runs that ended FAILED or SKIPPED.
create table pawl.uncompleted_runs (
  status text collate "C" not null,
  started_at bigint not null,
  seq bigint not null,
  will_retry boolean not null,
  primary key (status, started_at, seq)
);

create index uncompleted_runs_retried on pawl.uncompleted_runs (seq) where will_retry;

-- Bodies that execute right now, and on which node: as many rows as bodies.
create table pawl.occupancies (
  seq bigint primary key,
  position bigint not null,
  priority integer not null,
  node_seq integer not null,
  lane_id integer not null,
  -- It has rows in pawl.permits.
  has_permits boolean not null default false,
  child text
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
  -- An empty file would make PostgreSQL plan as if it stayed empty.
  vacuum_truncate = false);

create table pawl.run_logs (
  seq bigint not null,
  line integer not null,
  at bigint not null,
  level text not null,
  text text not null,
  fields text,
  primary key (seq, line)
);

create table pawl.business_keys (
  business_key text collate "C" primary key,
  chain_id text collate "C" not null
);

create table pawl.idempotency_keys (
  idempotency_key text collate "C" primary key,
  job_id text collate "C" not null,
  fingerprint text not null,
  created_at bigint not null
);

-- What each commit changed. The number is that of the transaction: a reader that stops before the oldest transaction under
-- way misses nothing. Transitions are stored as groups [event, at, outcome, reason, [seq of the Job, …], …].
create table pawl.events (
  seq bigint not null,
  -- One commit may have several parts: what it accepted, what it ended, what it started.
  part smallint not null,
  at bigint not null,
  transitions text not null,
  primary key (seq, part)
);

-- Which chain waits for which. Both are numbered by their first Job.
create table pawl.dependencies (
  child_seq bigint not null,
  -- The Job that was named, any of the parent's chain.
  parent_id text collate "C" not null,
  parent_seq bigint not null,
  -- In which order the parents were named.
  place integer not null,
  -- It is the order of a sequential group; else somebody named the parent.
  of_group boolean not null default false,
  on_failure text not null check (on_failure in ('cancel', 'run', 'wait')),
  -- 0: the child waits for it. 1: it is met. 2: the child gave up waiting, because it was cancelled. 3: it was met, and the
  -- child's chain has settled.
  met smallint not null default 0,
  primary key (child_seq, parent_id)
);

create index dependencies_parent on pawl.dependencies (parent_seq, met, child_seq);

-- Members are counted here when their chains settle, so that the status of a group costs the same with 100,000 of them.
create table pawl.groups (
  group_id text collate "C" primary key,
  name text,
  mode text not null check (mode in ('parallel', 'sequential')),
  on_failure text not null check (on_failure in ('stop', 'continue', 'skip')),
  created_by text,
  total integer not null,
  completed integer not null default 0,
  failed integer not null default 0,
  skipped integer not null default 0,
  cancelled integer not null default 0,
  -- The members that had not started were stopped or skipped already.
  stopped boolean not null default false,
  created_at bigint not null,
  started_at bigint,
  finished_at bigint,
  cancel_requested_at bigint,
  cancel_reason text
) with (fillfactor = 70);

-- Orders to release, cancel or skip many dependents or members, carried out page by page.
create table pawl.cascades (
  cascade_seq bigint generated always as identity primary key,
  kind text not null,
  -- The chain or the group that it goes out from.
  subject text collate "C" not null,
  mode text,
  reason text,
  -- Where the last page ended.
  cursor bigint not null default 0,
  created_at bigint not null
);

create index cascades_subject on pawl.cascades (subject, cascade_seq);

create table pawl.templates (
  template_id text collate "C" primary key,
  name text not null,
  type text not null,
  default_params text not null,
  -- Null: as the type says.
  retry text,
  timeout text,
  description text,
  revision integer not null default 1,
  created_at bigint not null,
  updated_at bigint not null,
  archived_at bigint
);

create table pawl.schedules (
  schedule_id text collate "C" primary key,
  -- Under which name a program declares it at each of its starts. Null: it was made once, by hand or by a program.
  declared_as text collate "C",
  name text not null,
  -- One of the two.
  template_id text collate "C",
  type text,
  params text not null,
  -- One of the two.
  cron text,
  every_ms bigint,
  -- Intervals are counted from here.
  anchor_at bigint not null,
  timezone text not null,
  missed text not null check (missed in ('one', 'all', 'none')),
  overlap text not null check (overlap in ('allow', 'skip', 'queue-one')),
  priority integer not null,
  tags text,
  business_key text,
  enabled boolean not null,
  disabled_reason text,
  -- Every change and every slot makes a new one: whoever decided on an older one has lost.
  revision integer not null default 1,
  created_at bigint not null,
  updated_at bigint not null,
  -- Slots not after this one never fire.
  last_slot_at bigint not null,
  -- Null: it has no further slot, or it is disabled.
  next_slot_at bigint,
  last_triggered_at bigint,
  -- When next_slot_at was computed: later than now after the clock was set back.
  planned_at bigint not null
);

create unique index schedules_declared on pawl.schedules (declared_as) where declared_as is not null;
create index schedules_due on pawl.schedules (next_slot_at) where next_slot_at is not null;
create index schedules_planned on pawl.schedules (planned_at) where enabled;

-- Slots that made no Job, and why. A row may stand for many that were missed together.
create table pawl.skipped_slots (
  skip_seq bigint generated always as identity primary key,
  schedule_id text collate "C" not null,
  first_slot_at bigint not null,
  last_slot_at bigint not null,
  -- Null: more than was worth counting.
  slots bigint,
  reason text not null,
  at bigint not null
);

create index skipped_slots_schedule on pawl.skipped_slots (schedule_id, skip_seq);

-- The live chains of each schedule, numbered by their first Job.
create table pawl.scheduled_chains (
  schedule_id text collate "C" not null,
  chain_seq bigint not null,
  primary key (schedule_id, chain_seq)
);

-- Direct executions: a ticket that waits, then the record of what came of it.
create table pawl.reservations (
  reservation_seq bigint generated always as identity primary key,
  reservation_id text collate "C" not null unique,
  lane_id integer not null,
  policy_id integer not null,
  status text not null check (status in ('WAITING', 'RUNNING', 'RELEASED', 'EXPIRED')),
  caller_seq integer not null,
  node_seq integer,
  created_by text,
  created_at bigint not null,
  renewed_at bigint not null,
  started_at bigint,
  ended_at bigint,
  outcome text,
  reason text,
  error text,
  result text,
  params text not null
);

create index reservations_waiting on pawl.reservations (lane_id, reservation_seq) where status = 'WAITING';
create index reservations_running on pawl.reservations (reservation_seq) where status = 'RUNNING';

-- Bodies of direct executions that execute right now.
create table pawl.direct_occupancies (
  reservation_seq bigint primary key,
  node_seq integer not null,
  lane_id integer not null,
  child text
);

create table pawl.webhooks (
  webhook_seq integer generated always as identity primary key,
  webhook_id text collate "C" not null unique,
  name text,
  url text not null,
  -- JSON lists; null: all.
  events text,
  job_types text,
  secret text not null,
  previous_secret text,
  previous_secret_until bigint,
  enabled boolean not null,
  disabled_reason text,
  revision integer not null default 1,
  created_at bigint not null,
  updated_at bigint not null,
  deleted_at bigint
);

create index webhooks_live on pawl.webhooks (webhook_seq) where deleted_at is null;

-- What was to be told to whom. The text itself is made when it is sent.
create table pawl.deliveries (
  delivery_seq bigint generated always as identity primary key,
  delivery_id text collate "C" not null unique,
  -- Null: the Job's own webhook_url.
  webhook_seq integer,
  job_seq bigint not null,
  event text not null,
  will_retry boolean not null,
  status text not null check (status in ('PENDING', 'DELIVERED', 'FAILED')),
  attempts integer not null default 0,
  -- Deliveries to one endpoint wait for each other, never for those to another: the webhook's id, or the origin of the Job's URL.
  endpoint text collate "C" not null,
  next_attempt_at bigint,
  -- The node that sends it right now, and until when it has the word.
  sender_seq integer,
  leased_until bigint,
  last_attempt_at bigint,
  last_status_code integer,
  last_error text,
  latency_ms integer,
  response_excerpt text,
  created_at bigint not null
);

create index deliveries_due on pawl.deliveries (endpoint, next_attempt_at, delivery_seq) where status = 'PENDING';
create index deliveries_next on pawl.deliveries (next_attempt_at) where status = 'PENDING';
create index deliveries_sender on pawl.deliveries (sender_seq) where sender_seq is not null;
create index deliveries_webhook on pawl.deliveries (webhook_seq, delivery_seq);
create index deliveries_failed on pawl.deliveries (webhook_seq, delivery_seq) where status = 'FAILED';
create index deliveries_job on pawl.deliveries (job_seq);

-- Secrets of the store itself: 'webhooks' signs deliveries to the webhook_url of a Job.
create table pawl.secrets (
  name text primary key,
  secret text not null,
  previous_secret text,
  previous_secret_until bigint
);

-- What each node ended within each hour. 0 as the node: nobody's in particular, or many whose hours were added up. 0 as
-- the hour: all hours that were added up because they are long ago.
create table pawl.statistics (
  hour_at bigint not null,
  node_seq integer not null,
  executed bigint not null default 0,
  completed bigint not null default 0,
  failed bigint not null default 0,
  skipped bigint not null default 0,
  cancelled bigint not null default 0,
  run_ms bigint not null default 0,
  wait_ms bigint not null default 0,
  primary key (hour_at, node_seq)
) with (fillfactor = 50);

-- Keys of the HTTP API. The key itself is nowhere: hash is its SHA-256.
create table pawl.api_keys (
  key_seq integer generated always as identity primary key,
  key_id text collate "C" not null unique,
  name text not null,
  role text not null check (role in ('viewer', 'operator', 'admin')),
  prefix text not null,
  hash text collate "C" not null unique,
  created_by text,
  created_at bigint not null,
  expires_at bigint,
  revoked_at bigint
);

-- Who asked for which change. Written in the transaction of the change.
create table pawl.audit (
  audit_seq bigint generated always as identity primary key,
  at bigint not null,
  actor text collate "C" not null,
  action text not null,
  subject text collate "C",
  -- How many more things it made than the one that is named.
  others integer not null default 0,
  details text
);

create index audit_subject on pawl.audit (subject, audit_seq) where subject is not null;
create index audit_actor on pawl.audit (actor, audit_seq);
-- For pruning: a clock that was set back leaves entries that are not in the order of their instants.
create index audit_at on pawl.audit (at);

-- For doctor: whoever looks for damage must not fail because of it. What is nested too deeply to be looked at here was
-- checked by who wrote it.
create function pawl.is_json(value text) returns boolean
language plpgsql immutable strict as $$
begin
  perform value::json;
  return true;
exception
  when statement_too_complex then return true;
  when others then return false;
end
$$;
`,
} as const
