import type { Command } from 'commander'
import { choice } from '../choice.ts'
import type { Cli } from '../cli.ts'
import { examples } from '../output/help.ts'
import { type PageOptions, printPage, readPages, withPageOptions } from '../output/list.ts'
import { operationColumns, operationLine, printOperation } from '../output/operations.ts'
import { given, readWordOption } from '../read-options.ts'

const OPERATION = 'the id of the operation'
const STATUSES = ['RUNNING', 'COMPLETED', 'ABORTED'] as const

export function register(program: Command, cli: Cli): void {
  const operations = program
    .command('operations')
    .description('cancels and retries of many jobs: how far they are')
    .addHelpText(
      'after',
      examples([
        ['pawl jobs cancel --all --type story --dry-run', 'how many jobs it would be'],
        ['pawl jobs cancel --all --type story', 'start one'],
        ['pawl operations abort <operation>', 'stop it half-way'],
      ]),
    )

  withPageOptions(operations.command('list').alias('ls'))
    .description('list operations, newest first')
    .addOption(choice('--status <status>', `only these: ${STATUSES.join(', ')}`, STATUSES))
    .addHelpText('after', examples([['pawl operations list --status RUNNING', 'those that have not ended']]))
    .action((options: PageOptions & { status?: string }) => list(cli, options))

  operations
    .command('show')
    .description('show one operation and how far it is')
    .argument('<operation>', OPERATION)
    .addHelpText('after', examples([['pawl operations show <operation>', 'one operation']]))
    .action((id: string) => show(cli, id))

  operations
    .command('abort')
    .description('end an operation; what was done stays')
    .argument('<operation>', OPERATION)
    .addHelpText('after', examples([['pawl operations abort <operation>', 'do nothing more']]))
    .action((id: string) => abort(cli, id))
}

async function list(cli: Cli, options: PageOptions & { status?: string }): Promise<void> {
  const filter = given({ status: readWordOption(options.status, STATUSES, '--status') })
  await cli.withClient('read', async (client) => {
    const page = await readPages(cli, options, (query) =>
      client.request('GET /api/operations', { query: { ...query, ...filter } }),
    )
    printPage(cli, page, operationColumns(cli), {
      line: options.status === undefined ? 'There are no operations yet.' : 'No operations match.',
      hint: 'Start one with `pawl jobs cancel --all` or `pawl jobs retry --all`.',
    })
  })
}

async function show(cli: Cli, id: string): Promise<void> {
  await cli.withClient('read', async (client) => {
    const operation = await client.request('GET /api/operations/{operation_id}', { params: { operation_id: id } })
    if (cli.isJson) return cli.printJson(operation)
    printOperation(cli, operation)
  })
}

async function abort(cli: Cli, id: string): Promise<void> {
  await cli.withClient('change', async (client) => {
    const params = { operation_id: id }
    const operation = await client.request('POST /api/operations/{operation_id}/abort', { params })
    if (cli.isJson) return cli.printJson(operation)
    cli.print(operationLine(operation))
  })
}
