/**
 * What makes and connects Jobs, and what tells the world: templates, schedules, direct execution, dependencies, groups and
 * webhooks. docs/sqlite-schema.md describes each table.
 */
export const triggersAndComposition = {
  version: 2,
  name: 'triggers-and-composition',
  sql: `
alter table pawl_jobs add column template_id text;
alter table pawl_jobs add column schedule_id text;
-- The slot for which the schedule made it; null when somebody triggered it by hand.
alter table pawl_jobs add column slot_at integer;
alter table pawl_jobs add column group_id text;
-- How many parents its chain has: nothing needs to be looked up for a Job that has none.
alter table pawl_jobs add column parents integer not null default 0;
alter table pawl_jobs add column webhook_url text;
-- The chain whose failure cancelled it.
alter table pawl_jobs add column cancelled_for text;

-- Whatever crashes or races, a slot makes at most one Job. Retries keep their slot.
create unique index pawl_jobs_slot on pawl_jobs (schedule_id, slot_at) where slot_at is not null and retry_of is null;
create index pawl_jobs_schedule on pawl_jobs (schedule_id, seq) where schedule_id is not null;
create index pawl_jobs_template on pawl_jobs (template_id, seq) where template_id is not null;
create index pawl_jobs_group on pawl_jobs (group_id, seq) where group_id is not null;

-- Parents for which it waits. As long as there are any, it is neither ready nor due.
alter table pawl_queue add column unmet_parents integer not null default 0;
drop index pawl_queue_due;
create index pawl_queue_due on pawl_queue (run_at) where ready = 0 and awaits_predecessor = 0 and unmet_parents = 0;

-- 1: it claims Jobs. 0: it is stopped, or only waits for a direct execution.
alter table pawl_nodes add column claims integer not null default 1;

-- Which chain waits for which. Both are numbered by their first Job.
create table pawl_dependencies (
  child_seq integer not null references pawl_jobs,
  -- The Job that was named, any of the parent's chain.
  parent_id text not null,
  -- No foreign key: an ended parent may be pruned before its ended children.
  parent_seq integer not null,
  -- In which order the parents were named.
  place integer not null,
  -- 1: the order of a sequential group. 0: somebody named the parent.
  of_group integer not null default 0,
  on_failure text not null check (on_failure = 'cancel' or on_failure = 'run' or on_failure = 'wait'),
  -- 0: the child waits for it. 1: it is met. 2: the child gave up waiting, because it was cancelled. 3: it was met, and the
  -- child's chain has settled.
  met integer not null default 0,
  primary key (child_seq, parent_id)
) strict, without rowid;

create index pawl_dependencies_parent on pawl_dependencies (parent_seq, met, child_seq);

-- Members are counted here when their chains settle, so that the status of a group costs the same with 100,000 of them.
create table pawl_groups (
  group_id text primary key,
  name text,
  mode text not null check (mode = 'parallel' or mode = 'sequential'),
  on_failure text not null check (on_failure = 'stop' or on_failure = 'continue' or on_failure = 'skip'),
  created_by text,
  total integer not null,
  completed integer not null default 0,
  failed integer not null default 0,
  skipped integer not null default 0,
  cancelled integer not null default 0,
  -- 1: the members that had not started were stopped or skipped already.
  stopped integer not null default 0,
  created_at integer not null,
  started_at integer,
  finished_at integer,
  cancel_requested_at integer,
  cancel_reason text
) strict, without rowid;

-- Orders to release, cancel or skip many dependents or members, carried out page by page.
create table pawl_cascades (
  cascade_seq integer primary key autoincrement,
  kind text not null,
  -- The chain or the group that it goes out from.
  subject text not null,
  mode text,
  reason text,
  -- Where the last page ended.
  cursor integer not null default 0,
  created_at integer not null
) strict;

create index pawl_cascades_subject on pawl_cascades (subject);

create table pawl_templates (
  template_id text primary key,
  name text not null,
  type text not null,
  default_params text not null,
  -- Null: as the type says.
  retry text,
  timeout text,
  description text,
  revision integer not null default 1,
  created_at integer not null,
  updated_at integer not null,
  archived_at integer
) strict, without rowid;

create table pawl_schedules (
  schedule_id text primary key,
  -- Under which name a program declares it at each of its starts. Null: it was made once, by hand or by a program.
  declared_as text,
  name text not null,
  -- One of the two.
  template_id text,
  type text,
  params text not null,
  -- One of the two.
  cron text,
  every_ms integer,
  -- Intervals are counted from here.
  anchor_at integer not null,
  timezone text not null,
  missed text not null check (missed = 'one' or missed = 'all' or missed = 'none'),
  overlap text not null check (overlap = 'allow' or overlap = 'skip' or overlap = 'queue-one'),
  priority integer not null,
  tags text,
  business_key text,
  enabled integer not null,
  disabled_reason text,
  -- Every change and every slot makes a new one: whoever decided on an older one has lost.
  revision integer not null default 1,
  created_at integer not null,
  updated_at integer not null,
  -- Slots not after this one never fire.
  last_slot_at integer not null,
  -- Null: it has no further slot, or it is disabled.
  next_slot_at integer,
  last_triggered_at integer,
  -- When next_slot_at was computed: later than now after the clock was set back.
  planned_at integer not null
) strict, without rowid;

create unique index pawl_schedules_declared on pawl_schedules (declared_as) where declared_as is not null;
create index pawl_schedules_due on pawl_schedules (next_slot_at) where next_slot_at is not null;
create index pawl_schedules_planned on pawl_schedules (planned_at) where enabled = 1;

-- Slots that made no Job, and why. A row may stand for many that were missed together.
create table pawl_skipped_slots (
  skip_seq integer primary key,
  schedule_id text not null,
  first_slot_at integer not null,
  last_slot_at integer not null,
  -- Null: more than was worth counting.
  slots integer,
  reason text not null,
  at integer not null
) strict;

create index pawl_skipped_slots_schedule on pawl_skipped_slots (schedule_id, skip_seq);

-- The live chains of each schedule, numbered by their first Job.
create table pawl_scheduled_chains (
  schedule_id text not null,
  chain_seq integer not null,
  primary key (schedule_id, chain_seq)
) strict, without rowid;

-- Direct executions: a ticket that waits, then the record of what came of it.
create table pawl_reservations (
  reservation_seq integer primary key autoincrement,
  reservation_id text not null unique,
  lane_id integer not null references pawl_lanes,
  policy_id integer not null references pawl_policies,
  status text not null check (status = 'WAITING' or status = 'RUNNING' or status = 'RELEASED' or status = 'EXPIRED'),
  caller_seq integer not null references pawl_nodes,
  node_seq integer references pawl_nodes,
  created_by text,
  created_at integer not null,
  renewed_at integer not null,
  started_at integer,
  ended_at integer,
  outcome text,
  reason text,
  error text,
  result text,
  params text not null
) strict;

create index pawl_reservations_waiting on pawl_reservations (lane_id, reservation_seq, renewed_at)
  where status = 'WAITING';
create index pawl_reservations_running on pawl_reservations (reservation_seq) where status = 'RUNNING';

-- Bodies of direct executions that execute right now.
create table pawl_direct_occupancies (
  reservation_seq integer primary key references pawl_reservations,
  node_seq integer not null references pawl_nodes,
  lane_id integer not null references pawl_lanes,
  child text
) strict;

create table pawl_webhooks (
  webhook_seq integer primary key autoincrement,
  webhook_id text not null unique,
  name text,
  url text not null,
  -- JSON lists; null: all.
  events text,
  job_types text,
  secret text not null,
  previous_secret text,
  previous_secret_until integer,
  enabled integer not null,
  disabled_reason text,
  revision integer not null default 1,
  created_at integer not null,
  updated_at integer not null,
  deleted_at integer
) strict;

create index pawl_webhooks_live on pawl_webhooks (webhook_seq) where deleted_at is null;

-- What was to be told to whom. The text itself is made when it is sent.
create table pawl_deliveries (
  delivery_seq integer primary key autoincrement,
  delivery_id text not null unique,
  -- Null: the Job's own webhook_url.
  webhook_seq integer references pawl_webhooks,
  job_seq integer not null references pawl_jobs,
  event text not null,
  will_retry integer not null,
  status text not null check (status = 'PENDING' or status = 'DELIVERED' or status = 'FAILED'),
  attempts integer not null default 0,
  -- Deliveries to one endpoint wait for each other, never for those to another: the webhook's id, or the origin of the Job's URL.
  endpoint text not null,
  next_attempt_at integer,
  -- The node that sends it right now, and until when it has the word.
  sender_seq integer references pawl_nodes,
  leased_until integer,
  last_attempt_at integer,
  last_status_code integer,
  last_error text,
  latency_ms integer,
  response_excerpt text,
  created_at integer not null
) strict;

create index pawl_deliveries_due on pawl_deliveries (endpoint, next_attempt_at, delivery_seq) where status = 'PENDING';
create index pawl_deliveries_next on pawl_deliveries (next_attempt_at) where status = 'PENDING';
create index pawl_deliveries_sender on pawl_deliveries (sender_seq) where sender_seq is not null;
create index pawl_deliveries_webhook on pawl_deliveries (webhook_seq, delivery_seq);
create index pawl_deliveries_failed on pawl_deliveries (webhook_seq, delivery_seq) where status = 'FAILED';
create index pawl_deliveries_job on pawl_deliveries (job_seq);

-- Secrets of the store itself: 'webhooks' signs deliveries to the webhook_url of a Job.
create table pawl_secrets (
  name text primary key,
  secret text not null,
  previous_secret text,
  previous_secret_until integer
) strict, without rowid;

drop view pawl_jobs_readable;
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
  j.business_key, j.idempotency_key, j.created_by, j.template_id, j.schedule_id, j.group_id, q.unmet_parents, j.webhook_url,
  strftime('%Y-%m-%dT%H:%M:%fZ', j.slot_at / 1000.0, 'unixepoch') as slot_at,
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

drop view pawl_nodes_readable;
create view pawl_nodes_readable as
select n.node_id, n.name, n.host, n.pid, n.types, n.concurrency, n.claims,
  strftime('%Y-%m-%dT%H:%M:%fZ', n.started_at / 1000.0, 'unixepoch') as started_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', n.ended_at / 1000.0, 'unixepoch') as ended_at,
  (select count(*) from pawl_occupancies o where o.node_seq = n.node_seq)
    + (select count(*) from pawl_direct_occupancies d where d.node_seq = n.node_seq) as bodies
from pawl_nodes n;

create view pawl_groups_readable as
select group_id, name, mode, on_failure,
  case
    when finished_at is null and started_at is null and completed + failed + skipped + cancelled = 0
      and not exists (select 1 from pawl_cascades c where c.subject = group_id) then 'QUEUED'
    when finished_at is null then 'RUNNING'
    when completed + skipped = total then 'COMPLETED'
    when cancel_requested_at is not null then 'CANCELLED'
    else 'PARTIAL'
  end as status,
  total, completed, failed, skipped, cancelled,
  strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') as created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch') as started_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', finished_at / 1000.0, 'unixepoch') as finished_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', cancel_requested_at / 1000.0, 'unixepoch') as cancel_requested_at
from pawl_groups;

create view pawl_schedules_readable as
select schedule_id, name, template_id, type, params, cron, every_ms, timezone, missed, overlap, enabled, disabled_reason,
  strftime('%Y-%m-%dT%H:%M:%fZ', last_slot_at / 1000.0, 'unixepoch') as last_slot_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', next_slot_at / 1000.0, 'unixepoch') as next_slot_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', last_triggered_at / 1000.0, 'unixepoch') as last_triggered_at
from pawl_schedules;

create view pawl_reservations_readable as
select s.reservation_id, l.type as job_type, s.status, s.outcome, s.reason, s.error, s.params, s.result,
  c.name as caller, n.name as node, s.created_by,
  strftime('%Y-%m-%dT%H:%M:%fZ', s.created_at / 1000.0, 'unixepoch') as created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', s.renewed_at / 1000.0, 'unixepoch') as renewed_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', s.started_at / 1000.0, 'unixepoch') as started_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', s.ended_at / 1000.0, 'unixepoch') as ended_at
from pawl_reservations s
join pawl_lanes l using (lane_id)
join pawl_nodes c on c.node_seq = s.caller_seq
left join pawl_nodes n on n.node_seq = s.node_seq;

create view pawl_deliveries_readable as
select d.delivery_id, w.webhook_id, j.job_id, d.event, d.will_retry, d.status, d.attempts, d.endpoint, d.last_status_code,
  d.last_error, d.latency_ms,
  strftime('%Y-%m-%dT%H:%M:%fZ', d.next_attempt_at / 1000.0, 'unixepoch') as next_attempt_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', d.last_attempt_at / 1000.0, 'unixepoch') as last_attempt_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', d.created_at / 1000.0, 'unixepoch') as created_at
from pawl_deliveries d
join pawl_jobs j on j.seq = d.job_seq
left join pawl_webhooks w using (webhook_seq);
`,
} as const
