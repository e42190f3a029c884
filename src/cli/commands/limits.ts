import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { escapeLine } from '../output/escape.ts'
import { examples } from '../output/help.ts'
import { printPage, readPages } from '../output/list.ts'
import { readWholeOption } from '../read-options.ts'

const NAME = '`running`, `type:<type>` or `resource:<name>`'

export function register(program: Command, cli: Cli): void {
  const limits = program
    .command('limits')
    .description('limits that hold across all processes on a store')
    .addHelpText(
      'after',
      examples([
        ['pawl limits set resource:ollama 2', 'two jobs with this resource at once'],
        ['pawl limits remove type:story', 'as many as there are places'],
      ]),
    )

  limits
    .command('list')
    .alias('ls')
    .description('list all limits')
    .addHelpText('after', examples([['pawl limits list --json', 'for a program']]))
    .action(() => list(cli))

  limits
    .command('set')
    .description('set a limit, for all processes at once')
    .argument('<name>', NAME)
    .argument('<n>', 'how many at once, 1 or more')
    .addHelpText('after', examples([['pawl limits set running 4', 'four jobs at once on the whole store']]))
    .action((name: string, n: string) => set(cli, name, n))

  limits
    .command('remove')
    .alias('rm')
    .description('remove a limit')
    .argument('<name>', NAME)
    .addHelpText('after', examples([['pawl limits remove running', 'no limit any more']]))
    .action((name: string) => remove(cli, name))
}

async function list(cli: Cli): Promise<void> {
  await cli.withClient('read', async (client) => {
    const page = await readPages(cli, { all: true }, (query) => client.request('GET /api/limits', { query }))
    printPage(
      cli,
      page,
      [
        { title: 'LIMIT', text: (limit) => limit.name, yields: 1 },
        { title: 'MAX', text: (limit) => limit.max, align: 'right' },
      ],
      { line: 'There are no limits.', hint: 'Set one with `pawl limits set <name> <n>`.' },
    )
  })
}

async function set(cli: Cli, name: string, n: string): Promise<void> {
  const max = readWholeOption(n, '<n>') ?? 0
  await cli.withClient('create', async (client) => {
    const limit = await client.request('PUT /api/limits/{name}', { params: { name }, body: { max } })
    if (cli.isJson) return cli.printJson(limit)
    cli.print(`The limit ${escapeLine(limit.name)} is ${limit.max}.`)
  })
}

async function remove(cli: Cli, name: string): Promise<void> {
  await cli.withClient('change', async (client) => {
    await client.request('DELETE /api/limits/{name}', { params: { name } })
    if (cli.isJson) return cli.printJson({ name, removed: true })
    cli.print(`The limit ${escapeLine(name)} is removed.`)
  })
}
