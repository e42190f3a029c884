import { userInfo } from 'node:os'
import type { Readable } from 'node:stream'
import { type Clock, systemClock } from '../platform/clock.ts'
import { EXIT } from './exit-codes.ts'

/** Where text goes. */
export interface Output {
  readonly isTTY: boolean
  /** How wide the terminal is; undefined where there is none. */
  readonly columns: number | undefined
  /** And how high. */
  readonly rows?: number | undefined
  write(text: string): void
}

/** Everything that the CLI has to do with the outside, so that tests can stand at the other end. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Who sits there, for the audit log. */
  readonly user: string
  readonly clock: Clock
  /** Fires at the first SIGINT or SIGTERM, with an `Interrupted` as its reason. */
  readonly interrupted: AbortSignal
  /** Fires when nobody reads the output any more, as in `| head`. What is written afterwards is dropped. */
  readonly outputClosed: AbortSignal
  /** True: the command ends in good order by itself once it is interrupted, however long that takes. */
  endsInGoodOrder?: boolean
}

/** The outside of a real process. */
export interface ProcessIo extends Io {
  /** As a signal would. */
  interrupt(exitCode: number): void
}

/** The person at the terminal wants it to end. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  readonly exitCode: number

  constructor(exitCode: number) {
    super('Interrupted.')
    this.exitCode = exitCode
  }
}

/** The real world. Installs what listens to it, so it is made once. */
export function processIo(): ProcessIo {
  const outputClosed = new AbortController()
  const interrupted = new AbortController()
  listenToSignals(interrupted)
  return {
    stdin: process.stdin,
    stdout: outputOver(process.stdout, outputClosed),
    stderr: outputOver(process.stderr, outputClosed),
    env: process.env,
    cwd: process.cwd(),
    user: userName(),
    clock: systemClock,
    interrupted: interrupted.signal,
    outputClosed: outputClosed.signal,
    interrupt: (exitCode) => interrupted.abort(new Interrupted(exitCode)),
  }
}

function outputOver(stream: NodeJS.WriteStream, closed: AbortController): Output {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    closed.abort()
    // A reader that has left is no error of ours. A full disk is: what was to be kept is lost.
    if (error.code === 'EPIPE') return
    process.exitCode = EXIT.failed
    if (stream !== process.stderr) process.stderr.write(`error: The output could not be written (${error.code}).\n`)
  })
  return {
    get isTTY() {
      return stream.isTTY === true
    },
    get columns() {
      return stream.columns
    },
    get rows() {
      return stream.rows
    },
    write(text) {
      if (!closed.signal.aborted) stream.write(text)
    },
  }
}

const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const

/** The first signal asks the command to end in good order; the second ends the process at once. */
function listenToSignals(controller: AbortController): void {
  for (const [signal, exitCode] of Object.entries(SIGNALS)) {
    process.on(signal, () => {
      if (controller.signal.aborted) process.exit(exitCode)
      controller.abort(new Interrupted(exitCode))
    })
  }
}

/** A container may run under a user id that has no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`
  }
}
