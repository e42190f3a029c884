import type { Command } from 'commander'
import { choice } from '../choice.ts'
import type { Cli } from '../cli.ts'
import { printDetails, textBlock } from '../output/details.ts'
import { examples } from '../output/help.ts'
import { jobLine } from '../output/jobs.ts'
import { type PageOptions, printPage, readPages, withPageOptions } from '../output/list.ts'
import { runColumns, runDetails } from '../output/runs.ts'
import { printLogs } from '../print-logs.ts'
import { given, readWholeOption, readWordOption } from '../read-options.ts'

const RUN = 'the id of the run, in full'
const STATUSES = ['COMPLETED', 'FAILED', 'SKIPPED'] as const

export function register(program: Command, cli: Cli): void {
  const runs = program
    .command('runs')
    .description('list executions, and look at them')
    .addHelpText(
      'after',
      examples([
        ['pawl runs list --status FAILED', 'what failed lately'],
        ['pawl runs show <run>', 'one execution: its times, error and result'],
      ]),
    )

  withPageOptions(runs.command('list').alias('ls'))
    .description('list runs, newest first')
    .addOption(choice('--status <status>', `only these: ${STATUSES.join(', ')}`, STATUSES))
    .option('--type <type>', 'only of this type')
    .option('--job <job>', 'only of this job')
    .addHelpText('after', examples([['pawl runs list --status FAILED --type story', 'failures of one type']]))
    .action((options: ListOptions) => list(cli, options))

  runs
    .command('show')
    .description('show one run: its times, its error, its result')
    .argument('<run>', RUN)
    .addHelpText('after', examples([['pawl runs show <run> --json', 'one run, for a program']]))
    .action((runId: string) => show(cli, runId))

  runs
    .command('logs')
    .description('print what the handler logged, and what its child process printed')
    .argument('<run>', RUN)
    .option('-f, --follow', 'go on until the run has ended (with --json: one line of JSON each)')
    .addHelpText('after', examples([['pawl runs logs <run> --follow', 'also what comes']]))
    .action((runId: string, options: { follow?: boolean }) => logs(cli, runId, options))

  runs
    .command('retry')
    .description('try the chain of a failed run again; it must be the last one')
    .argument('<run>', RUN)
    .option('--dependents', 'also jobs that were cancelled because of it')
    .option('--priority <n>', 'with another priority')
    .addHelpText('after', examples([['pawl runs retry <run> --priority 10', 'repeat it, and soon']]))
    .action((runId: string, options: { dependents?: boolean; priority?: string }) => retry(cli, runId, options))
}

interface ListOptions extends PageOptions {
  readonly status?: string
  readonly type?: string
  readonly job?: string
}

async function list(cli: Cli, options: ListOptions): Promise<void> {
  const filter = given({
    status: readWordOption(options.status, STATUSES, '--status'),
    type: options.type,
    job_id: options.job,
  })
  await cli.withClient('read', async (client) => {
    const page = await readPages(cli, options, (query) =>
      client.request('GET /api/job-runs', { query: { ...query, ...filter } }),
    )
    printPage(cli, page, runColumns(cli), {
      line: Object.keys(filter).length > 0 ? 'No runs match.' : 'There are no runs yet.',
      hint: 'Jobs are executed by `pawl serve` and `pawl worker`.',
    })
  })
}

async function show(cli: Cli, runId: string): Promise<void> {
  await cli.withClient('read', async (client) => {
    const run = await client.request('GET /api/job-runs/{run_id}', { params: { run_id: runId } })
    if (cli.isJson) return cli.printJson(run)
    printDetails(cli, `Run ${run.run_id}`, [
      ['job', run.job_id],
      ['type', run.job_type],
      ['chain', run.chain_id],
      ...runDetails(cli, run),
      ['stack', textBlock(run.stack)],
    ])
  })
}

async function logs(cli: Cli, runId: string, { follow = false }: { follow?: boolean }): Promise<void> {
  const params = { run_id: runId }
  await cli.withClient('read', (client) =>
    printLogs(cli, {
      read: (query) => client.request('GET /api/job-runs/{run_id}/logs', { params, query }),
      readOutput: (query) => client.request('GET /api/job-runs/{run_id}/output', { params, query }),
      isFollowed: follow,
      hasEnded: async () => (await client.request('GET /api/job-runs/{run_id}', { params })).status !== null,
    }),
  )
}

async function retry(
  cli: Cli,
  runId: string,
  { dependents, priority }: { dependents?: boolean; priority?: string },
): Promise<void> {
  const body = given({ dependents, priority: readWholeOption(priority, '--priority') })
  await cli.withClient('change', async (client) => {
    const job = await client.request('POST /api/job-runs/{run_id}/retry', { params: { run_id: runId }, body })
    if (cli.isJson) return cli.printJson(job)
    cli.print(jobLine(cli, job))
  })
}
