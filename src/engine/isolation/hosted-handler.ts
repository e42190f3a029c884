import { assert } from '../../domain/errors.ts'
import { encodeJson } from '../../domain/json.ts'
import type { BodyReporter } from './body.ts'
import { importHandler } from './handler-module.ts'
import { createContext, interruptReason, Skip } from './host-context.ts'
import type { Answer, FromHost, HandlerOrder, ToHost } from './protocol.ts'
import { describeThrown, rebuildThrown } from './sent-error.ts'

interface Question {
  readonly resolve: (jobId: string) => void
  readonly reject: (error: unknown) => void
}

/** The handler inside its thread or child: runs it, and turns what it does into messages. */
export class HostedHandler implements BodyReporter {
  readonly #send: (message: FromHost) => void
  readonly #interruption = new AbortController()
  readonly #questions = new Map<number, Question>()
  readonly #unanswered = new Map<number, Promise<string>>()
  #lastQuestion = 0

  constructor(send: (message: FromHost) => void) {
    this.#send = send
  }

  /** Runs the handler to its end, whatever that is. Never rejects. */
  async execute(order: HandlerOrder): Promise<Answer> {
    try {
      const handler = await importHandler(order.module)
      const value = await handler(createContext(order.facts, () => this.#interruption.signal, this))
      // A follow-up that nobody waited for must still be accepted, or the Run would be COMPLETED without it.
      await Promise.all(this.#unanswered.values())
      return value instanceof Skip ? { kind: 'skipped', reason: value.reason } : answerWith(value)
    } catch (error) {
      return { kind: 'threw', error: describeThrown(error) }
    }
  }

  receive(message: ToHost): void {
    if (message.kind === 'interrupt') this.#interruption.abort(interruptReason(message.cause))
    if (message.kind === 'enqueued') this.#take(message.question)?.resolve(message.jobId)
    if (message.kind === 'enqueue-refused') this.#take(message.question)?.reject(rebuildThrown(message.error))
  }

  log(...[level, text, fields]: Parameters<BodyReporter['log']>): void {
    this.#send({ kind: 'log', level, text, fields })
  }

  progress(...[fraction, message]: Parameters<BodyReporter['progress']>): void {
    this.#send({ kind: 'progress', fraction, message })
  }

  addArtifact(...[path, name]: Parameters<BodyReporter['addArtifact']>): void {
    this.#send({ kind: 'artifact', path, name })
  }

  enqueue(...[type, params, options]: Parameters<BodyReporter['enqueue']>): Promise<string> {
    const question = ++this.#lastQuestion
    // Throws when params or options cannot be cloned, and then nothing was asked.
    this.#send({ kind: 'enqueue', question, type, params, options })
    const answered = new Promise<string>((resolve, reject) => this.#questions.set(question, { resolve, reject }))
    this.#unanswered.set(question, answered)
    return answered
  }

  #take(number: number): Question | undefined {
    const question = this.#questions.get(number)
    this.#questions.delete(number)
    this.#unanswered.delete(number)
    return question
  }
}

function answerWith(value: unknown): Answer {
  const encoded = encodeJson(value, Number.POSITIVE_INFINITY)
  if (encoded.kind === 'unserialisable') return encoded
  assert(encoded.kind === 'ok', 'a result went over an endless limit')
  return { kind: 'returned', json: encoded.text }
}
