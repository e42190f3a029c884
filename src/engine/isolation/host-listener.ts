import type { BodyReporter } from './body.ts'
import { type Answer, type FromHost, openEnvelope, type ToHost } from './protocol.ts'
import { describeThrown } from './sent-error.ts'

interface HostListenerOptions {
  readonly reporter: BodyReporter
  readonly reply: (message: ToHost) => void
  /** The host has said its last word and will end now. */
  readonly onAnswer: () => void
}

/** The node's ear at a host: hands on what the body reports, and keeps the host's answer. */
export class HostListener {
  readonly #options: HostListenerOptions
  answer: Answer | null = null

  constructor(options: HostListenerOptions) {
    this.#options = options
  }

  hear(value: unknown): void {
    const message = openEnvelope<FromHost>(value)
    // After its answer a host has nothing to say: what still comes is from code that its handler left behind.
    if (message !== null && this.answer === null) this.#handle(message)
  }

  #handle(message: FromHost): void {
    const { reporter, onAnswer } = this.#options
    switch (message.kind) {
      case 'log':
        return reporter.log(message.level, message.text, message.fields)
      case 'progress':
        return reporter.progress(message.fraction, message.message)
      case 'artifact':
        return reporter.addArtifact(message.path, message.name)
      case 'enqueue':
        return void this.#enqueue(message)
      case 'answer':
        this.answer = message.answer
        return onAnswer()
    }
  }

  async #enqueue({ question, type, params, options }: Extract<FromHost, { kind: 'enqueue' }>): Promise<void> {
    const { reporter, reply } = this.#options
    try {
      reply({ kind: 'enqueued', question, jobId: await reporter.enqueue(type, params, options) })
    } catch (error) {
      reply({ kind: 'enqueue-refused', question, error: describeThrown(error) })
    }
  }
}
