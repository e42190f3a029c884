import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { examples } from '../output/help.ts'
import type { Column } from '../output/table.ts'
import { given } from '../read-options.ts'
import type { Answered } from '../wire.ts'

interface FailureFlags {
  readonly type?: string
  readonly since?: string
  readonly limit?: string
}

export function register(program: Command, cli: Cli): void {
  program
    .command('failures')
    .description('list recent failures, those with the same cause together')
    .option('--type <type>', 'only of this type')
    .option('--since <instant>', 'only of runs that started at this instant or later')
    .option('--limit <n>', 'how many causes, up to 200 (default: 50)')
    .addHelpText('after', examples([['pawl failures --type story', 'why stories have failed lately']]))
    .action((flags: FailureFlags) => list(cli, flags))
}

type Failure = Answered<'GET /api/failures'>['items'][number]

async function list(cli: Cli, { type, since, limit }: FailureFlags): Promise<void> {
  await cli.withClient('read', async (client) => {
    const found = await client.request('GET /api/failures', { query: given({ type, since, limit }) })
    if (cli.isJson) return cli.printJson(found)
    if (found.items.length === 0) return cli.note('Nothing has failed.')
    cli.printTable(columns(), found.items)
    if (found.limited) cli.note(`These are of the latest ${found.looked_at} failures, since ${found.since ?? 'then'}.`)
  })
}

function columns(): Column<Failure>[] {
  return [
    { title: 'LAST', text: (failure) => failure.last_seen_at },
    { title: 'COUNT', text: (failure) => failure.count, align: 'right' },
    { title: 'TYPE', text: (failure) => failure.job_type, yields: 1 },
    { title: 'REASON', text: (failure) => failure.reason, yields: 2 },
    { title: 'ERROR', text: (failure) => failure.pattern, yields: 1, minWidth: 20 },
    { title: 'FOR EXAMPLE', text: (failure) => failure.example_job_id, yields: 3, minWidth: 36 },
  ]
}
