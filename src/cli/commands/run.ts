import type { Command } from 'commander'
import { choice } from '../choice.ts'
import type { Cli } from '../cli.ts'
import { readDuration } from '../duration.ts'
import { jsonBlock, printDetails } from '../output/details.ts'
import { examples } from '../output/help.ts'
import { lasted } from '../output/times.ts'
import { collect, given, readWordOption } from '../read-options.ts'
import { readParams } from '../read-params.ts'

const ON_BUSY = ['wait', 'reject'] as const

export function register(program: Command, cli: Cli): void {
  program
    .command('run')
    .description('execute a type now, before the queue, and print its result; it makes no job')
    .argument('<type>', 'what to execute; a started `pawl serve` or `pawl worker` must handle it')
    .option('-p, --param <key=value>', 'one param; JSON where it is JSON, else text', collect)
    .option('--params <json>', 'all params: JSON, @file, or - for stdin')
    .option('--wait-timeout <duration>', 'how long to wait for a free place (default: 5m)')
    .addOption(choice('--on-busy <what>', 'wait or reject (default: wait)', ON_BUSY))
    .addHelpText(
      'after',
      `${examples([
        ['pawl run story -p genre=gothic', 'in the next free place'],
        ['pawl run story -p genre=gothic --on-busy reject', 'now or not at all'],
      ])}\n\nExits with 1 when the handler fails. Ctrl-C gives the ticket back; a body that runs already goes on to its end.`,
    )
    .action((type: string, options: RunOptions) => run(cli, type, options))
}

interface RunOptions {
  readonly param?: readonly string[]
  readonly params?: string
  readonly waitTimeout?: string
  readonly onBusy?: string
}

async function run(cli: Cli, type: string, options: RunOptions): Promise<void> {
  const { waitTimeout } = options
  const body = given({
    params: await readParams(cli, options),
    wait_timeout_ms: waitTimeout === undefined ? undefined : readDuration(waitTimeout, '--wait-timeout'),
    on_busy: readWordOption(options.onBusy, ON_BUSY, '--on-busy'),
  })
  await cli.withClient('create', async (client) => {
    const answer = await client.request('POST /api/direct/{type}', { params: { type }, body })
    if (cli.isJson) return cli.printJson(answer)
    printDetails(cli, answer.skipped === null ? 'Completed' : 'Skipped', [
      ['reservation', answer.reservation_id],
      ['took', lasted(Date.parse(answer.finished_at) - Date.parse(answer.started_at))],
      ['skipped', answer.skipped],
      ['result', answer.skipped === null ? jsonBlock(answer.result) : null],
    ])
  })
}
