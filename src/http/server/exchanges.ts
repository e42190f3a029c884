import type { IncomingMessage, ServerResponse } from 'node:http'
import { PawlError } from '../../domain/errors.ts'
import type { Identity } from '../session-door.ts'

/** One request that is being answered. */
export class Exchange {
  readonly #response: ServerResponse
  #controller: AbortController | null = null
  /** What the metrics call it: `/api/jobs/{job_id}`. Null: no route of ours. */
  route: string | null = null
  /** Who asks, once that is known. */
  identity: Identity | null = null
  /** A stream has no end of its own; its owner ends it. */
  isStream = false

  constructor(response: ServerResponse) {
    this.#response = response
  }

  /** Fires when the caller is gone, or when the server cannot wait any longer. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    return this.#controller.signal
  }

  /** The answer is the last one on its connection. */
  closeAfterwards(): void {
    if (!this.#response.headersSent) this.#response.setHeader('connection', 'close')
  }

  /** Null: nobody has asked for the signal, so nobody waits for long. */
  get signalInUse(): AbortSignal | null {
    return this.#controller?.signal ?? null
  }

  giveUp(reason: Error): void {
    this.#controller?.abort(reason)
  }

  get isAnswered(): boolean {
    return this.#response.writableFinished
  }
}

export type ExchangeEnded = (exchange: Exchange, request: IncomingMessage, response: ServerResponse) => void

/** All requests that are being answered, so that the server can end in good order. */
export class Exchanges {
  readonly #open = new Map<ServerResponse, Exchange>()
  #isClosing = false

  begin(request: IncomingMessage, response: ServerResponse, ended: ExchangeEnded): Exchange {
    const exchange = new Exchange(response)
    this.#open.set(response, exchange)
    if (this.#isClosing) exchange.closeAfterwards()
    response.once('close', () => {
      this.#open.delete(response)
      if (!exchange.isAnswered) exchange.giveUp(callerIsGone())
      ended(exchange, request, response)
    })
    return exchange
  }

  of(response: ServerResponse): Exchange {
    const exchange = this.#open.get(response)
    if (exchange === undefined) throw new Error('Pawl has a bug: a request is answered that was never begun')
    return exchange
  }

  /** From now on every answer closes its connection. */
  beginClosing(): void {
    this.#isClosing = true
    for (const exchange of this.#open.values()) exchange.closeAfterwards()
  }

  /** Of those that may wait for long. */
  get signals(): ReadonlySet<AbortSignal> {
    const signals = [...this.#open.values()].map(({ signalInUse }) => signalInUse)
    return new Set(signals.filter((signal) => signal !== null))
  }

  /** Tells all that wait that there is no more time. */
  giveUp(reason: Error): void {
    for (const exchange of this.#open.values()) exchange.giveUp(reason)
  }
}

function callerIsGone(): PawlError {
  return new PawlError('malformed_request', 'The caller is gone.')
}
