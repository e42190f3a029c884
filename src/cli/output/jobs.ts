import type { Cli } from '../cli.ts'
import type { Chain, Job, Run } from '../wire.ts'
import { type Detail, jsonBlock, printDetails, textBlock } from './details.ts'
import { escapeLine } from './escape.ts'
import { runDetails } from './runs.ts'
import { paintStatus } from './status.ts'
import type { Column } from './table.ts'
import { fullTime, lasted, relativeTime } from './times.ts'

/** `QUEUED (delayed)`, `FINISHED (FAILED)`, `CANCELLED`. */
export function standingOf({ status, hold, outcome }: Job): string {
  const more = hold ?? outcome
  return more === null ? status : `${status} (${more})`
}

export function paintJob(cli: Cli, text: string, job: Job): string {
  return paintStatus(cli.colors, text, job.outcome ?? job.status)
}

/** One line about a Job that was just made or changed. */
export function jobLine(cli: Cli, job: Job): string {
  const times = job.hold === 'delayed' ? `, not before ${fullTime(job.run_at, cli.clock.now())}` : ''
  return `Job ${job.job_id} (${escapeLine(job.job_type)}) is ${paintJob(cli, standingOf(job), job)}${times}.`
}

export function jobColumns(cli: Cli): Column<Job>[] {
  const now = cli.clock.now()
  return [
    { title: 'ID', text: (job) => job.job_id },
    {
      title: 'STATUS',
      // An outcome says by itself that the Job has finished.
      text: (job) => job.outcome ?? standingOf(job),
      paint: (text, job) => paintJob(cli, text, job),
      yields: 1,
      minWidth: 22,
    },
    { title: 'TYPE', text: (job) => job.job_type, yields: 1 },
    { title: 'NAME', text: (job) => job.name, yields: 3 },
    { title: 'PRIO', text: (job) => job.priority, align: 'right', yields: 4, minWidth: 4 },
    { title: 'TRY', text: (job) => job.attempt, align: 'right', yields: 5, minWidth: 3 },
    { title: 'CREATED', text: (job) => relativeTime(job.created_at, now), yields: 2, minWidth: 7 },
  ]
}

/** Everything that a person wants to know of one Job: itself, its Run, and the other attempts. */
export function printJob(cli: Cli, job: Job, run: Run | null, chain: Chain): void {
  printDetails(cli, `Job ${job.job_id}`, jobDetails(cli, job, run))
  if (run !== null) {
    cli.print()
    printDetails(cli, `Run ${run.run_id}`, runDetails(cli, run))
  }
  if (chain.items.length > 1) {
    cli.print()
    cli.print(cli.colors.bold(`Chain ${chain.chain_id}${chain.settled ? `: ${chain.outcome}` : ', not settled yet'}`))
    cli.printTable(jobColumns(cli), chain.items)
  }
}

function jobDetails(cli: Cli, job: Job, run: Run | null): Detail[] {
  const now = cli.clock.now()
  const { retry_policy: retry } = job
  return [
    ['status', standingOf(job)],
    ['type', job.job_type],
    ['name', job.name],
    ['priority', job.priority],
    ['position', job.status === 'QUEUED' ? job.position : null],
    ['attempt', job.attempt],
    ['retry of', job.retry_of],
    ['template', job.template_id],
    ['schedule', job.schedule_id],
    ['slot', fullTime(job.slot_at, now)],
    ['group', job.group_id],
    ['depends on', listed(job.depends_on)],
    ['business key', job.business_key],
    ['idempotency key', job.idempotency_key],
    ['tags', listed(job.tags)],
    ['resources', listed(job.resources)],
    ['timeout', lasted(job.timeout_ms)],
    [
      'retries',
      `${job.error_retries} of ${retry.max_retries}, after crashes ${job.crash_retries} of ${retry.max_crash_retries}`,
    ],
    ['created by', job.created_by],
    ['created', fullTime(job.created_at, now)],
    ['not before', job.run_at === job.created_at ? null : fullTime(job.run_at, now)],
    ['started', run === null ? fullTime(job.started_at, now) : null],
    ['finished', fullTime(job.finished_at, now)],
    ['cancel asked', fullTime(job.cancel_requested_at, now)],
    ['cancel reason', textBlock(job.cancel_reason)],
    ['params', jsonBlock(job.params)],
  ]
}

function listed(texts: readonly string[]): string | null {
  return texts.length === 0 ? null : texts.join(', ')
}
