import type { Body, BodyEnd, BodyRequest } from './body.ts'
import type { Answer } from './protocol.ts'
import { describeThrown, rebuildThrown } from './sent-error.ts'

/** How a body ended, after its host answered. `tail` is the end of what it printed. */
export function endOf(answer: Answer, tail: string): BodyEnd {
  switch (answer.kind) {
    case 'returned':
      return { kind: 'returned', value: JSON.parse(answer.json), exitCode: null }
    case 'unserialisable':
      return { kind: 'returned', value: refusesJson(answer.message), exitCode: null }
    case 'skipped':
      return answer
    case 'threw':
      return { kind: 'threw', error: rebuildThrown(answer.error), retryable: answer.error.retryable, exitCode: null }
    case 'exited':
      return endOfCommand(answer.code, answer.signal, tail)
    case 'not-started':
      return { kind: 'threw', error: plainError(answer.message), retryable: true, exitCode: null }
  }
}

/** A body that ended before it began. */
export function endedBody(end: BodyEnd): Body {
  return { ended: Promise.resolve(end), interrupt: () => {} }
}

/** Params that cannot be cloned. Trying again cannot help: they will not change. */
export function paramsCannotMove(thrown: unknown, request: BodyRequest): BodyEnd {
  const { message } = describeThrown(thrown)
  const text = `The params of ${request.identity.type} cannot be handed to another thread or process: ${message}`
  return { kind: 'threw', error: plainError(text), retryable: false, exitCode: null }
}

/** An error of ours about something outside, where our own stack would only mislead. */
function plainError(message: string): Error {
  const error = new Error(message)
  error.stack = `Error: ${message}`
  return error
}

export function withTail(sentence: string, tail: string): string {
  return tail === '' ? sentence : `${sentence}\n${tail}`
}

function endOfCommand(code: number | null, signal: string | null, tail: string): BodyEnd {
  if (code === 0) return { kind: 'returned', value: null, exitCode: 0 }
  const sentence = code === null ? `Command was killed by ${signal}` : `Command exited with code ${code}`
  return { kind: 'threw', error: plainError(withTail(sentence, tail)), retryable: true, exitCode: code }
}

/**
 * Stands for a result that could not be written as JSON where it was made. Writing it as JSON fails here too, with the
 * same message, so the executor finds out just as it does for a handler in its own process.
 */
function refusesJson(message: string) {
  return {
    toJSON(): never {
      throw new TypeError(message)
    },
  }
}
