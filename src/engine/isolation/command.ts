import type { BodyRequest, Isolation } from './body.ts'
import { endedBody } from './body-end.ts'
import { type CommandEnvironment, commandEnvironment, launcherEnvironment } from './command-environment.ts'
import { startHosted } from './hosted-body.ts'
import type { CommandOrder } from './protocol.ts'
import { isNonRetryable } from './sent-error.ts'

export interface CommandIsolationOptions<Params = unknown> {
  /** The program and its arguments, made from the params. No shell ever sees them, so nothing in them is special. */
  readonly argv: (params: Params) => readonly string[]
  /**
   * The folder in which the command starts.
   * @default the folder of this process
   */
  readonly cwd?: string
  readonly env?: CommandEnvironment
}

const HOST = new URL('./command-host.js', import.meta.url)

/**
 * Executes each body as an external command. It reads the params as JSON from its standard input. A launcher starts it,
 * waits for it, and takes it along when this process dies. Processes that the command left in its process group when it
 * exited are killed.
 */
export function commandIsolation<Params = unknown>(options: CommandIsolationOptions<Params>): Isolation {
  return {
    start(request) {
      try {
        const order = orderOf(options, request)
        // The launcher starts plain: it needs none of the options this Node was given, and neither does the command.
        return startHosted({ host: HOST, execArgv: [], env: launcherEnvironment(), order }, request)
      } catch (error) {
        return endedBody({ kind: 'threw', error, retryable: !isNonRetryable(error), exitCode: null })
      }
    },
  }
}

function orderOf<Params>(options: CommandIsolationOptions<Params>, request: BodyRequest): CommandOrder {
  return {
    kind: 'run-command',
    argv: checkArgv(options.argv(request.params as Params)),
    cwd: options.cwd ?? null,
    env: commandEnvironment(options.env ?? {}, request),
    input: JSON.stringify(request.params ?? null),
  }
}

function checkArgv(argv: unknown): readonly string[] {
  const isArgv = Array.isArray(argv) && argv.length > 0 && argv[0] !== '' && argv.every(isArgument)
  if (isArgv) return argv
  throw new TypeError('Expected `argv` to return the program and its arguments: one or more texts without U+0000.')
}

function isArgument(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0')
}
