import { PawlError } from '../../domain/errors.ts'
import type { JobPolicy } from '../../domain/job.ts'

/** A policy as it was written. Else something else wrote it: `message` says whose it is and what to do about it. */
export function readPolicy(text: string, message: string, details: Record<string, string | number>): JobPolicy {
  try {
    const policy: unknown = JSON.parse(text)
    if (typeof policy !== 'object' || policy === null) throw new TypeError(`Expected an object, got ${text}.`)
    return policy as JobPolicy
  } catch (error) {
    throw new PawlError('database_corrupt', message, { cause: error, details })
  }
}
