import type { Command } from 'commander'
import type { BodyOf } from '../../client/request.ts'
import { choice } from '../choice.ts'
import type { Cli } from '../cli.ts'
import { usageError } from '../cli-error.ts'
import { readDuration } from '../duration.ts'
import { escapeLine } from '../output/escape.ts'
import { examples } from '../output/help.ts'
import { jobLine } from '../output/jobs.ts'
import { type PageOptions, printPage, readPages, withPageOptions } from '../output/list.ts'
import { previewColumns, printSchedule, scheduleColumns, skippedColumns } from '../output/schedules.ts'
import { collect, given, readInstantOption, readWholeOption, readWordOption } from '../read-options.ts'
import { readParams } from '../read-params.ts'

const SCHEDULE = 'the id of the schedule'

const MISSED = ['one', 'all', 'none'] as const
const OVERLAP = ['allow', 'skip', 'queue-one'] as const

export function register(program: Command, cli: Cli): void {
  const schedules = program
    .command('schedules')
    .description('make jobs by the clock')
    .addHelpText(
      'after',
      examples([
        [
          "pawl schedules create 'morning story' --type story --cron '0 8 * * *' --timezone Europe/Vienna",
          'a job every morning',
        ],
        ["pawl schedules preview --cron '30 2 * * *' --timezone Europe/Vienna", 'when that would be'],
        ['pawl schedules disable <schedule>', 'no more for now'],
      ]),
    )
  registerReading(schedules, cli)
  registerMaking(schedules, cli)
  registerSwitching(schedules, cli)
}

function registerReading(schedules: Command, cli: Cli): void {
  withPageOptions(schedules.command('list').alias('ls'))
    .description('list schedules, newest first')
    .option('--enabled', 'only those that are enabled')
    .option('--disabled', 'only those that are not')
    .addHelpText('after', examples([['pawl schedules list --disabled', 'what does not fire']]))
    .action((options: ListOptions) => list(cli, options))

  schedules
    .command('show')
    .description('show one schedule and its next slots')
    .argument('<schedule>', SCHEDULE)
    .addHelpText('after', examples([['pawl schedules show <schedule>', 'one schedule']]))
    .action((id: string) => show(cli, id))

  schedules
    .command('preview')
    .description('show the slots of a schedule, or of a timing that is not stored yet')
    .argument('[schedule]', SCHEDULE)
    .option('--cron <expression>', 'instead of a schedule: five or six fields, or @daily')
    .option('--every <duration>', 'instead of a schedule: an interval such as 90s, 5m or 1d')
    .option('--timezone <zone>', 'with --cron or --every (default: UTC)')
    .option('--count <n>', 'how many, 1 to 100 (default: 10)')
    .option('--from <instant>', 'from then on (default: now)')
    .addHelpText(
      'after',
      examples([
        ['pawl schedules preview <schedule> --count 3', 'its next three slots'],
        ["pawl schedules preview --cron '0 9 * * 1-5' --timezone Europe/Vienna", 'try an expression'],
      ]),
    )
    .action((id: string | undefined, options: PreviewOptions) => preview(cli, id, options))

  withPageOptions(schedules.command('skipped'))
    .description('list slots that made no job, and why')
    .argument('<schedule>', SCHEDULE)
    .addHelpText('after', examples([['pawl schedules skipped <schedule>', 'what was missed']]))
    .action((id: string, options: PageOptions) => skipped(cli, id, options))
}

/** What `create` and `change` both take. */
function withFields(command: Command): Command {
  return command
    .option('--type <type>', 'make jobs of this type')
    .option('--template <id>', 'make jobs of this template')
    .option('--cron <expression>', 'five or six fields, or @daily')
    .option('--every <duration>', 'an interval such as 90s, 5m or 1d')
    .option('--timezone <zone>', 'for --cron (default: UTC)')
    .option('-p, --param <key=value>', 'one param over those of the template', collect)
    .option('--params <json>', 'all such params: JSON, @file, or - for stdin')
    .addOption(choice('--missed <what>', 'of slots that were missed make one, all or none (default: one)', MISSED))
    .addOption(
      choice('--overlap <what>', 'while the last job lives: allow, skip or queue-one (default: allow)', OVERLAP),
    )
    .option('--priority <n>', 'of its jobs (default: 0)')
    .option('--tag <tag>', 'of its jobs; may be given several times', collect)
    .option('--business-key <key>', 'of its jobs')
}

function registerMaking(schedules: Command, cli: Cli): void {
  withFields(schedules.command('create'))
    .description('make a schedule')
    .argument('<name>', 'a name for people')
    .option('--disabled', 'do not let it fire yet')
    .addHelpText(
      'after',
      examples([
        [
          "pawl schedules create 'morning story' --type story --cron '0 8 * * *' -p genre=gothic",
          'by a cron expression',
        ],
        ['pawl schedules create poll --template <id> --every 5m --overlap skip', 'by an interval'],
      ]),
    )
    .action((name: string, options: Fields & { disabled?: boolean }) => create(cli, name, options))

  withFields(schedules.command('change'))
    .description('change a schedule from its next slot on')
    .argument('<schedule>', SCHEDULE)
    .option('--name <text>', 'another name')
    .addHelpText('after', examples([["pawl schedules change <schedule> --cron '0 9 * * *'", 'an hour later']]))
    .action((id: string, options: Fields & { name?: string }) => change(cli, id, options))

  schedules
    .command('remove')
    .alias('rm')
    .description('remove a schedule; jobs that it made stay')
    .argument('<schedule>', SCHEDULE)
    .addHelpText('after', examples([['pawl schedules remove <schedule>', 'for ever']]))
    .action((id: string) => remove(cli, id))
}

function registerSwitching(schedules: Command, cli: Cli): void {
  for (const [verb, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    schedules
      .command(verb)
      .description(enabled ? 'let a schedule fire, from now on' : 'let a schedule fire no more; its jobs stay')
      .argument('<schedule>', SCHEDULE)
      .addHelpText('after', examples([[`pawl schedules ${verb} <schedule>`, enabled ? 'on' : 'off']]))
      .action((id: string) => patch(cli, id, { enabled }))
  }
  schedules
    .command('trigger')
    .description('make one job of a schedule now; no slot is moved')
    .argument('<schedule>', SCHEDULE)
    .addHelpText('after', examples([['pawl schedules trigger <schedule>', 'once, now']]))
    .action((id: string) => trigger(cli, id))
}

interface ListOptions extends PageOptions {
  readonly enabled?: boolean
  readonly disabled?: boolean
}

async function list(cli: Cli, options: ListOptions): Promise<void> {
  if (options.enabled && options.disabled) throw usageError('Expected --enabled or --disabled, got both.')
  const filter = options.enabled ? { enabled: 'true' as const } : options.disabled ? { enabled: 'false' as const } : {}
  await cli.withClient('read', async (client) => {
    const page = await readPages(cli, options, (query) =>
      client.request('GET /api/schedules', { query: { ...query, ...filter } }),
    )
    printPage(cli, page, scheduleColumns(cli), {
      line: 'enabled' in filter ? 'No schedules match.' : 'There are no schedules yet.',
      hint: 'Make one with `pawl schedules create`.',
    })
  })
}

async function show(cli: Cli, id: string): Promise<void> {
  const params = { schedule_id: id }
  await cli.withClient('read', async (client) => {
    const schedule = await client.request('GET /api/schedules/{schedule_id}', { params })
    if (cli.isJson) return cli.printJson(schedule)
    printSchedule(cli, schedule)
    const { items } = await client.request('GET /api/schedules/{schedule_id}/preview', { params, query: { count: 3 } })
    cli.print()
    cli.printTable(previewColumns(cli), items)
  })
}

interface PreviewOptions {
  readonly cron?: string
  readonly every?: string
  readonly timezone?: string
  readonly count?: string
  readonly from?: string
}

async function preview(cli: Cli, id: string | undefined, options: PreviewOptions): Promise<void> {
  const { cron, every, timezone } = options
  const isTiming = cron !== undefined || every !== undefined
  if ((id !== undefined) === isTiming || (id !== undefined && timezone !== undefined)) {
    throw usageError('Expected a schedule, or --cron or --every with an optional --timezone.')
  }
  const range = given({
    count: readWholeOption(options.count, '--count'),
    from: readInstantOption(options.from, '--from'),
  })
  const { items } =
    id !== undefined
      ? await cli.withClient('read', (client) =>
          client.request('GET /api/schedules/{schedule_id}/preview', { params: { schedule_id: id }, query: range }),
        )
      : await cli.withClient('ask', (client) =>
          client.request('POST /api/schedules/preview', { body: { ...readTiming(options), ...range } }),
        )
  if (cli.isJson) return cli.printJson({ items, next_cursor: null })
  if (items.length === 0) return cli.print('There are no slots.')
  cli.printTable(previewColumns(cli), items)
}

async function skipped(cli: Cli, id: string, options: PageOptions): Promise<void> {
  await cli.withClient('read', async (client) => {
    const page = await readPages(cli, options, (query) =>
      client.request('GET /api/schedules/{schedule_id}/skipped', { params: { schedule_id: id }, query }),
    )
    printPage(cli, page, skippedColumns(cli), { line: 'No slot was skipped.' })
  })
}

interface Fields {
  readonly type?: string
  readonly template?: string
  readonly cron?: string
  readonly every?: string
  readonly timezone?: string
  readonly param?: readonly string[]
  readonly params?: string
  readonly missed?: string
  readonly overlap?: string
  readonly priority?: string
  readonly tag?: string[]
  readonly businessKey?: string
}

async function readFields(cli: Cli, options: Fields) {
  return given({
    ...readTiming(options),
    type: options.type,
    template_id: options.template,
    param_overrides: await readParams(cli, options),
    missed: readWordOption(options.missed, MISSED, '--missed'),
    overlap: readWordOption(options.overlap, OVERLAP, '--overlap'),
    priority: readWholeOption(options.priority, '--priority'),
    tags: options.tag,
    business_key: options.businessKey,
  })
}

function readTiming({ cron, every, timezone }: Pick<Fields, 'cron' | 'every' | 'timezone'>) {
  if (cron !== undefined && every !== undefined) throw usageError('Expected --cron or --every, got both.')
  return given({ cron, every_ms: every === undefined ? undefined : readDuration(every, '--every'), timezone })
}

async function create(cli: Cli, name: string, options: Fields & { disabled?: boolean }): Promise<void> {
  if (options.cron === undefined && options.every === undefined)
    throw usageError('Expected --cron or --every, got neither.')
  if ((options.type === undefined) === (options.template === undefined)) {
    throw usageError('Expected --type or --template, and not both.')
  }
  const body = { ...(await readFields(cli, options)), name, ...(options.disabled === true && { enabled: false }) }
  await cli.withClient('create', async (client) => {
    const schedule = await client.request('POST /api/schedules', { body })
    if (cli.isJson) return cli.printJson(schedule)
    printSchedule(cli, schedule)
  })
}

async function change(cli: Cli, id: string, options: Fields & { name?: string }): Promise<void> {
  const body = { ...(await readFields(cli, options)), ...given({ name: options.name }) }
  if (Object.keys(body).length === 0) throw usageError('Expected something to change, such as --cron or --priority.')
  await patch(cli, id, body)
}

async function patch(cli: Cli, id: string, body: BodyOf<'PATCH /api/schedules/{schedule_id}'>): Promise<void> {
  await cli.withClient('change', async (client) => {
    const schedule = await client.request('PATCH /api/schedules/{schedule_id}', { params: { schedule_id: id }, body })
    if (cli.isJson) return cli.printJson(schedule)
    printSchedule(cli, schedule)
  })
}

async function remove(cli: Cli, id: string): Promise<void> {
  await cli.withClient('change', async (client) => {
    await client.request('DELETE /api/schedules/{schedule_id}', { params: { schedule_id: id } })
    if (cli.isJson) return cli.printJson({ schedule_id: id, removed: true })
    cli.print(`Schedule ${escapeLine(id)} is removed. Jobs that it made stay.`)
  })
}

async function trigger(cli: Cli, id: string): Promise<void> {
  await cli.withClient('change', async (client) => {
    const job = await client.request('POST /api/schedules/{schedule_id}/trigger', {
      params: { schedule_id: id },
      body: {},
    })
    if (cli.isJson) return cli.printJson(job)
    cli.print(jobLine(cli, job))
  })
}
