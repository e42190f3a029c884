import type { Command } from 'commander'
import type { Client } from '../../client/index.ts'
import { choice } from '../choice.ts'
import type { Cli } from '../cli.ts'
import { usageError } from '../cli-error.ts'
import { readDuration } from '../duration.ts'
import { printDetails } from '../output/details.ts'
import { escapeLine } from '../output/escape.ts'
import { examples } from '../output/help.ts'
import { type PageOptions, printPage, readPages, withPageOptions } from '../output/list.ts'
import type { Column } from '../output/table.ts'
import { fullTime, relativeTime } from '../output/times.ts'
import { readWordOption } from '../read-options.ts'
import type { Answered } from '../wire.ts'

const ROLES = ['viewer', 'operator', 'admin'] as const

export function register(program: Command, cli: Cli): void {
  const keys = program
    .command('keys')
    .description('keys that open the API; from the first one on, the API asks for them')
    .addHelpText(
      'after',
      examples([
        ['pawl keys create --name admin --role admin', 'the first key: who has it may do everything'],
        ['pawl keys create --name ci --role operator --expires 90d', 'a key for a program'],
        ['pawl keys revoke <key_id>', 'close it again'],
      ]),
    )

  keys
    .command('create')
    .description('make a key; it is shown this once')
    .requiredOption('--name <text>', 'whom or what it is for')
    .addOption(
      choice(
        '--role <role>',
        'viewer (reads), operator (also enqueues and steers jobs) or admin (everything)',
        ROLES,
      ).makeOptionMandatory(),
    )
    .option('--expires <duration>', 'how long it opens anything, such as 90d (default: for ever)')
    .addHelpText('after', examples([['pawl keys create --name dashboard --role viewer', 'a key that only reads']]))
    .action((options: CreateOptions) => create(cli, options))

  withPageOptions(keys.command('list').alias('ls'))
    .description('list keys, newest first; never the keys themselves')
    .addHelpText('after', examples([['pawl keys list', 'who may come in']]))
    .action((options: PageOptions) => list(cli, options))

  keys
    .command('revoke')
    .description('let a key open nothing any more, at once')
    .argument('<key_id>', 'the id of the key, not the key itself')
    .addHelpText('after', examples([['pawl keys revoke <key_id>', 'for ever']]))
    .action((keyId: string) => revoke(cli, keyId))
}

interface CreateOptions {
  readonly name: string
  readonly role: string
  readonly expires?: string
}

async function create(cli: Cli, { name, role, expires }: CreateOptions): Promise<void> {
  const body = {
    name,
    role: readWordOption(role, ROLES, '--role') ?? 'viewer',
    ...(expires !== undefined && { expires_in_ms: readDuration(expires, '--expires') }),
  }
  await cli.withClient('create', async (client) => {
    const isLockingOut = body.role !== 'admin' && !(await hasAdminKey(cli, client))
    const key = await client.request('POST /api/keys', { body })
    if (isLockingOut) cli.note(cli.errorColors.yellow(NO_ADMIN))
    if (cli.isJson) return cli.printJson(key)
    printDetails(cli, 'Keep this key; it is not shown again.', [
      ['key', key.key],
      ['key id', key.key_id],
      ['name', key.name],
      ['role', key.role],
      ['expires', fullTime(key.expires_at, cli.clock.now())],
    ])
  })
}

const NO_ADMIN =
  'From now on the API asks for keys, and nobody can administer it over HTTP until you make an admin key: pawl keys create --name admin --role admin --store <url>'

async function hasAdminKey(cli: Cli, client: Client): Promise<boolean> {
  const { items } = await readPages(cli, { all: true }, (query) => client.request('GET /api/keys', { query }))
  return items.some((key) => key.role === 'admin' && stateOf(key, cli.clock.now()) === 'valid')
}

type ApiKey = Answered<'GET /api/keys'>['items'][number]

async function list(cli: Cli, options: PageOptions): Promise<void> {
  await cli.withClient('read', async (client) => {
    const page = await readPages(cli, options, (query) => client.request('GET /api/keys', { query }))
    printPage(cli, page, columnsOf(cli), {
      line: 'There are no keys, so everybody who reaches the server may do everything.',
      hint: 'Make one with `pawl keys create`.',
    })
  })
}

async function revoke(cli: Cli, keyId: string): Promise<void> {
  if (keyId.startsWith('pawl_'))
    throw usageError('Expected the id of a key, got a key itself. `pawl keys list` shows the ids.')
  await cli.withClient('change', async (client) => {
    const key = await client.request('DELETE /api/keys/{key_id}', { params: { key_id: keyId } })
    if (cli.isJson) return cli.printJson(key)
    cli.print(`The key ${key.key_id} (${escapeLine(key.name)}) opens nothing any more.`)
  })
}

function stateOf(key: ApiKey, now: number): string {
  if (key.revoked_at !== null) return 'revoked'
  return key.expires_at !== null && Date.parse(key.expires_at) <= now ? 'expired' : 'valid'
}

function columnsOf(cli: Cli): Column<ApiKey>[] {
  const now = cli.clock.now()
  const { yellow } = cli.colors
  return [
    { title: 'ID', text: (key) => key.key_id },
    {
      title: 'STATE',
      text: (key) => stateOf(key, now),
      paint: (text, key) => (stateOf(key, now) === 'valid' ? text : yellow(text)),
      yields: 1,
    },
    { title: 'ROLE', text: (key) => key.role, yields: 1 },
    { title: 'NAME', text: (key) => key.name, yields: 1 },
    { title: 'BEGINS', text: (key) => key.prefix, yields: 3 },
    { title: 'CREATED', text: (key) => relativeTime(key.created_at, now), yields: 2 },
    { title: 'EXPIRES', text: (key) => relativeTime(key.expires_at, now), yields: 4 },
  ]
}
