// The latest statistics are kept by the minute. A row tells what ended since it began: within a minute, or, once those of its hour
// were added up, within the hour.
export const minutes = {
  version: 5,
  name: 'minutes',
  sql: `
drop view pawl_statistics_readable;

alter table pawl_statistics rename column hour_at to began_at;

create view pawl_statistics_readable as
select strftime('%Y-%m-%dT%H:%M:%SZ', (s.began_at - s.began_at % 3600000) / 1000.0, 'unixepoch') as hour, n.name as node,
  sum(s.executed) as executed, sum(s.completed) as completed, sum(s.failed) as failed, sum(s.skipped) as skipped,
  sum(s.cancelled) as cancelled, sum(s.run_ms) as run_ms, sum(s.wait_ms) as wait_ms
from pawl_statistics s
left join pawl_nodes n using (node_seq)
group by s.began_at - s.began_at % 3600000, s.node_seq;
`,
} as const
