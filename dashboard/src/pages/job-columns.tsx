import type { Job } from '../api/things.ts'
import { shortId } from '../parts/copy.tsx'
import { Menu } from '../parts/menu.tsx'
import { Badge, lookOfJob, Tags } from '../parts/state.tsx'
import type { Column } from '../parts/table.tsx'
import { Ago, Took } from '../parts/time.tsx'
import { href, queryOf, setQuery } from '../route.ts'

export function jobName(job: Pick<Job, 'name' | 'job_type'>): string {
  return job.name ?? job.job_type
}

/** The attempt that would be the last, if each from now on failed: a retry by hand and a crash give further ones. */
function attemptsMax(job: Job): number {
  return job.attempt + Math.max(0, job.retry_policy.max_retries - job.error_retries)
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
        <span class="faint">/{attemptsMax(job)}</span>
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

const DEFAULT_COLUMNS = ['attempt', 'tags', 'created', 'waited', 'took']
const KEPT_AS = 'pawl.job-columns'

/** What the address says, or else what was chosen here before. */
export function chosenColumns(): readonly Column<Job>[] {
  const named = queryOf('columns') || (localStorage.getItem(KEPT_AS) ?? '')
  const keys = named === '' ? DEFAULT_COLUMNS : named.split('.')
  return JOB_COLUMNS.filter((column, index) => index < 2 || keys.includes(column.key))
}

function toggle(key: string): void {
  const keys = chosenColumns().map((column) => column.key)
  const next = keys.includes(key) ? keys.filter((other) => other !== key) : [...keys, key]
  // `job` is always there: so it says that there is nothing else.
  const named = next.slice(2).join('.') || 'job'
  localStorage.setItem(KEPT_AS, named)
  setQuery({ columns: named })
}

export function ColumnChoice() {
  const keys = chosenColumns().map((column) => column.key)
  return (
    <Menu label="Columns" icon="columns">
      {JOB_COLUMNS.slice(2).map((column) => (
        <label key={column.key}>
          <input type="checkbox" checked={keys.includes(column.key)} onChange={() => toggle(column.key)} />
          {column.head}
        </label>
      ))}
    </Menu>
  )
}
