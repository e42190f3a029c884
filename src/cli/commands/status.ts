import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { printDetails } from '../output/details.ts'
import { examples } from '../output/help.ts'
import { nodeColumns } from '../output/nodes.ts'
import type { Answered } from '../wire.ts'

export function register(program: Command, cli: Cli): void {
  program
    .command('status')
    .description('show how the scheduler stands: who executes, what waits, what came of jobs')
    .addHelpText('after', examples([['pawl status --server http://127.0.0.1:4747', 'of a server']]))
    .action(() => status(cli))
}

async function status(cli: Cli): Promise<void> {
  await cli.withClient('read', async (client) => {
    const answer = await client.request('GET /api/scheduler/status', {})
    if (cli.isJson) return cli.printJson(answer)
    const { description, kind } = await cli.target()
    const { cumulative_stats: stats } = answer
    printDetails(cli, `Status of ${description}`, [
      ...(kind === 'server'
        ? [['this server', answer.scheduler_running ? 'executes jobs' : 'is stopped'] as const]
        : []),
      ['processes', processesOf(answer)],
      ['queue', `${answer.queue_length}${answer.queue_length_capped ? ' or more' : ''}`],
      ['running here', answer.current_job_ids.length === 0 ? null : answer.current_job_ids.join(', ')],
      ['direct execution', answer.has_active_reservation ? 'waiting or running' : null],
      ['executed', stats.total_executed],
      ['  succeeded', stats.succeeded],
      ['  failed', stats.failed],
      ['  skipped', stats.skipped],
      ['cancelled', stats.cancelled],
    ])
    if (answer.nodes.length === 0)
      return cli.print('No process executes jobs. Start one with `pawl serve` or `pawl worker`.')
    cli.print()
    cli.printTable(nodeColumns(cli), answer.nodes)
  })
}

function processesOf({ nodes }: Answered<'GET /api/scheduler/status'>): string {
  const working = nodes.filter(({ alive, claims }) => alive && claims).length
  const others = nodes.length - working
  return others === 0 ? `${working} working` : `${working} working, ${others} stopped or dead`
}
