import { EXIT } from './exit-codes.ts'

/** What the CLI itself refuses, before or without asking the API. The message is one or two plain sentences. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exitCode: number
  /** For programs that read `--json`. */
  readonly code: string

  constructor(message: string, options: { exitCode?: number; code?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.exitCode = options.exitCode ?? EXIT.failed
    this.code = options.code ?? 'failed'
  }
}

/** A wrong option or value: exit 2. */
export function usageError(message: string): CliError {
  return new CliError(message, { exitCode: EXIT.usage, code: 'usage' })
}
