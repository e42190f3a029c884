import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { examples } from '../output/help.ts'
import { printPage, readPages } from '../output/list.ts'
import { lasted } from '../output/times.ts'
import type { Answered } from '../wire.ts'

export function register(program: Command, cli: Cli): void {
  program
    .command('types')
    .description('list the job types that are known, and whether a process handles them')
    .addHelpText('after', examples([['pawl types', 'what can be enqueued']]))
    .action(() => list(cli))
}

async function list(cli: Cli): Promise<void> {
  await cli.withClient('read', async (client) => {
    const known = await readPages(cli, { all: true }, (query) => client.request('GET /api/job-types', { query }))
    const page = { ...known, items: [...known.items, ...(await localTypes(cli, known.items))] }
    printPage<JobType>(
      cli,
      page,
      [
        { title: 'TYPE', text: (type) => type.type, yields: 1 },
        { title: 'HANDLED', text: handledBy, yields: 1 },
        { title: 'RETRIES', text: (type) => type.retry_policy.max_retries, align: 'right', yields: 2, minWidth: 7 },
        { title: 'TIMEOUT', text: (type) => lasted(type.timeout_ms) ?? 'none', yields: 2 },
        { title: 'RESOURCES', text: (type) => type.resources.join(', '), yields: 2 },
      ],
      { line: 'No types are known.', hint: 'Define some in pawl.config.ts: `pawl init` writes an example.' },
    )
  })
}

type JobType = Answered<'GET /api/job-types'>['items'][number] & { readonly local_config_only?: true }

/** What the configuration here defines but the store has not heard of: only looking must not write it there. */
async function localTypes(cli: Cli, known: readonly JobType[]): Promise<JobType[]> {
  const { kind } = await cli.target()
  if (kind === 'server') return []
  const { items } = await cli.withClient('local', (client) =>
    readPages(cli, { all: true }, (query) => client.request('GET /api/job-types', { query })),
  )
  return items
    .filter(({ type }) => !known.some((each) => each.type === type))
    .map((type) => ({ ...type, registered: false, local_config_only: true }))
}

function handledBy({ registered, local_config_only }: JobType): string {
  if (local_config_only === true) return 'local config only'
  return registered ? 'yes' : 'by nobody now'
}
