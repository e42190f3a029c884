import type { Body, BodyEnd, BodyRequest, InterruptCause, Isolation } from './body.ts'
import type { Handler } from './handler-module.ts'
import { createContext, type HandlerContext, interruptReason, Skip } from './host-context.ts'
import { factsOf } from './protocol.ts'
import { isNonRetryable } from './sent-error.ts'

/** Executes bodies as plain calls in this process. They can be asked to end, never forced. */
export function inProcessIsolation(handler: Handler): Isolation {
  return { start: (request) => new InProcessBody(handler, request) }
}

class InProcessBody implements Body {
  readonly ended: Promise<BodyEnd>
  #controller: AbortController | null = null
  #interruptedBy: InterruptCause | null = null

  constructor(handler: Handler, request: BodyRequest) {
    const context = createContext(factsOf(request), () => this.#signal(), request.reporter)
    this.ended = call(handler, context)
  }

  interrupt(cause: InterruptCause): void {
    this.#interruptedBy ??= cause
    this.#controller?.abort(interruptReason(this.#interruptedBy))
  }

  /** Made when the handler first asks for it: most never do. */
  #signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.#interruptedBy !== null) this.#controller.abort(interruptReason(this.#interruptedBy))
    }
    return this.#controller.signal
  }
}

async function call(handler: Handler, context: HandlerContext): Promise<BodyEnd> {
  try {
    const value = await handler(context)
    if (value instanceof Skip) return { kind: 'skipped', reason: value.reason }
    return { kind: 'returned', value, exitCode: null }
  } catch (error) {
    return { kind: 'threw', error, retryable: !isNonRetryable(error), exitCode: null }
  }
}
