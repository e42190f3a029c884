import { writeSync } from 'node:fs'
import { EXIT } from './exit-codes.ts'
import type { ProcessIo } from './io.ts'
import { escapeBlock, escapeLine, safeJson } from './output/escape.ts'

/** What the command line says about how to tell of a crash. */
export interface CrashOptions {
  readonly isJson: boolean
  readonly isVerbose: boolean
  /** How long a command may take to end after a crash, unless it ends in good order by itself. */
  readonly lingerMs: number
}

const STDERR = 2

/** Errors that nobody catches: of the configuration or of a handler, in code that is not ours. */
export function listenToCrashes(io: ProcessIo, options: CrashOptions): { readonly settled: () => void } {
  const tell = (message: string, error: unknown): void => {
    const line = options.isJson
      ? safeJson({ code: 'internal_error', detail: message })
      : `error: ${escapeLine(message)}`
    const stack = options.isVerbose && error instanceof Error ? `${escapeBlock(error.stack ?? '')}\n` : ''
    io.stderr.write(`${line}\n${stack}`)
  }
  const crash = (error: unknown): void => {
    tell(
      `Something threw an error that nobody caught: ${error instanceof Error ? error.message : String(error)}`,
      error,
    )
    process.exitCode = EXIT.failed
    if (!io.interrupted.aborted) io.interrupt(EXIT.failed)
    if (io.endsInGoodOrder === true) return
    AbortSignal.timeout(options.lingerMs).addEventListener('abort', () => process.exit())
  }
  process.on('uncaughtException', crash)
  process.on('unhandledRejection', crash)

  let isSettled = false
  process.on('exit', () => {
    if (isSettled || process.exitCode !== UNSETTLED) return
    process.exitCode = EXIT.failed
    const message =
      'The command waits for something that cannot come any more. Does the configuration await something that never settles?'
    writeSync(STDERR, options.isJson ? `${safeJson({ code: 'failed', detail: message })}\n` : `error: ${message}\n`)
  })
  return { settled: () => void (isSettled = true) }
}

/** With which Node ends a process that has nothing left to do, though its main module has not come to its end. */
const UNSETTLED = 13
