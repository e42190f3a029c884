import { NonRetryableError } from '../../domain/errors.ts'
import type { SentError } from './protocol.ts'

/** Describes a thrown value so that it can leave its thread or process. Never throws, whatever was thrown. */
export function describeThrown(thrown: unknown): SentError {
  try {
    return thrown instanceof Error ? describeError(thrown) : describeOther(thrown)
  } catch {
    return describeOther('an error that cannot be described')
  }
}

/** The thrown value again, on the other side: an Error with the same name, message, stack and code. */
export function rebuildThrown(sent: SentError): unknown {
  if (sent.name === null) return sent.message
  const error = new Error(sent.message)
  error.stack = sent.stack ?? `${sent.name}: ${sent.message}`
  if (sent.name !== 'Error') define(error, 'name', sent.name)
  return sent.code === null ? error : define(error, 'code', sent.code)
}

/** Also by name, because the handler's module may have loaded another copy of Pawl. */
export function isNonRetryable(thrown: unknown): boolean {
  try {
    return thrown instanceof NonRetryableError || (thrown instanceof Error && thrown.name === 'NonRetryableError')
  } catch {
    // A proxy or a getter that throws: whatever it is, it does not say that.
    return false
  }
}

function describeError(error: Error): SentError {
  const code = 'code' in error ? error.code : null
  return {
    name: String(error.name),
    message: String(error.message),
    stack: typeof error.stack === 'string' ? error.stack : null,
    code: typeof code === 'string' || typeof code === 'number' ? code : null,
    retryable: !isNonRetryable(error),
  }
}

function describeOther(thrown: unknown): SentError {
  return { name: null, message: String(thrown), stack: null, code: null, retryable: true }
}

function define(error: Error, key: string, value: unknown): Error {
  return Object.defineProperty(error, key, { value, configurable: true, enumerable: false, writable: true })
}
