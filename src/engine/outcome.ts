import { encodeJson, RESULT_BYTES_MAX } from '../domain/json.ts'
import { capText, ERROR_TEXT_MAX, type FailureReason, type Outcome, STACK_TEXT_MAX } from '../domain/run.ts'
import type { BodyEnd, InterruptCause } from './isolation/body.ts'
import { describeThrown } from './isolation/sent-error.ts'

export type Failure = Outcome & { readonly status: 'FAILED' }

/** Turns the end of a body into the outcome of its Run. */
export function outcomeOf(end: BodyEnd): Outcome {
  switch (end.kind) {
    case 'returned':
      return outcomeOfResult(end.value, end.exitCode)
    case 'skipped':
      return { status: 'SKIPPED', message: capText(end.reason, ERROR_TEXT_MAX) }
    case 'threw':
      return failureOf('error', end.error, end.exitCode)
    case 'died':
      return failure('error', end.message, end.exitCode)
  }
}

function outcomeOfResult(value: unknown, exitCode: number | null): Outcome {
  const encoded = encodeJson(value, RESULT_BYTES_MAX)
  switch (encoded.kind) {
    case 'ok':
      return { status: 'COMPLETED', result: encoded.text, exitCode }
    case 'unserialisable':
      return failure('unserialisable-result', `The result cannot be written as JSON: ${encoded.message}.`, exitCode)
    case 'too-large': {
      const { bytes, bytesMax } = encoded
      const message = `The result has ${bytes} bytes as JSON, and at most ${bytesMax} are kept. Store it elsewhere and return a reference.`
      return failure('result-too-large', message, exitCode)
    }
  }
}

function failureOf(reason: FailureReason, error: unknown, exitCode: number | null): Failure {
  const { name, message, stack } = describeThrown(error)
  const text = name === null || name === 'Error' ? message : `${name}: ${message}`
  return { ...failure(reason, text, exitCode), stack: stack === null ? null : capText(stack, STACK_TEXT_MAX) }
}

export function failure(reason: FailureReason, message: string, exitCode: number | null = null): Failure {
  return { status: 'FAILED', reason, error: capText(message, ERROR_TEXT_MAX), stack: null, exitCode }
}

/** The outcome of a body that was told to end. It is known at that instant, whatever the code does afterwards. */
export function interruptedOutcome(cause: InterruptCause, timeoutMs: number | null): Failure {
  switch (cause) {
    case 'timeout':
      return failure('timeout', `The job took longer than its timeout of ${timeoutMs} ms.`)
    case 'cancelled':
      return failure('cancelled', 'The job was cancelled while it was running.')
    case 'shutdown':
      return failure('shutdown', 'The process was shut down before the job ended.')
    case 'disconnected':
      return failure(
        'crash',
        'This node lost its connection to the database; the body was stopped before another node could start it again.',
      )
  }
}
