import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { killProcessGroup } from '../../platform/process-group.ts'
import { killLeftovers } from '../../platform/processes.ts'
import { LIFELINE_FD } from './lifeline.ts'
import type { ToHost } from './protocol.ts'

export interface HostExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A child process that starts with a host file of ours. It leads a process group of its own. */
export class HostProcess {
  readonly #child: ChildProcess
  /** Resolves when the process is gone, and with it its group. Rejects when it could not be started. */
  readonly exited: Promise<HostExit>

  /** Throws what the operating system refuses at once. */
  constructor(host: URL, options: Pick<ForkOptions, 'env' | 'execArgv'>, onMessage: (message: unknown) => void) {
    this.#child = fork(fileURLToPath(host), [], {
      ...options,
      detached: true,
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc', 'pipe'],
    })
    this.#child.on('message', onMessage)
    // We never use our end of the lifeline. It only must stay open for as long as we live.
    const lifeline = this.#child.stdio?.[LIFELINE_FD] as Readable | null | undefined
    lifeline?.on('error', () => {}).resume()
    this.exited = this.#whenExited()
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get output(): readonly Readable[] {
    return [this.#child.stdout, this.#child.stderr].flatMap((stream) => stream ?? [])
  }

  /** Throws when the message cannot be cloned. A host that is gone already misses it, and that is fine. */
  send(message: ToHost): void {
    this.#child.send({ pawl: message }, () => {})
  }

  killGroup(): void {
    const { pid, exitCode, signalCode } = this.#child
    // Once it has exited its pid may be someone else's.
    if (pid !== undefined && exitCode === null && signalCode === null) killProcessGroup(pid)
  }

  #whenExited(): Promise<HostExit> {
    const child = this.#child
    return new Promise((resolve, reject) => {
      child.on('error', (error) => {
        // Later errors are about messages to a host that is gone.
        if (child.pid === undefined) reject(error)
      })
      child.on('exit', (code, signal) => {
        const gone = child.pid === undefined ? undefined : killLeftovers(child.pid)
        // Its last messages may still be in the channel.
        const silent = child.connected && new Promise((hush) => child.on('disconnect', () => hush(true)))
        Promise.all([gone, silent]).then(() => resolve({ code, signal }), reject)
      })
    })
  }
}
