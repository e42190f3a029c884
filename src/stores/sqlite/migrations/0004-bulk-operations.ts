/** Orders to cancel or retry many Jobs, and what they need to find them. docs/sqlite-schema.md describes the table. */
export const bulkOperations = {
  version: 4,
  name: 'bulk-operations',
  sql: `
-- Carried out in pages by any node; how far it came is written with each page.
create table pawl_operations (
  operation_id text not null primary key,
  kind text not null check (kind = 'cancel' or kind = 'retry'),
  -- JSON: what its Jobs must match, or which they are.
  filter text,
  job_ids text,
  mode text,
  reason text,
  created_by text,
  status text not null default 'RUNNING' check (status = 'RUNNING' or status = 'COMPLETED' or status = 'ABORTED'),
  matched integer not null,
  -- 1: there may be more than matched.
  is_capped integer not null,
  done integer not null default 0,
  changed integer not null default 0,
  skipped integer not null default 0,
  failed integer not null default 0,
  -- JSON: how many were skipped for which reason.
  skip_reasons text not null default '{}',
  -- The highest number of a Job when it began.
  last_seq integer not null,
  pages integer not null default 0,
  -- Where the next page begins: in which of its lists, and behind what.
  walk integer not null default 0,
  cursor text,
  created_at integer not null,
  -- When its last page was applied.
  updated_at integer not null,
  ended_at integer,
  check (done = changed + skipped + failed),
  check ((filter is null) <> (job_ids is null)),
  check ((status = 'RUNNING') = (ended_at is null))
) strict;

create index pawl_operations_status on pawl_operations (status, operation_id);
create index pawl_operations_ended on pawl_operations (ended_at) where ended_at is not null;

-- What failed, newest Job first.
create index pawl_runs_failed_newest on pawl_runs (seq) where status = 'FAILED';

create view pawl_operations_readable as
select operation_id, kind, filter, job_ids, mode, reason, created_by, status, matched, is_capped, done, changed, skipped,
  failed, skip_reasons,
  strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') as created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', updated_at / 1000.0, 'unixepoch') as updated_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch') as ended_at
from pawl_operations;
`,
} as const
