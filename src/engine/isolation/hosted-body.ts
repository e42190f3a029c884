import type { ForkOptions } from 'node:child_process'
import { identifyProcess } from '../../platform/processes.ts'
import type { Body, BodyEnd, BodyRequest, InterruptCause } from './body.ts'
import { endedBody, endOf, paramsCannotMove, withTail } from './body-end.ts'
import { ChildOutput } from './child-output.ts'
import { HostListener } from './host-listener.ts'
import { type HostExit, HostProcess } from './host-process.ts'
import { KillTimer } from './kill-timer.ts'
import type { CommandOrder, HandlerOrder } from './protocol.ts'
import { describeThrown } from './sent-error.ts'

/** Which child to start for a body, and what to tell it once it may begin. */
export interface HostCall extends Pick<ForkOptions, 'env' | 'execArgv'> {
  readonly host: URL
  readonly order: HandlerOrder | CommandOrder
}

/** Starts a body in a child process. */
export function startHosted(call: HostCall, request: BodyRequest): Body {
  try {
    return new HostedBody(call, request)
  } catch (error) {
    return endedBody(notStarted(error))
  }
}

/** A body in a child process, from its start until nothing of it is left. */
class HostedBody implements Body {
  readonly ended: Promise<BodyEnd>
  readonly #call: HostCall
  readonly #request: BodyRequest
  readonly #process: HostProcess
  readonly #output: ChildOutput
  readonly #listener: HostListener
  readonly #killTimer: KillTimer
  #interruptCause: InterruptCause | null = null
  #hasBegun = false

  /** Throws what the operating system refuses at once. */
  constructor(call: HostCall, request: BodyRequest) {
    this.#call = call
    this.#request = request
    const { host, order: _, ...options } = call
    this.#process = new HostProcess(host, options, (message) => this.#listener.hear(message))
    this.#killTimer = new KillTimer(request.killGraceMs, () => this.#process.killGroup())
    this.#listener = new HostListener({
      reporter: request.reporter,
      reply: (message) => this.#process.send(message),
      onAnswer: () => this.#killTimer.arm(null),
    })
    this.#output = new ChildOutput(request.logPath, (text) => request.reporter.log('warn', text, undefined))
    for (const stream of this.#process.output) this.#output.read(stream)
    this.ended = this.#live()
  }

  interrupt(cause: InterruptCause): void {
    if (this.#interruptCause !== null) return
    this.#interruptCause = cause
    // What has not begun needs no time to end.
    if (!this.#hasBegun) return this.#process.killGroup()
    this.#process.send({ kind: 'interrupt', cause })
    this.#killTimer.arm(cause)
  }

  async #live(): Promise<BodyEnd> {
    const [refusal, exit] = await Promise.all([this.#begin(), this.#process.exited.catch(notStarted)])
    this.#killTimer.disarm()
    await this.#output.close()
    if (refusal !== null) return refusal
    if ('kind' in exit) return exit
    const { answer } = this.#listener
    return answer === null ? this.#death(exit) : endOf(answer, this.#output.tail())
  }

  /** Lets the child begin once the store knows who it is. Otherwise kills it, and says how its body ended. */
  async #begin(): Promise<BodyEnd | null> {
    const refusal = this.#process.pid === undefined ? null : await this.#findRefusal(this.#process.pid)
    if (refusal !== null) this.#process.killGroup()
    return refusal
  }

  async #findRefusal(pid: number): Promise<BodyEnd | null> {
    const identity = identifyProcess(pid)
    if (identity === null) return died('The child process could not be identified.', null)
    // Not inside of `start`: whoever is asked to record may look for the body, and nobody has it yet.
    await Promise.resolve()
    try {
      if ((await this.#request.recordChild(identity)) === 'late')
        return died('The Run ended before its child began.', null)
    } catch (error) {
      return { kind: 'threw', error, retryable: true, exitCode: null }
    }
    if (this.#interruptCause !== null)
      return died(`The child was interrupted (${this.#interruptCause}) before it began.`, null)
    try {
      this.#process.send(this.#call.order)
      this.#hasBegun = true
      return null
    } catch (error) {
      return paramsCannotMove(error, this.#request)
    }
  }

  #death({ code, signal }: HostExit): BodyEnd {
    const sentence = this.#killTimer.hasFired
      ? `The child process was killed: it had not ended ${this.#killTimer.graceMs} ms after it was interrupted.`
      : code === null
        ? `The child process was killed by ${signal}.`
        : `The child process exited with code ${code} before it had an answer.`
    return died(withTail(sentence, this.#output.tail()), code)
  }
}

function died(message: string, exitCode: number | null): BodyEnd {
  return { kind: 'died', message, exitCode }
}

function notStarted(error: unknown): BodyEnd {
  return died(`The child process could not be started: ${describeThrown(error).message}`, null)
}
