import { readFileSync } from 'node:fs'
import { Command, Option } from 'commander'
import type { Cli, GlobalOptions } from './cli.ts'
import * as audit from './commands/audit.ts'
import * as backup from './commands/backup.ts'
import * as completion from './commands/completion.ts'
import * as doctor from './commands/doctor.ts'
import * as enqueue from './commands/enqueue.ts'
import * as failures from './commands/failures.ts'
import * as groups from './commands/groups.ts'
import * as init from './commands/init.ts'
import * as jobs from './commands/jobs.ts'
import * as keys from './commands/keys.ts'
import * as limits from './commands/limits.ts'
import * as migrate from './commands/migrate.ts'
import * as nodes from './commands/nodes.ts'
import * as operations from './commands/operations.ts'
import * as prune from './commands/prune.ts'
import * as run from './commands/run.ts'
import * as runs from './commands/runs.ts'
import * as schedules from './commands/schedules.ts'
import * as serve from './commands/serve.ts'
import * as stats from './commands/stats.ts'
import * as status from './commands/status.ts'
import * as templates from './commands/templates.ts'
import * as types from './commands/types.ts'
import * as watch from './commands/watch.ts'
import * as webhooks from './commands/webhooks.ts'
import * as why from './commands/why.ts'
import * as worker from './commands/worker.ts'
import { examples } from './output/help.ts'

interface CommandFile {
  register(program: Command, cli: Cli): void
}

/** In the order of the help. */
const SECTIONS: readonly (readonly [heading: string, files: readonly CommandFile[]])[] = [
  ['Getting work done:', [init, serve, worker, enqueue, run]],
  ['Looking:', [jobs, operations, runs, failures, why, status, watch, stats, nodes, types]],
  ['Composing:', [schedules, templates, groups, webhooks]],
  ['Keeping:', [limits, keys, audit, prune, backup, migrate, doctor, completion]],
]

const ABOUT = `A durable job scheduler.

Commands work on a store (a SQLite file or a PostgreSQL database) or on a server (\`pawl serve\`). Which one is decided in
this order: --server or --store, then PAWL_SERVER or PAWL_STORE, then \`store\` of pawl.config.ts, then pawl.db in this
folder.`

const EXIT_CODES = `
Exit codes: 0 done, 1 failed, 2 wrong usage or value, 4 not found, 5 not possible in its present state.`

/** The whole command line. Nothing heavy is loaded here: commands import what they need when they are called. */
export function createProgram(cli: Cli): Command {
  const program = new Command('pawl')
    .description(ABOUT)
    .version(readVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .configureHelp({
      showGlobalOptions: true,
      sortSubcommands: false,
      // The descriptions name the choices themselves.
      optionDescription: ({ description }) => description,
    })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => cli.stdout.write(text),
      writeErr: (text) => cli.stderr.write(text),
      // Told by report-error.ts.
      outputError: () => {},
      getOutHelpWidth: () => cli.columns ?? 100,
      getErrHelpWidth: () => cli.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
  for (const option of globalOptions()) program.addOption(option)
  program.hook('preAction', (_program, command) => cli.adopt(command.optsWithGlobals<GlobalOptions>()))
  for (const [heading, files] of SECTIONS) {
    program.commandsGroup(heading)
    for (const file of files) file.register(program, cli)
  }
  program.addHelpText(
    'after',
    `${examples([
      ['pawl init && pawl serve', 'write an example configuration, then execute its jobs and serve the API'],
      ['pawl enqueue story -p genre=gothic -p length=800', 'accept a job'],
      ['pawl jobs list --status QUEUED', 'see the queue'],
      ['pawl why <job>', 'ask why a job does not run'],
    ])}\n${EXIT_CODES}`,
  )
  return program
}

function globalOptions(): Option[] {
  return [
    new Option(
      '--store <url>',
      'the store to work on: sqlite:pawl.db, the path of a file, or postgres://host/database',
    ),
    new Option('--server <url>', 'the server to work on, such as http://127.0.0.1:4747'),
    new Option('--key <key>', 'the API key for the server (better: PAWL_API_KEY)'),
    new Option('--config <file>', 'the configuration (default: pawl.config.ts, .mts, .mjs or .js in this folder)'),
    new Option('--json', 'print JSON: what the API answers'),
    new Option('--verbose', 'tell more when something fails'),
    new Option('--no-color', 'print no colours (as NO_COLOR=1 does)'),
  ]
}

function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
