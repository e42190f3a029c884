import type { Isolation } from './body.ts'
import { moduleUrlOf } from './handler-module.ts'
import { startHosted } from './hosted-body.ts'
import { factsOf } from './protocol.ts'

export interface ProcessIsolationOptions {
  /** The handler's module, as a file: URL or an absolute path. It exports `run`, or the handler as its default. */
  readonly module: URL | string
  /**
   * Options for the child's Node.
   * @default those of this process, but none of the debugger
   */
  readonly execArgv?: readonly string[]
}

const HOST = new URL('./process-host.js', import.meta.url)

/**
 * Executes each body in a child process of its own, which survives neither an ignored interrupt nor the death of this
 * process. It has this process's environment. Processes that the handler starts are killed when it has ended, except
 * those that it detached.
 */
export function processIsolation(options: ProcessIsolationOptions): Isolation {
  const module = moduleUrlOf(options.module)
  const execArgv = [...(options.execArgv ?? inheritedExecArgv())]
  return {
    start: (request) =>
      startHosted({ host: HOST, execArgv, order: { kind: 'run-handler', module, facts: factsOf(request) } }, request),
  }
}

function inheritedExecArgv(): readonly string[] {
  const inherited: string[] = []
  for (let index = 0; index < process.execArgv.length; index++) {
    const option = process.execArgv[index] ?? ''
    // `node -e code` and `node -p code`: the code is this process's own.
    if (/^(-[ep]|-pe|--eval|--print)$/.test(option)) index++
    // Two processes cannot share a debugger's port, and nobody would continue a child that stops at its first line.
    else if (!/^--(inspect|eval=|print=)/.test(option)) inherited.push(option)
  }
  return inherited
}
