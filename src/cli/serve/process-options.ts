import type { Command } from 'commander'
import { CONCURRENCY_MAX } from '../../domain/limits.ts'
import type { PawlConfig } from '../../library/config.ts'
import { usageError } from '../cli-error.ts'
import { readWholeOption } from '../read-options.ts'

/** What `serve` and `worker` take alike, as it stands on the command line. */
export interface ProcessFlags {
  readonly concurrency?: string
  readonly shutdownTimeout?: string
  readonly acceptAnyType?: boolean
}

/** The same, read, with what the configuration says where the command line says nothing. */
export interface ProcessOptions {
  readonly concurrency: number | undefined
  readonly shutdownTimeoutMs: number
  readonly acceptAnyType: boolean
}

const SHUTDOWN_TIMEOUT_DEFAULT_MS = 30_000
const SHUTDOWN_TIMEOUT_MAX_S = 3_600

export function withProcessOptions(command: Command): Command {
  return command
    .option('--concurrency <n>', 'how many jobs execute at once in this process (default: 1)')
    .option(
      '--shutdown-timeout <s>',
      'how many seconds running jobs get to end after SIGTERM or Ctrl-C; then they are aborted and retried (default: 30)',
    )
    .option('--accept-any-type', 'accept jobs of types that nobody has registered yet')
}

export function readProcessOptions(flags: ProcessFlags, config: PawlConfig | null): ProcessOptions {
  const seconds = readWithin(flags.shutdownTimeout, '--shutdown-timeout', 0, SHUTDOWN_TIMEOUT_MAX_S)
  return {
    concurrency: readWithin(flags.concurrency, '--concurrency', 1, CONCURRENCY_MAX) ?? config?.concurrency,
    shutdownTimeoutMs:
      seconds === undefined ? (config?.shutdownTimeoutMs ?? SHUTDOWN_TIMEOUT_DEFAULT_MS) : seconds * 1_000,
    acceptAnyType: flags.acceptAnyType ?? config?.server?.acceptAnyType ?? false,
  }
}

export function readWithin(text: string | undefined, option: string, min: number, max: number): number | undefined {
  const number = readWholeOption(text, option)
  if (number === undefined || (number >= min && number <= max)) return number
  throw usageError(`Expected ${option} to be a whole number from ${min} to ${max}, got '${text}'.`)
}
