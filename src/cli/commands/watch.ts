import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { examples } from '../output/help.ts'

export function register(program: Command, cli: Cli): void {
  program
    .command('watch')
    .description('show what happens, live: running jobs with their progress, the queue, the latest results')
    .addHelpText(
      'after',
      `${examples([
        ['pawl watch --server http://127.0.0.1:4747', 'watch a server; Ctrl-C ends it'],
        ['pawl watch --store sqlite:pawl.db', 'watch a store, whichever processes work on it'],
        ['pawl watch | grep job.finished', 'without a terminal: one line for each event'],
        ['pawl watch --json', 'one JSON document for each event'],
      ])}\n\nIt changes nothing. When the server goes away it waits for it and goes on. Ctrl-C exits with 0.`,
    )
    .action(() => watch(cli))
}

async function watch(cli: Cli): Promise<void> {
  const { watchInLines } = await import('../watch/watch-lines.ts')
  const { watchOnScreen } = await import('../watch/watch-screen.ts')
  const signal = AbortSignal.any([cli.interrupted, cli.io.outputClosed])
  await cli.withClient('read', async (client) => {
    if (cli.isTTY && !cli.isJson) await watchOnScreen(cli, client, client.description, signal)
    else await watchInLines(cli, client, signal)
  })
}
