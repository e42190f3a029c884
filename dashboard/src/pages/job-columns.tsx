import type { Job } from '../api/things.ts'
import { shortId } from '../parts/copy.tsx'
import { Badge, lookOfJob, Tags } from '../parts/state.tsx'
import type { Column } from '../parts/table.tsx'
import { Ago, Took } from '../parts/time.tsx'
import { href } from '../route.ts'

export function jobName(job: Pick<Job, 'name' | 'job_type'>): string {
  return job.name ?? job.job_type
}

/** All that a list of jobs can show. The first two are always there. */
export const JOB_COLUMNS: readonly Column<Job>[] = [
  {
    key: 'job',
    head: 'Job',
    class: 'lead',
    cell: (job) => (
      <span class="main-cell">
        <a class="clip" href={href('jobs', job.job_id)}>
          {jobName(job)}
        </a>
        <span class="under clip mono">
          {job.name === null ? '' : `${job.job_type} · `}
          {shortId(job.job_id)}
        </span>
      </span>
    ),
  },
  { key: 'state', head: 'State', class: 'side-cell', cell: (job) => <Badge look={lookOfJob(job)} /> },
  {
    key: 'attempt',
    head: 'Attempt',
    class: 'num',
    cell: (job) => (
      <span class={job.attempt > 1 ? 'tone-warn' : 'faint'}>
        {job.attempt}
        <span class="faint">/{job.retry_policy.max_retries + 1}</span>
      </span>
    ),
  },
  { key: 'priority', head: 'Priority', class: 'num', cell: (job) => job.priority },
  { key: 'tags', head: 'Tags', cell: (job) => <Tags tags={job.tags} /> },
  { key: 'created', head: 'Accepted', class: 'num', cell: (job) => <Ago at={job.created_at} /> },
  {
    key: 'due',
    head: 'Due',
    class: 'num',
    cell: (job) => (job.hold === 'delayed' ? <Ago at={job.run_at} /> : <span class="faint">–</span>),
  },
  {
    key: 'waited',
    head: 'Waited',
    class: 'num',
    cell: (job) => <Took from={job.queued_at} to={job.started_at ?? job.finished_at} />,
  },
  { key: 'took', head: 'Ran', class: 'num', cell: (job) => <Took from={job.started_at} to={job.finished_at} /> },
  { key: 'ended', head: 'Ended', class: 'num', cell: (job) => <Ago at={job.finished_at} /> },
  { key: 'by', head: 'By', cell: (job) => <span class="clip">{job.created_by ?? '–'}</span> },
]

export const DEFAULT_COLUMNS = ['attempt', 'tags', 'created', 'waited', 'took']
