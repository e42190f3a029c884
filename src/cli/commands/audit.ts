import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { safeJson } from '../output/escape.ts'
import { examples } from '../output/help.ts'
import { type PageOptions, printPage, readPages, withPageOptions } from '../output/list.ts'
import { given } from '../read-options.ts'

export function register(program: Command, cli: Cli): void {
  withPageOptions(program.command('audit'))
    .description('list who changed what, newest first')
    .option('--subject <id>', 'only what concerns this job, schedule, key or other thing')
    .option('--actor <name>', 'only what this one did, such as key:ci or cli:ada')
    .addHelpText('after', examples([['pawl audit --subject <job>', 'who touched a job']]))
    .action((options: PageOptions & { subject?: string; actor?: string }) => list(cli, options))
}

async function list(cli: Cli, options: PageOptions & { subject?: string; actor?: string }): Promise<void> {
  const filter = given({ subject: options.subject, actor: options.actor })
  await cli.withClient('read', async (client) => {
    const page = await readPages(cli, options, (query) =>
      client.request('GET /api/audit', { query: { ...query, ...filter } }),
    )
    printPage(
      cli,
      page,
      [
        { title: 'AT', text: (entry) => entry.at },
        { title: 'ACTOR', text: (entry) => entry.actor, yields: 1 },
        { title: 'ACTION', text: (entry) => entry.action, yields: 1 },
        { title: 'SUBJECT', text: subjectOf, yields: 2, minWidth: 36 },
        { title: 'DETAILS', text: ({ details }) => (details === null ? null : safeJson(details)), yields: 3 },
      ],
      { line: Object.keys(filter).length > 0 ? 'No entries match.' : 'Nothing was changed yet.' },
    )
  })
}

function subjectOf({ subject, others }: { readonly subject: string | null; readonly others: number }): string | null {
  if (subject === null) return null
  return others === 0 ? subject : `${subject} and ${others} more`
}
