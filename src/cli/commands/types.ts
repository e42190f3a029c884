import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { examples } from '../output/help.ts'
import { printPage, readPages } from '../output/list.ts'
import { lasted } from '../output/times.ts'

export function register(program: Command, cli: Cli): void {
  program
    .command('types')
    .description('list the job types that are known, and whether a process handles them')
    .addHelpText('after', examples([['pawl types', 'what can be enqueued']]))
    .action(() => list(cli))
}

async function list(cli: Cli): Promise<void> {
  await cli.withClient('change', async (client) => {
    const page = await readPages(cli, { all: true }, (query) => client.request('GET /api/job-types', { query }))
    printPage(
      cli,
      page,
      [
        { title: 'TYPE', text: (type) => type.type, yields: 1 },
        { title: 'HANDLED', text: ({ registered }) => (registered ? 'yes' : 'by nobody now'), yields: 1 },
        { title: 'RETRIES', text: (type) => type.retry_policy.max_retries, align: 'right', yields: 2, minWidth: 7 },
        { title: 'TIMEOUT', text: (type) => lasted(type.timeout_ms) ?? 'none', yields: 2 },
        { title: 'RESOURCES', text: (type) => type.resources.join(', '), yields: 2 },
      ],
      { line: 'No types are known.', hint: 'Define some in pawl.config.ts: `pawl init` writes an example.' },
    )
  })
}
