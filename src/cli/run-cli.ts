import { Cli } from './cli.ts'
import { withoutHelpCommand } from './help-words.ts'
import type { Io } from './io.ts'
import { createProgram } from './program.ts'
import { reportError } from './report-error.ts'

/** Executes one command line, without the name of the program, and returns what the process should exit with. */
export async function runCli(argv: readonly string[], io: Io): Promise<number> {
  const cli = new Cli(io)
  const program = createProgram(cli)
  try {
    await program.parseAsync([...withoutHelpCommand(program, argv)], { from: 'user' })
    return cli.exitCode
  } catch (error) {
    return reportError(cli, program, argv, error)
  }
}
