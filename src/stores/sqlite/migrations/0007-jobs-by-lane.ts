// Jobs of one type, newest first, were an index of pawl_jobs: one more page in each commit that accepts a Job. In a table of its own
// they are entered many at a time. Those that are not entered yet are the last few Jobs, and are read from pawl_jobs itself.
export const jobsByLane = {
  version: 7,
  name: 'jobs-by-lane',
  sql: `
-- The Jobs of each lane up to the number 'last_lane_job' of pawl_counters.
create table pawl_lane_jobs (
  lane_id integer not null,
  -- No foreign key: it would need one more index. Pruning a Job removes its row.
  seq integer not null,
  primary key (lane_id, seq)
) strict, without rowid;

insert into pawl_lane_jobs (lane_id, seq)
select lane_id, seq
from pawl_jobs
order by lane_id, seq;

insert into pawl_counters (name, value)
select 'last_lane_job', coalesce(max(seq), 0)
from pawl_jobs;

drop index pawl_jobs_lane;
`,
} as const
