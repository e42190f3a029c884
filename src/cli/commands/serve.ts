import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { examples } from '../output/help.ts'
import { collect } from '../read-options.ts'
import { withProcessOptions } from '../serve/process-options.ts'
import type { ServeFlags } from '../serve/serve.ts'

export function register(program: Command, cli: Cli): void {
  const command = program
    .command('serve')
    .description('serve the API and execute jobs, in one process')
    .option(
      '--host <address>',
      'the address to listen on; one that others can reach needs API keys (default: 127.0.0.1)',
    )
    .option('--port <n>', 'the port to listen on; 0 is any free one, which is printed (default: 4747)')
    .option('--allow-host <name>', 'a name by which clients may call this server, several times if need be', collect)
    .option('--base-path <path>', 'the path under which a proxy offers this server, such as /pawl')
    .option('--no-dashboard', 'serve the API only, without the dashboard at /')
    .option('--paused', 'serve only; `POST /api/scheduler/start` begins to execute')
  withProcessOptions(command)
    .addHelpText(
      'after',
      `${examples([
        ['pawl serve', 'the jobs of pawl.config.ts, at http://127.0.0.1:4747'],
        ['pawl serve --port 0 --concurrency 4', 'any free port, four jobs at once'],
        [
          'pawl serve --host 0.0.0.0 --allow-host pawl.example.com',
          'for others, once `pawl keys create` has made a key',
        ],
      ])}\n${SIGNALS}`,
    )
    .action(async (flags: ServeFlags) => {
      const { serve } = await import('../serve/serve.ts')
      await serve(cli, flags)
    })
}

const SIGNALS = `
It prints one line with its address when it is ready; everything else goes to stderr. SIGTERM or Ctrl-C ends it in
good order and exits with 0: requests are answered, running jobs may end, the rest is handed on. A second signal exits at
once. A store or an address that is refused exits with 1.`
