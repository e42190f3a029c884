import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { usageError } from '../cli-error.ts'
import { readDuration } from '../duration.ts'
import { jsonBlock, printDetails } from '../output/details.ts'
import { examples } from '../output/help.ts'
import { type PageOptions, printPage, readPages, withPageOptions } from '../output/list.ts'
import type { Column } from '../output/table.ts'
import { fullTime, lasted, relativeTime } from '../output/times.ts'
import { collect, given, readWholeOption } from '../read-options.ts'
import { readParams } from '../read-params.ts'
import type { Template } from '../wire.ts'

const TEMPLATE = 'the id of the template'

export function register(program: Command, cli: Cli): void {
  const templates = program
    .command('templates')
    .description('keep a type with default params and policy under a name')
    .addHelpText(
      'after',
      examples([
        ["pawl templates create 'gothic story' --type story -p genre=gothic", 'make one'],
        ['pawl enqueue --template <template> -p length=500', 'use it'],
      ]),
    )

  withPageOptions(templates.command('list').alias('ls'))
    .description('list templates, newest first')
    .option('--archived', 'also those that are archived')
    .addHelpText('after', examples([['pawl templates list --archived', 'all of them']]))
    .action((options: PageOptions & { archived?: boolean }) => list(cli, options))

  templates
    .command('show')
    .description('show one template')
    .argument('<template>', TEMPLATE)
    .addHelpText('after', examples([['pawl templates show <template>', 'one template']]))
    .action((id: string) => show(cli, id))

  withFields(templates.command('create'))
    .description('make a template')
    .argument('<name>', 'a name for people')
    .requiredOption('--type <type>', 'what its jobs execute')
    .addHelpText(
      'after',
      examples([
        ["pawl templates create 'gothic story' --type story -p genre=gothic --timeout 5m", 'with a timeout of its own'],
      ]),
    )
    .action((name: string, options: Fields) => create(cli, name, options))

  withFields(templates.command('change'))
    .description('change what jobs made of it from now on will be')
    .argument('<template>', TEMPLATE)
    .option('--name <text>', 'another name')
    .option('--type <type>', 'another type')
    .addHelpText('after', examples([['pawl templates change <template> --max-retries 0', 'no more retries']]))
    .action((id: string, options: Fields & { name?: string }) => change(cli, id, options))

  templates
    .command('archive')
    .description('let nothing more be made of a template; its history stays')
    .argument('<template>', TEMPLATE)
    .addHelpText('after', examples([['pawl templates archive <template>', 'put it away']]))
    .action((id: string) => archive(cli, id))
}

function withFields(command: Command): Command {
  return command
    .option('-p, --param <key=value>', 'one default param; JSON where it is JSON, else text', collect)
    .option('--params <json>', 'all default params: JSON, @file, or - for stdin')
    .option('--max-retries <n>', 'automatic retries (default: as the type says)')
    .option('--timeout <duration>', 'how long one execution may take: 10s, 5m, 2h, or none (default: as the type says)')
    .option('--description <text>', 'what it is for')
}

interface Fields {
  readonly type?: string
  readonly param?: readonly string[]
  readonly params?: string
  readonly maxRetries?: string
  readonly timeout?: string
  readonly description?: string
}

async function readFields(cli: Cli, options: Fields) {
  const maxRetries = readWholeOption(options.maxRetries, '--max-retries')
  return given({
    job_type: options.type,
    default_params: await readParams(cli, options),
    retry_policy: maxRetries === undefined ? undefined : { max_retries: maxRetries },
    timeout_ms: readTimeout(options.timeout),
    description: options.description,
  })
}

function readTimeout(text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined
  return text === 'none' ? null : readDuration(text, '--timeout')
}

async function list(cli: Cli, options: PageOptions & { archived?: boolean }): Promise<void> {
  const filter = options.archived === true ? { state: 'any' as const } : {}
  await cli.withClient('read', async (client) => {
    const page = await readPages(cli, options, (query) =>
      client.request('GET /api/job-templates', { query: { ...query, ...filter } }),
    )
    printPage(cli, page, columnsOf(cli), {
      line: 'There are no templates yet.',
      hint: 'Make one with `pawl templates create`.',
    })
  })
}

async function show(cli: Cli, id: string): Promise<void> {
  await cli.withClient('read', async (client) => {
    print(cli, await client.request('GET /api/job-templates/{template_id}', { params: { template_id: id } }))
  })
}

async function create(cli: Cli, name: string, options: Fields): Promise<void> {
  const body = { ...(await readFields(cli, options)), name, job_type: options.type ?? '' }
  await cli.withClient('create', async (client) =>
    print(cli, await client.request('POST /api/job-templates', { body })),
  )
}

async function change(cli: Cli, id: string, options: Fields & { name?: string }): Promise<void> {
  const body = { ...(await readFields(cli, options)), ...given({ name: options.name }) }
  if (Object.keys(body).length === 0) throw usageError('Expected something to change, such as --params or --timeout.')
  await cli.withClient('change', async (client) => {
    print(cli, await client.request('PATCH /api/job-templates/{template_id}', { params: { template_id: id }, body }))
  })
}

async function archive(cli: Cli, id: string): Promise<void> {
  await cli.withClient('change', async (client) => {
    print(cli, await client.request('DELETE /api/job-templates/{template_id}', { params: { template_id: id } }))
  })
}

function columnsOf(cli: Cli): Column<Template>[] {
  const now = cli.clock.now()
  return [
    { title: 'ID', text: (template) => template.template_id },
    { title: 'NAME', text: (template) => template.name, yields: 1 },
    { title: 'TYPE', text: (template) => template.job_type, yields: 1 },
    { title: 'STATE', text: ({ archived_at }) => (archived_at === null ? 'active' : 'archived'), yields: 3 },
    { title: 'CHANGED', text: (template) => relativeTime(template.updated_at, now), yields: 2 },
    { title: 'DESCRIPTION', text: (template) => template.description, yields: 4 },
  ]
}

function print(cli: Cli, template: Template): void {
  if (cli.isJson) return cli.printJson(template)
  const now = cli.clock.now()
  const timeout = template.timeout_ms === null ? 'none' : lasted(template.timeout_ms)
  printDetails(cli, `Template ${template.template_id}`, [
    ['name', template.name],
    ['type', template.job_type],
    ['description', template.description],
    ['retries', template.retry_policy?.max_retries ?? 'as the type says'],
    ['timeout', template.inherits_timeout ? 'as the type says' : timeout],
    ['revision', template.revision],
    ['created', fullTime(template.created_at, now)],
    ['changed', fullTime(template.updated_at, now)],
    ['archived', fullTime(template.archived_at, now)],
    ['params', jsonBlock(template.default_params)],
  ])
}
