import type { Command } from 'commander'
import { BULK_STATUSES } from '../../domain/bulk-operation.ts'
import { type BulkOptions, changeMany, isBulk, withBulkOptions } from '../bulk.ts'
import { choice } from '../choice.ts'
import type { Cli } from '../cli.ts'
import { usageError } from '../cli-error.ts'
import { readDuration } from '../duration.ts'
import { type JobFilterOptions, readJobFilter, withJobFilter } from '../job-filter.ts'
import { examples } from '../output/help.ts'
import { jobColumns, jobLine, printJob } from '../output/jobs.ts'
import { type PageOptions, printPage, readPages, withPageOptions } from '../output/list.ts'
import { printLogs } from '../print-logs.ts'
import { collect, given, readInstantOption, readWholeOption, readWordOption } from '../read-options.ts'
import { readParams } from '../read-params.ts'

const JOB = 'the id of the job, in full'
const JOBS = 'the ids of the jobs, in full'

export function register(program: Command, cli: Cli): void {
  const jobs = program
    .command('jobs')
    .description('list jobs, look at them, and steer them')
    .addHelpText(
      'after',
      examples([
        ['pawl jobs list --status QUEUED', 'the queue, the next job first'],
        ['pawl jobs show <job>', 'everything about one job'],
        ['pawl jobs cancel <job> --abort', 'cancel a job, also while it runs'],
      ]),
    )
  registerReading(jobs, cli)
  registerSteering(jobs, cli)
}

function registerReading(jobs: Command, cli: Cli): void {
  withJobFilter(withPageOptions(jobs.command('list').alias('ls')))
    .description('list jobs, newest first; with --status QUEUED in the order of the queue')
    .addHelpText(
      'after',
      examples([
        ['pawl jobs list --type story --limit 10', 'the ten newest of one type'],
        ["pawl jobs list --outcome FAILED --error 'no space'", 'those that failed for one reason'],
        ['pawl jobs list --status FINISHED --all --json', 'all that have ended, for a program'],
      ]),
    )
    .action((options: ListOptions) => list(cli, options))

  jobs
    .command('show')
    .description('show one job: its run, its other attempts, its params, its error')
    .argument('<job>', JOB)
    .addHelpText('after', examples([['pawl jobs show 01975bb0-7c1e-7d6a-9d0c-3f6f8e0f9a41', 'one job']]))
    .action((jobId: string) => show(cli, jobId))

  jobs
    .command('logs')
    .description('print what the handler logged, and what its child process printed')
    .argument('<job>', JOB)
    .option('-f, --follow', 'go on until the job has ended (with --json: one line of JSON each)')
    .addHelpText(
      'after',
      examples([
        ['pawl jobs logs <job>', 'what was logged so far'],
        ['pawl jobs logs <job> --follow', 'also what comes'],
      ]),
    )
    .action((jobId: string, options: { follow?: boolean }) => logs(cli, jobId, options))
}

function registerSteering(jobs: Command, cli: Cli): void {
  withJobFilter(withBulkOptions(jobs.command('cancel')), BULK_STATUSES.cancel)
    .description('cancel the live jobs of chains; those that run finish, but are not retried')
    .argument('[job...]', JOBS)
    .option('--abort', 'also interrupt what runs')
    .option('--reason <text>', 'why, for the record')
    .addHelpText(
      'after',
      examples([
        ["pawl jobs cancel <job> --abort --reason 'wrong genre'", 'stop it now'],
        ['pawl jobs cancel --all --type story --status QUEUED --dry-run', 'how many would be cancelled'],
      ]),
    )
    .action((jobIds: string[], options: CancelOptions) => cancel(cli, jobIds, options))

  jobs
    .command('move')
    .description('change the place of a queued job')
    .argument('<job>', JOB)
    .addOption(choice('--to <end>', 'front or back of its priority', ['front', 'back']))
    .option('--before <job>', 'right before this one')
    .option('--after <job>', 'right after this one')
    .addHelpText(
      'after',
      examples([
        ['pawl jobs move <job> --to front', 'make it the next of its priority'],
        ['pawl jobs move <job> --after <other>', 'put it behind another one'],
      ]),
    )
    .action((jobId: string, options: MoveOptions) => move(cli, jobId, options))

  withJobFilter(withBulkOptions(jobs.command('retry')), BULK_STATUSES.retry)
    .description('try failed or cancelled jobs again; a waiting retry becomes due now')
    .argument('[job...]', JOBS)
    .option('--dependents', 'also jobs that were cancelled because of it')
    .option('--priority <n>', 'with another priority')
    .addHelpText(
      'after',
      examples([
        ['pawl jobs retry <job> --dependents', 'repeat it and what hangs on it'],
        ['pawl jobs retry --all --type story --yes', 'repeat all that failed or were cancelled'],
      ]),
    )
    .action((jobIds: string[], options: RetryOptions) => retry(cli, jobIds, options))

  jobs
    .command('edit')
    .description('change a queued job')
    .argument('<job>', JOB)
    .option('--priority <n>', 'a new priority, last in its place')
    .option('--params <json>', 'new params: JSON, @file, or - for stdin')
    .option('-p, --param <key=value>', 'a new param; all others must be given too', collect)
    .option('--run-at <instant>', 'not before this instant, or `now`')
    .option('--delay <duration>', 'not before so long from now: 10s, 5m, 2h, 90d')
    .addHelpText(
      'after',
      examples([
        ['pawl jobs edit <job> --priority 10', 'make it more urgent'],
        ['pawl jobs edit <job> --delay 2h', 'put it off'],
      ]),
    )
    .action((jobId: string, options: EditOptions) => edit(cli, jobId, options))
}

type ListOptions = PageOptions & JobFilterOptions

async function list(cli: Cli, options: ListOptions): Promise<void> {
  const filter = readJobFilter(options)
  await cli.withClient('read', async (client) => {
    const page = await readPages(cli, options, (query) =>
      client.request('GET /api/jobs', { query: { ...query, ...filter } }),
    )
    const isFiltered = Object.keys(filter).length > 0
    printPage(cli, page, jobColumns(cli), {
      line: isFiltered ? 'No jobs match.' : 'There are no jobs yet.',
      hint: isFiltered ? 'Leave a filter out to see more.' : 'Make one with `pawl enqueue <type>`.',
    })
  })
}

async function show(cli: Cli, jobId: string): Promise<void> {
  const params = { job_id: jobId }
  await cli.withClient('read', async (client) => {
    const job = await client.request('GET /api/jobs/{job_id}', { params })
    if (cli.isJson) return cli.printJson(job)
    const { items } = await client.request('GET /api/jobs/{job_id}/runs', { params, query: {} })
    printJob(cli, job, items[0] ?? null, await client.request('GET /api/jobs/{job_id}/chain', { params }))
  })
}

async function logs(cli: Cli, jobId: string, { follow = false }: { follow?: boolean }): Promise<void> {
  const params = { job_id: jobId }
  await cli.withClient('read', (client) =>
    printLogs(cli, {
      read: (query) => client.request('GET /api/jobs/{job_id}/logs', { params, query }),
      readOutput: (query) => client.request('GET /api/jobs/{job_id}/output', { params, query }),
      isFollowed: follow,
      hasEnded: async () => {
        const { status } = await client.request('GET /api/jobs/{job_id}', { params })
        return status === 'FINISHED' || status === 'CANCELLED'
      },
    }),
  )
}

interface CancelOptions extends BulkOptions {
  readonly abort?: boolean
  readonly reason?: string
}

async function cancel(cli: Cli, jobIds: readonly string[], options: CancelOptions): Promise<void> {
  const { abort = false, reason } = options
  const body = given({ mode: abort ? ('abort' as const) : undefined, reason })
  if (isBulk(jobIds, options)) return changeMany(cli, { kind: 'cancel', ...body }, jobIds, options)
  const [jobId = ''] = jobIds
  await cli.withClient('change', async (client) => {
    const job = await client.request('POST /api/jobs/{job_id}/cancel', { params: { job_id: jobId }, body })
    if (cli.isJson) return cli.printJson(job)
    cli.print(jobLine(cli, job))
    if (job.status === 'RUNNING') {
      cli.print(
        abort ? 'It runs, and is being interrupted.' : 'It runs to its end, and is not retried. --abort interrupts it.',
      )
    }
  })
}

interface MoveOptions {
  readonly to?: string
  readonly before?: string
  readonly after?: string
}

async function move(cli: Cli, jobId: string, { to, before, after }: MoveOptions): Promise<void> {
  if ([to, before, after].filter((place) => place !== undefined).length !== 1) {
    throw usageError('Expected exactly one of --to front|back, --before <job> and --after <job>.')
  }
  const body = given({ to: readWordOption(to, ['front', 'back'], '--to'), before, after })
  await cli.withClient('change', async (client) => {
    const job = await client.request('POST /api/jobs/{job_id}/move', { params: { job_id: jobId }, body })
    if (cli.isJson) return cli.printJson(job)
    cli.print(`${jobLine(cli, job)} Priority ${job.priority}, position ${job.position}.`)
  })
}

interface RetryOptions extends BulkOptions {
  readonly dependents?: boolean
  readonly priority?: string
}

async function retry(cli: Cli, jobIds: readonly string[], options: RetryOptions): Promise<void> {
  const { dependents, priority } = options
  if (isBulk(jobIds, options)) {
    if (dependents === true || priority !== undefined) {
      throw usageError('Expected --dependents and --priority with one job only.')
    }
    return changeMany(cli, { kind: 'retry' }, jobIds, options)
  }
  const [jobId = ''] = jobIds
  const body = given({ dependents, priority: readWholeOption(priority, '--priority') })
  await cli.withClient('change', async (client) => {
    const job = await client.request('POST /api/jobs/{job_id}/retry', { params: { job_id: jobId }, body })
    if (cli.isJson) return cli.printJson(job)
    cli.print(jobLine(cli, job))
  })
}

interface EditOptions {
  readonly priority?: string
  readonly params?: string
  readonly param?: readonly string[]
  readonly runAt?: string
  readonly delay?: string
}

async function edit(cli: Cli, jobId: string, options: EditOptions): Promise<void> {
  const body = given({
    priority: readWholeOption(options.priority, '--priority'),
    params: await readParams(cli, options),
    run_at: options.runAt === 'now' && options.delay === undefined ? null : readStart(cli, options),
  })
  if (Object.keys(body).length === 0) {
    throw usageError('Expected something to change: --priority, --params, -p, --run-at or --delay.')
  }
  await cli.withClient('change', async (client) => {
    const job = await client.request('PATCH /api/jobs/{job_id}', { params: { job_id: jobId }, body })
    if (cli.isJson) return cli.printJson(job)
    cli.print(jobLine(cli, job))
  })
}

/** `--run-at` or `--delay`, not both. */
export function readStart(
  cli: Cli,
  { runAt, delay }: { readonly runAt?: string; readonly delay?: string },
): string | undefined {
  if (runAt !== undefined && delay !== undefined) throw usageError('Expected --run-at or --delay, got both.')
  if (delay !== undefined) return new Date(cli.clock.now() + readDuration(delay, '--delay')).toISOString()
  return readInstantOption(runAt, '--run-at')
}
