import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { printDetails } from '../output/details.ts'
import { examples } from '../output/help.ts'
import type { Column } from '../output/table.ts'
import { fullTime, lasted } from '../output/times.ts'
import type { Answered } from '../wire.ts'

export function register(program: Command, cli: Cli): void {
  program
    .command('stats')
    .description('count what came of jobs: in all, and by the hour of the last day')
    .addHelpText('after', examples([['pawl stats --json', 'for a program']]))
    .action(() => stats(cli))
}

type Hour = Answered<'GET /api/statistics'>['hours'][number]

async function stats(cli: Cli): Promise<void> {
  await cli.withClient('read', async (client) => {
    const answer = await client.request('GET /api/statistics', {})
    if (cli.isJson) return cli.printJson(answer)
    const { totals, queue, hours } = answer
    printDetails(cli, 'In all', [
      ['executed', totals.executed],
      ['completed', totals.completed],
      ['failed', totals.failed],
      ['skipped', totals.skipped],
      ['cancelled', totals.cancelled],
    ])
    cli.print()
    printDetails(cli, 'Now', [
      ['queued', counted(queue.queued, queue.counted_to)],
      ['ready', counted(queue.ready, queue.counted_to)],
      ['running', counted(queue.running, queue.counted_to)],
      ['waiting since', fullTime(queue.oldest_ready_at, cli.clock.now())],
      ['direct, waiting', queue.waiting_tickets],
      ['direct, running', queue.running_directs],
    ])
    const busy = hours.filter(({ executed, cancelled }) => executed + cancelled > 0)
    if (busy.length === 0) return
    cli.print()
    cli.printTable(hourColumns(), busy)
  })
}

function counted(count: number, countedTo: number): string {
  return `${count}${count >= countedTo ? ' or more' : ''}`
}

function hourColumns(): Column<Hour>[] {
  const number = { align: 'right', yields: 2, minWidth: 6 } as const
  return [
    { title: 'HOUR', text: (hour) => hour.hour_at },
    { title: 'EXECUTED', text: (hour) => hour.executed, align: 'right', yields: 1 },
    { title: 'COMPLETED', text: (hour) => hour.completed, ...number },
    { title: 'FAILED', text: (hour) => hour.failed, align: 'right', yields: 1, minWidth: 6 },
    { title: 'SKIPPED', text: (hour) => hour.skipped, ...number },
    { title: 'CANCELLED', text: (hour) => hour.cancelled, ...number },
    { title: 'EACH TOOK', text: (hour) => mean(hour.run_ms, hour.executed), ...number },
    { title: 'EACH WAITED', text: (hour) => mean(hour.wait_ms, hour.executed), ...number },
  ]
}

function mean(ms: number, count: number): string | null {
  return count === 0 ? null : lasted(ms / count)
}
