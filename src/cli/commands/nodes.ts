import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { examples } from '../output/help.ts'
import { printPage, readPages } from '../output/list.ts'
import { nodeColumns } from '../output/nodes.ts'

export function register(program: Command, cli: Cli): void {
  program
    .command('nodes')
    .description('list the processes that execute jobs')
    .addHelpText('after', examples([['pawl nodes', 'who is there, and what each handles']]))
    .action(() => list(cli))
}

async function list(cli: Cli): Promise<void> {
  await cli.withClient('read', async (client) => {
    const page = await readPages(cli, { all: true }, (query) => client.request('GET /api/nodes', { query }))
    printPage(cli, page, nodeColumns(cli), {
      line: 'No process executes jobs.',
      hint: 'Start one with `pawl serve` or `pawl worker`.',
    })
  })
}
