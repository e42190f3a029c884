import type { Command } from 'commander'
import type { Client } from '../../client/index.ts'
import type { BodyOf } from '../../client/request.ts'
import { choice } from '../choice.ts'
import type { Cli } from '../cli.ts'
import { usageError } from '../cli-error.ts'
import { readDuration } from '../duration.ts'
import { EXIT } from '../exit-codes.ts'
import { followChain } from '../follow.ts'
import { printDetails } from '../output/details.ts'
import { escapeLine } from '../output/escape.ts'
import { examples } from '../output/help.ts'
import { jobLine, paintJob, standingOf } from '../output/jobs.ts'
import { runDetails } from '../output/runs.ts'
import { readJobList } from '../read-job-list.ts'
import { collect, given, readNamedFile, readWholeOption, readWordOption } from '../read-options.ts'
import { readParams } from '../read-params.ts'
import type { Answered, Chain, Job } from '../wire.ts'
import { readStart } from './jobs.ts'

const ON_PARENT_FAILURE = ['cancel', 'run', 'wait'] as const

export function register(program: Command, cli: Cli): void {
  program
    .command('enqueue')
    .description('accept a job, or many at once')
    .argument('[type]', 'what to execute; not with --template or --file')
    .option(
      '-p, --param <key=value>',
      'one param; JSON where it is JSON, else text; a.b=1 goes into an object',
      collect,
    )
    .option('--params <json>', 'all params: JSON, @file, or - for stdin')
    .option('--template <id>', 'make it of a template; params are laid over its own')
    .option('--name <text>', 'a name for people')
    .option('--priority <n>', 'higher goes first (default: 0)')
    .option('--run-at <instant>', 'not before this instant, such as 2026-11-16T08:00:00Z, or now')
    .option('--delay <duration>', 'not before so long from now: 10s, 5m, 2h, 90d')
    .option('--depends-on <job>', 'only after this job; may be given several times', collect)
    .addOption(choice('--on-parent-failure <what>', 'cancel, run or wait (default: cancel)', ON_PARENT_FAILURE))
    .option('--idempotency-key <key>', 'the same key makes one job, for ever')
    .option('--business-key <key>', 'only one live job with this key at a time')
    .option('--tag <tag>', 'a tag; may be given several times', collect)
    .option('--timeout <duration>', 'how long one execution may take: 10s, 5m, 2h (default: as the type says)')
    .option('--max-retries <n>', 'automatic retries (default: as the type says)')
    .option('--webhook-url <url>', 'tell this address of its end')
    .option('--wait', 'wait until it has ended, retries included; exit 1 if it failed')
    .option('--file <file>', 'many jobs: a JSON list, or one JSON object a line; - for stdin')
    .addHelpText(
      'after',
      examples([
        ['pawl enqueue story -p genre=gothic -p length=800', 'one job'],
        [
          `pawl enqueue story --params '{"genre":"gothic"}' --priority 5 --delay 10m`,
          'urgent, but not before ten minutes',
        ],
        ['pawl enqueue story -p genre=gothic --wait', 'and wait for its result'],
        ['pawl enqueue review --depends-on <job> --on-parent-failure run', 'after another job'],
        ['pawl enqueue --file jobs.json', 'all jobs of a list, or none'],
      ]),
    )
    .action((type: string | undefined, options: EnqueueOptions) => enqueue(cli, type, options))
}

interface EnqueueOptions {
  readonly param?: readonly string[]
  readonly params?: string
  readonly template?: string
  readonly name?: string
  readonly priority?: string
  readonly runAt?: string
  readonly delay?: string
  readonly dependsOn?: string[]
  readonly onParentFailure?: string
  readonly idempotencyKey?: string
  readonly businessKey?: string
  readonly tag?: string[]
  readonly timeout?: string
  readonly maxRetries?: string
  readonly webhookUrl?: string
  readonly wait?: boolean
  readonly file?: string
}

async function enqueue(cli: Cli, type: string | undefined, options: EnqueueOptions): Promise<void> {
  if (options.file !== undefined) return enqueueFile(cli, type, options)
  if ((type === undefined) === (options.template === undefined)) {
    throw usageError('Expected a type or --template, and not both, as in `pawl enqueue story -p genre=gothic`.')
  }
  const body = await readBody(cli, type, options)
  await cli.withClient('create', async (client) => {
    const job = await client.request('POST /api/jobs', { body })
    // One that was pruned has ended long ago, and nobody knows any more how.
    if (options.wait === true && !('pruned' in job)) return waitFor(cli, client, job.job_id)
    if (cli.isJson) return cli.printJson(job)
    cli.print(acceptedLine(cli, job))
  })
}

async function readBody(
  cli: Cli,
  type: string | undefined,
  options: EnqueueOptions,
): Promise<BodyOf<'POST /api/jobs'>> {
  const maxRetries = readWholeOption(options.maxRetries, '--max-retries')
  return given({
    type,
    template_id: options.template,
    params: await readParams(cli, options),
    name: options.name,
    priority: readWholeOption(options.priority, '--priority'),
    run_at: options.runAt === 'now' && options.delay === undefined ? undefined : readStart(cli, options),
    depends_on: options.dependsOn,
    on_parent_failure: readWordOption(options.onParentFailure, ON_PARENT_FAILURE, '--on-parent-failure'),
    idempotency_key: options.idempotencyKey,
    business_key: options.businessKey,
    tags: options.tag,
    timeout_ms: options.timeout === undefined ? undefined : readDuration(options.timeout, '--timeout'),
    retry_policy: maxRetries === undefined ? undefined : { max_retries: maxRetries },
    webhook_url: options.webhookUrl,
  })
}

type Accepted = Answered<'POST /api/jobs'>

function acceptedLine(cli: Cli, job: Accepted): string {
  if (!('pruned' in job)) return jobLine(cli, job)
  return `Job ${job.job_id} had this idempotency key. It has ended, and its history was removed.`
}

/** Waits for the chain's end, and says what came of it. */
async function waitFor(cli: Cli, client: Client, jobId: string): Promise<void> {
  cli.note(cli.errorColors.dim(`Job ${jobId} is accepted; waiting for its end. Ctrl-C stops waiting, not the job.`))
  const chain = await followChain(cli, client, jobId, (now) => tellProgress(cli, now))
  const job = chain.items.at(-1) as Job
  const { items } = await client.request('GET /api/jobs/{job_id}/runs', { params: { job_id: job.job_id }, query: {} })
  const run = items[0] ?? null
  cli.exitCode = chain.outcome === 'COMPLETED' || chain.outcome === 'SKIPPED' ? EXIT.done : EXIT.failed
  if (cli.isJson) {
    const { chain_id, settled, outcome } = chain
    return cli.printJson({ chain_id, settled, outcome, job, run })
  }
  cli.print(jobLine(cli, job))
  if (job.cancel_reason !== null) cli.print(`  ${escapeLine(job.cancel_reason)}`)
  if (run !== null) printDetails(cli, `Run ${run.run_id}`, runDetails(cli, run))
}

function tellProgress(cli: Cli, { items, settled }: Chain): void {
  const job = items.at(-1)
  if (job === undefined || settled) return
  const attempt = job.attempt === 1 ? '' : ` (attempt ${job.attempt})`
  cli.note(cli.errorColors.dim(`${standingOf(job)}${attempt}`))
}

async function enqueueFile(cli: Cli, type: string | undefined, options: EnqueueOptions): Promise<void> {
  const { file = '', ...others } = options
  const other = Object.keys(others).find((name) => name in others)
  if (type !== undefined || other !== undefined) {
    throw usageError('--file takes neither a type nor other options: each job of the list has its own.')
  }
  const jobs = readJobList(await readNamedFile(cli, file, '--file'), file) as BodyOf<'POST /api/jobs/bulk'>['jobs']
  await cli.withClient('create', async (client) => {
    const { items } = await client.request('POST /api/jobs/bulk', { body: { jobs } })
    if (cli.isJson) return cli.printJson({ items, next_cursor: null })
    cli.print(`Accepted ${items.length} ${items.length === 1 ? 'job' : 'jobs'}.`)
    cli.printTable<Accepted>(
      [
        { title: 'ID', text: (job) => job.job_id },
        {
          title: 'STATUS',
          text: (job) => ('pruned' in job ? 'pruned' : standingOf(job)),
          paint: (text, job) => ('pruned' in job ? text : paintJob(cli, text, job)),
          yields: 1,
        },
        { title: 'TYPE', text: (job) => ('pruned' in job ? null : job.job_type), yields: 1 },
      ],
      items,
    )
  })
}
