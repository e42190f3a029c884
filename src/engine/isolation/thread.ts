import { type ResourceLimits, Worker } from 'node:worker_threads'
import type { Body, BodyEnd, BodyRequest, InterruptCause, Isolation } from './body.ts'
import { endedBody, endOf, paramsCannotMove } from './body-end.ts'
import { moduleUrlOf } from './handler-module.ts'
import { HostListener } from './host-listener.ts'
import { KillTimer } from './kill-timer.ts'
import { factsOf, type HandlerOrder, type ToHost } from './protocol.ts'
import { describeThrown } from './sent-error.ts'

export interface ThreadIsolationOptions {
  /** The handler's module, as a file: URL or an absolute path. It exports `run`, or the handler as its default. */
  readonly module: URL | string
  /** Limits of the thread's memory. A thread that goes over them dies. */
  readonly resourceLimits?: ResourceLimits
}

const HOST = new URL('./thread-host.js', import.meta.url)

/**
 * Executes each body in a thread of its own, which is killed when it does not heed an interrupt. Only code inside a
 * native call cannot be killed: its thread ends when the call returns. A crash of the process takes its threads along.
 */
export function threadIsolation(options: ThreadIsolationOptions): Isolation {
  const module = moduleUrlOf(options.module)
  const resourceLimits = options.resourceLimits ?? {}
  return {
    start(request) {
      const order: HandlerOrder = { kind: 'run-handler', module, facts: factsOf(request) }
      try {
        return new ThreadBody(new Worker(HOST, { workerData: order, resourceLimits }), request)
      } catch (error) {
        return endedBody(paramsCannotMove(error, request))
      }
    },
  }
}

class ThreadBody implements Body {
  readonly ended: Promise<BodyEnd>
  readonly #worker: Worker
  readonly #listener: HostListener
  readonly #killTimer: KillTimer

  constructor(worker: Worker, request: BodyRequest) {
    this.#worker = worker
    this.#killTimer = new KillTimer(request.killGraceMs, () => void worker.terminate())
    this.#listener = new HostListener({
      reporter: request.reporter,
      reply: (message) => this.#send(message),
      onAnswer: () => this.#killTimer.arm(null),
    })
    worker.on('message', (message) => this.#listener.hear(message))
    this.ended = this.#whenEnded()
  }

  interrupt(cause: InterruptCause): void {
    // A second time changes nothing: a signal fires once, and the grace is not prolonged.
    this.#send({ kind: 'interrupt', cause })
    this.#killTimer.arm(cause)
  }

  #send(message: ToHost): void {
    this.#worker.postMessage({ pawl: message })
  }

  async #whenEnded(): Promise<BodyEnd> {
    let failure: unknown
    this.#worker.on('error', (error) => {
      failure ??= error
    })
    const exitCode = await new Promise<number>((resolve) => this.#worker.on('exit', resolve))
    this.#killTimer.disarm()
    const { answer } = this.#listener
    return answer === null ? this.#death(exitCode, failure) : endOf(answer, '')
  }

  #death(exitCode: number, failure: unknown): BodyEnd {
    if (this.#killTimer.hasFired) {
      return { kind: 'died', message: 'The thread was killed: it did not end when it was interrupted.', exitCode: null }
    }
    if (failure === undefined) {
      return { kind: 'died', message: `The thread exited with code ${exitCode} before its handler returned.`, exitCode }
    }
    const { name, message } = describeThrown(failure)
    return { kind: 'died', message: `The thread died: ${name ?? 'thrown'}: ${message}`, exitCode }
  }
}
