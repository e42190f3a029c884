import type { Command } from 'commander'
import type { BodyOf } from '../../client/request.ts'
import { choice } from '../choice.ts'
import type { Cli } from '../cli.ts'
import { printDetails, textBlock } from '../output/details.ts'
import { examples } from '../output/help.ts'
import { jobColumns } from '../output/jobs.ts'
import { type PageOptions, printPage, readPages, withPageOptions } from '../output/list.ts'
import { paintStatus } from '../output/status.ts'
import type { Column } from '../output/table.ts'
import { fullTime, relativeTime } from '../output/times.ts'
import { readJobList } from '../read-job-list.ts'
import { given, readNamedFile, readWordOption } from '../read-options.ts'
import type { Group, Job } from '../wire.ts'

const GROUP = 'the id of the group'
const MODES = ['parallel', 'sequential'] as const
const ON_FAILURE = ['stop', 'continue', 'skip'] as const

export function register(program: Command, cli: Cli): void {
  const groups = program
    .command('groups')
    .description('jobs that belong together, side by side or one after the other')
    .addHelpText(
      'after',
      examples([
        ['pawl groups create book --mode sequential --file jobs.json', 'chapters, one after the other'],
        ['pawl groups show <group>', 'how far it is'],
      ]),
    )

  withPageOptions(groups.command('list').alias('ls'))
    .description('list groups, newest first')
    .addHelpText('after', examples([['pawl groups list --limit 5', 'the latest five']]))
    .action((options: PageOptions) => list(cli, options))

  groups
    .command('show')
    .description('show one group and its jobs')
    .argument('<group>', GROUP)
    .addHelpText('after', examples([['pawl groups show <group>', 'one group']]))
    .action((id: string) => show(cli, id))

  groups
    .command('create')
    .description('accept a group with all its jobs, or nothing')
    .argument('[name]', 'a name for people')
    .requiredOption('--file <file>', 'its jobs: a JSON list, or one JSON object a line; - for stdin')
    .addOption(choice('--mode <mode>', 'parallel or sequential (default: parallel)', MODES))
    .addOption(
      choice(
        '--on-failure <what>',
        'when a job fails, let the others stop, continue or skip (default: stop)',
        ON_FAILURE,
      ),
    )
    .addHelpText(
      'after',
      examples([
        [
          `echo '[{"type":"story"},{"type":"review"}]' | pawl groups create book --mode sequential --file -`,
          'two jobs in order',
        ],
      ]),
    )
    .action((name: string | undefined, options: CreateOptions) => create(cli, name, options))

  groups
    .command('cancel')
    .description('cancel all jobs of a group that have not ended')
    .argument('<group>', GROUP)
    .option('--abort', 'also interrupt those that run')
    .option('--reason <text>', 'why, for the record')
    .addHelpText('after', examples([['pawl groups cancel <group> --abort', 'stop everything now']]))
    .action((id: string, options: CancelOptions) => cancel(cli, id, options))
}

async function list(cli: Cli, options: PageOptions): Promise<void> {
  await cli.withClient('read', async (client) => {
    const page = await readPages(cli, options, (query) => client.request('GET /api/job-groups', { query }))
    printPage(cli, page, columnsOf(cli), {
      line: 'There are no groups yet.',
      hint: 'Make one with `pawl groups create`.',
    })
  })
}

const MEMBERS_SHOWN = 50

async function show(cli: Cli, id: string): Promise<void> {
  await cli.withClient('read', async (client) => {
    const group = await client.request('GET /api/job-groups/{group_id}', { params: { group_id: id } })
    if (cli.isJson) return cli.printJson(group)
    print(cli, group)
    const jobs = await readPages(cli, { all: true }, (query) =>
      client.request('GET /api/jobs', { query: { ...query, group_id: group.group_id } }),
    )
    const members = group.mode === 'sequential' ? inOrder(jobs.items) : jobs.items
    cli.print()
    cli.printTable(jobColumns(cli), members.slice(0, MEMBERS_SHOWN))
    if (members.length > MEMBERS_SHOWN) cli.note(`All of them: pawl jobs list --group ${group.group_id} --all`)
  })
}

/** The first Jobs of chains have ids in the order of the group; a retry stands behind what it retries. */
function inOrder(jobs: readonly Job[]): Job[] {
  return jobs.toSorted((a, b) => (a.chain_id === b.chain_id ? a.attempt - b.attempt : a.chain_id < b.chain_id ? -1 : 1))
}

interface CreateOptions {
  readonly file: string
  readonly mode?: string
  readonly onFailure?: string
}

async function create(cli: Cli, name: string | undefined, options: CreateOptions): Promise<void> {
  const { file } = options
  const body = given({
    name,
    mode: readWordOption(options.mode, MODES, '--mode'),
    on_failure: readWordOption(options.onFailure, ON_FAILURE, '--on-failure'),
    jobs: readJobList(await readNamedFile(cli, file, '--file'), file) as BodyOf<'POST /api/job-groups'>['jobs'],
  })
  await cli.withClient('create', async (client) => {
    const group = await client.request('POST /api/job-groups', { body })
    if (cli.isJson) return cli.printJson(group)
    print(cli, group)
    for (const jobId of group.job_ids.slice(0, MEMBERS_SHOWN)) cli.print(`  ${jobId}`)
  })
}

interface CancelOptions {
  readonly abort?: boolean
  readonly reason?: string
}

async function cancel(cli: Cli, id: string, { abort, reason }: CancelOptions): Promise<void> {
  const body = given({ mode: abort === true ? ('abort' as const) : undefined, reason })
  await cli.withClient('change', async (client) => {
    const group = await client.request('POST /api/job-groups/{group_id}/cancel', { params: { group_id: id }, body })
    if (cli.isJson) return cli.printJson(group)
    print(cli, group)
  })
}

function progressOf({ counts }: Group): string {
  const ended = counts.completed + counts.failed + counts.skipped + counts.cancelled
  return `${ended} of ${counts.total}`
}

function columnsOf(cli: Cli): Column<Group>[] {
  const now = cli.clock.now()
  return [
    { title: 'ID', text: (group) => group.group_id },
    {
      title: 'STATUS',
      text: (group) => group.status,
      paint: (text, group) => paintStatus(cli.colors, text, group.status),
      yields: 1,
    },
    { title: 'ENDED', text: progressOf, yields: 2 },
    { title: 'FAILED', text: (group) => group.counts.failed, align: 'right', yields: 3, minWidth: 6 },
    { title: 'NAME', text: (group) => group.name, yields: 1 },
    { title: 'MODE', text: (group) => group.mode, yields: 4 },
    { title: 'CREATED', text: (group) => relativeTime(group.created_at, now), yields: 3 },
  ]
}

function print(cli: Cli, group: Group): void {
  const now = cli.clock.now()
  const counts = Object.entries(group.counts).filter(([name, count]) => name !== 'total' && count > 0)
  printDetails(cli, `Group ${group.group_id}`, [
    ['name', group.name],
    ['status', group.status],
    ['mode', group.mode],
    ['on failure', group.on_failure],
    ['jobs', `${group.counts.total}: ${counts.map(([name, count]) => `${count} ${name}`).join(', ')}`],
    ['created by', group.created_by],
    ['created', fullTime(group.created_at, now)],
    ['started', fullTime(group.started_at, now)],
    ['finished', fullTime(group.finished_at, now)],
    ['cancel asked', fullTime(group.cancel_requested_at, now)],
    ['cancel reason', textBlock(group.cancel_reason)],
  ])
}
