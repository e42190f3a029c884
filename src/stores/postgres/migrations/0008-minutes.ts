// The latest statistics are kept by the minute. A row tells what ended since it began: within a minute, or, once those of its hour
// were added up, within the hour.
export const minutes = {
  version: 8,
  name: 'minutes',
  sql: `
drop view pawl.statistics_readable;

alter table pawl.statistics rename column hour_at to began_at;

create view pawl.statistics_readable as
select to_timestamp((s.began_at - s.began_at % 3600000) / 1000.0) as hour, n.name as node,
  sum(s.executed)::bigint as executed, sum(s.completed)::bigint as completed, sum(s.failed)::bigint as failed,
  sum(s.skipped)::bigint as skipped, sum(s.cancelled)::bigint as cancelled, sum(s.run_ms)::bigint as run_ms,
  sum(s.wait_ms)::bigint as wait_ms
from pawl.statistics s
left join pawl.nodes n using (node_seq)
group by s.began_at - s.began_at % 3600000, s.node_seq, n.name;
`,
} as const
