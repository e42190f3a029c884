/** For people: what belongs together in one row, with times as timestamps. docs/postgres-schema.md describes them. */
export const readableViews = {
  version: 3,
  name: 'readable-views',
  sql: `
create view pawl.jobs_readable as
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
  to_timestamp(j.slot_at / 1000.0) as slot_at,
  to_timestamp(j.created_at / 1000.0) as created_at,
  to_timestamp(j.run_at / 1000.0) as run_at,
  to_timestamp(r.started_at / 1000.0) as started_at,
  to_timestamp(coalesce(r.finished_at, j.cancelled_at) / 1000.0) as finished_at,
  to_timestamp(j.cancel_requested_at / 1000.0) as cancel_requested_at,
  j.cancel_mode, j.cancel_reason
from pawl.jobs j
join pawl.lanes l using (lane_id)
join pawl.policies p using (policy_id)
left join pawl.queue q using (priority, position, created_at, seq)
left join pawl.runs r using (seq);

create view pawl.runs_readable as
select r.run_id, j.job_id, coalesce(j.chain_id, j.job_id) as chain_id, l.type as job_type, j.attempt, r.status, r.reason,
  to_timestamp(r.started_at / 1000.0) as started_at,
  to_timestamp(r.finished_at / 1000.0) as finished_at,
  r.finished_at - r.started_at as duration_ms,
  j.params as params_snapshot, r.result, r.error, r.exit_code, r.will_retry, r.artifacts, r.log_path, r.progress,
  r.progress_message, n.name as node, n.node_id
from pawl.runs r
join pawl.jobs j using (seq)
join pawl.lanes l using (lane_id)
join pawl.nodes n using (node_seq);

create view pawl.events_readable as
select e.seq, to_timestamp((g.value ->> 1)::bigint / 1000.0) as at, g.value ->> 0 as event,
  j.job_id, coalesce(j.chain_id, j.job_id) as chain_id, l.type as job_type, j.attempt, g.value ->> 2 as outcome,
  g.value ->> 3 as reason
from pawl.events e
cross join lateral json_array_elements(e.transitions::json) g
cross join lateral json_array_elements_text(g.value -> 4) s
join pawl.jobs j on j.seq = s.value::bigint
join pawl.lanes l using (lane_id);

create view pawl.nodes_readable as
select n.node_id, n.name, n.host, n.pid, n.types, n.concurrency, n.claims,
  to_timestamp(n.started_at / 1000.0) as started_at,
  to_timestamp(n.ended_at / 1000.0) as ended_at,
  l.beat_at,
  (select count(*) from pawl.occupancies o where o.node_seq = n.node_seq)
    + (select count(*) from pawl.direct_occupancies d where d.node_seq = n.node_seq) as bodies
from pawl.nodes n
left join pawl.lives l using (node_id);

create view pawl.groups_readable as
select g.group_id, g.name, g.mode, g.on_failure,
  case
    when g.finished_at is null and g.started_at is null and g.completed + g.failed + g.skipped + g.cancelled = 0
      and not exists (select from pawl.cascades c where c.subject = g.group_id) then 'QUEUED'
    when g.finished_at is null then 'RUNNING'
    when g.completed + g.skipped = g.total then 'COMPLETED'
    when g.cancel_requested_at is not null then 'CANCELLED'
    else 'PARTIAL'
  end as status,
  g.total, g.completed, g.failed, g.skipped, g.cancelled,
  to_timestamp(g.created_at / 1000.0) as created_at,
  to_timestamp(g.started_at / 1000.0) as started_at,
  to_timestamp(g.finished_at / 1000.0) as finished_at,
  to_timestamp(g.cancel_requested_at / 1000.0) as cancel_requested_at
from pawl.groups g;

create view pawl.schedules_readable as
select schedule_id, name, template_id, type, params, cron, every_ms, timezone, missed, overlap, enabled, disabled_reason,
  to_timestamp(last_slot_at / 1000.0) as last_slot_at,
  to_timestamp(next_slot_at / 1000.0) as next_slot_at,
  to_timestamp(last_triggered_at / 1000.0) as last_triggered_at
from pawl.schedules;

create view pawl.reservations_readable as
select s.reservation_id, l.type as job_type, s.status, s.outcome, s.reason, s.error, s.params, s.result,
  c.name as caller, n.name as node, s.created_by,
  to_timestamp(s.created_at / 1000.0) as created_at,
  to_timestamp(s.renewed_at / 1000.0) as renewed_at,
  to_timestamp(s.started_at / 1000.0) as started_at,
  to_timestamp(s.ended_at / 1000.0) as ended_at
from pawl.reservations s
join pawl.lanes l using (lane_id)
join pawl.nodes c on c.node_seq = s.caller_seq
left join pawl.nodes n on n.node_seq = s.node_seq;

create view pawl.deliveries_readable as
select d.delivery_id, w.webhook_id, j.job_id, d.event, d.will_retry, d.status, d.attempts, d.endpoint, d.last_status_code,
  d.last_error, d.latency_ms,
  to_timestamp(d.next_attempt_at / 1000.0) as next_attempt_at,
  to_timestamp(d.last_attempt_at / 1000.0) as last_attempt_at,
  to_timestamp(d.created_at / 1000.0) as created_at
from pawl.deliveries d
join pawl.jobs j on j.seq = d.job_seq
left join pawl.webhooks w using (webhook_seq);

create view pawl.api_keys_readable as
select key_id, name, role, prefix, created_by,
  to_timestamp(created_at / 1000.0) as created_at,
  to_timestamp(expires_at / 1000.0) as expires_at,
  to_timestamp(revoked_at / 1000.0) as revoked_at
from pawl.api_keys;

create view pawl.audit_readable as
select audit_seq, to_timestamp(at / 1000.0) as at, actor, action, subject, others, details
from pawl.audit;

create view pawl.statistics_readable as
select to_timestamp(s.hour_at / 1000.0) as hour, n.name as node, s.executed, s.completed, s.failed, s.skipped, s.cancelled,
  s.run_ms, s.wait_ms
from pawl.statistics s
left join pawl.nodes n using (node_seq);
`,
} as const
