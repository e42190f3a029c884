/**
 * What people who look at the store from outside need: lists that stay fast by type, tag and outcome, statistics, API
 * keys, and the record of who asked for what. docs/sqlite-schema.md describes each table.
 */
export const doors = {
  version: 3,
  name: 'doors',
  sql: `
-- Jobs of one type, newest first.
create index pawl_jobs_lane on pawl_jobs (lane_id, seq);

-- What of each lane is delayed or waits, in the order of the queue. What is ready stands in pawl_queue_ready.
create index pawl_queue_waiting on pawl_queue (lane_id, priority desc, position, created_at) where ready = 0;

-- Jobs by tag. A Job without tags has no row here.
create table pawl_job_tags (
  tag text not null,
  -- No foreign key: it would need one more index. Pruning a Job removes its rows.
  seq integer not null,
  primary key (tag, seq)
) strict, without rowid;

insert or ignore into pawl_job_tags (tag, seq)
select t.value, j.seq
from pawl_jobs j, json_each(j.tags) t
where j.tags is not null;

-- What people look for is rare among what went well.
create index pawl_runs_failed on pawl_runs (started_at, seq) where status = 'FAILED';
create index pawl_runs_skipped on pawl_runs (started_at, seq) where status = 'SKIPPED';

-- What each node ended within each hour. 0 as the node: nobody's in particular, or many whose hours were added up. 0 as
-- the hour: all hours that were added up because they are long ago.
create table pawl_statistics (
  hour_at integer not null,
  node_seq integer not null,
  executed integer not null default 0,
  completed integer not null default 0,
  failed integer not null default 0,
  skipped integer not null default 0,
  cancelled integer not null default 0,
  run_ms integer not null default 0,
  wait_ms integer not null default 0,
  primary key (hour_at, node_seq)
) strict, without rowid;

insert into pawl_statistics (hour_at, node_seq, executed, completed, failed, skipped, run_ms, wait_ms)
select r.finished_at - r.finished_at % 3600000, 0, count(*), sum(r.status = 'COMPLETED'), sum(r.status = 'FAILED'),
  sum(r.status = 'SKIPPED'), sum(max(0, r.finished_at - r.started_at)), sum(max(0, r.started_at - j.run_at))
from pawl_runs r
join pawl_jobs j using (seq)
where r.status is not null and r.finished_at is not null
group by 1;

insert into pawl_statistics (hour_at, node_seq, cancelled)
select cancelled_at - cancelled_at % 3600000, 0, count(*)
from pawl_jobs
where cancelled_at is not null
group by 1
on conflict (hour_at, node_seq) do update set cancelled = excluded.cancelled;

-- Keys of the HTTP API. The key itself is nowhere: hash is its SHA-256.
create table pawl_api_keys (
  key_seq integer primary key,
  key_id text not null unique,
  name text not null,
  role text not null check (role = 'viewer' or role = 'operator' or role = 'admin'),
  prefix text not null,
  hash text not null unique,
  created_by text,
  created_at integer not null,
  expires_at integer,
  revoked_at integer
) strict;

-- Who asked for which change. Written in the transaction of the change.
create table pawl_audit (
  audit_seq integer primary key autoincrement,
  at integer not null,
  actor text not null,
  action text not null,
  subject text,
  -- How many more things it made than the one that is named.
  others integer not null default 0,
  details text
) strict;

create index pawl_audit_subject on pawl_audit (subject, audit_seq) where subject is not null;
create index pawl_audit_actor on pawl_audit (actor, audit_seq);
-- For pruning: a clock that was set back leaves entries that are not in the order of their instants.
create index pawl_audit_at on pawl_audit (at);

create view pawl_api_keys_readable as
select key_id, name, role, prefix, created_by,
  strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') as created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', expires_at / 1000.0, 'unixepoch') as expires_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', revoked_at / 1000.0, 'unixepoch') as revoked_at
from pawl_api_keys;

create view pawl_audit_readable as
select audit_seq, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') as at, actor, action, subject, others, details
from pawl_audit;

create view pawl_statistics_readable as
select strftime('%Y-%m-%dT%H:%M:%SZ', s.hour_at / 1000.0, 'unixepoch') as hour, n.name as node, s.executed, s.completed,
  s.failed, s.skipped, s.cancelled, s.run_ms, s.wait_ms
from pawl_statistics s
left join pawl_nodes n using (node_seq);
`,
} as const
