/** Orders to cancel or retry many Jobs, and what they need to find them. docs/postgres-schema.md describes the table. */
export const bulkOperations = {
  version: 5,
  name: 'bulk-operations',
  sql: `
-- Carried out in pages by any node; how far it came is written with each page.
create table pawl.operations (
  operation_id text collate "C" primary key,
  kind text not null check (kind in ('cancel', 'retry')),
  -- JSON: what its Jobs must match, or which they are.
  filter text,
  job_ids text,
  mode text,
  reason text,
  created_by text,
  status text collate "C" not null default 'RUNNING' check (status in ('RUNNING', 'COMPLETED', 'ABORTED')),
  matched bigint not null,
  -- 1: there may be more than matched.
  is_capped integer not null,
  done bigint not null default 0,
  changed bigint not null default 0,
  skipped bigint not null default 0,
  failed bigint not null default 0,
  -- JSON: how many were skipped for which reason.
  skip_reasons text not null default '{}',
  -- The highest number of a Job when it began.
  last_seq bigint not null,
  pages integer not null default 0,
  -- Where the next page begins: in which of its lists, and behind what.
  walk integer not null default 0,
  cursor text,
  created_at bigint not null,
  -- When its last page was applied.
  updated_at bigint not null,
  ended_at bigint,
  check (done = changed + skipped + failed),
  check ((filter is null) <> (job_ids is null)),
  check ((status = 'RUNNING') = (ended_at is null))
);

create index operations_status on pawl.operations (status, operation_id);
create index operations_ended on pawl.operations (ended_at) where ended_at is not null;

-- What failed, newest Job first.
create index uncompleted_runs_newest on pawl.uncompleted_runs (status, seq);

create view pawl.operations_readable as
select operation_id, kind, filter, job_ids, mode, reason, created_by, status, matched, is_capped, done, changed, skipped,
  failed, skip_reasons,
  to_timestamp(created_at / 1000.0) as created_at,
  to_timestamp(updated_at / 1000.0) as updated_at,
  to_timestamp(ended_at / 1000.0) as ended_at
from pawl.operations;
`,
} as const
