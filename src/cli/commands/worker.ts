import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { examples } from '../output/help.ts'
import { withProcessOptions } from '../serve/process-options.ts'
import type { WorkerFlags } from '../serve/worker.ts'

export function register(program: Command, cli: Cli): void {
  const command = program
    .command('worker')
    .description('execute jobs, without the API; any number of workers may share a store')
    .option('--once', 'end when nothing executes and nothing more can start')
  withProcessOptions(command)
    .addHelpText(
      'after',
      `${examples([
        ['pawl worker --concurrency 4', 'execute the jobs of pawl.config.ts, four at once'],
        ['pawl worker --once', 'execute what is ready, then end: for cron and CI'],
      ])}\n${ENDING}`,
    )
    .action(async (flags: WorkerFlags) => {
      const { work } = await import('../serve/worker.ts')
      await work(cli, flags)
    })
}

const ENDING = `
With --once, jobs that become ready meanwhile (dependents, follow-ups, retries that are due at once) are executed too;
delayed ones, among them most retries, are left to the next time. It exits with 0 also when jobs failed: their outcome is
in the history, but with 1 when for 5 s nothing can be claimed because the database fails.
SIGTERM or Ctrl-C ends it in good order and exits with 0; a second signal exits at once.`
