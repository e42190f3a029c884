import { PawlError } from '../domain/errors.ts'

/** Says of an error which Job of the list it is about. */
export function atIndex<T>(index: number, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw error instanceof PawlError ? withIndex(error, index) : error
  }
}

export function withIndex(error: PawlError, index: number): PawlError {
  const path = `jobs.${index}${error.path === undefined ? '' : `.${error.path}`}`
  return new PawlError(error.code, `Job ${index} of the list: ${error.message} Nothing was stored.`, {
    path,
    details: { ...error.details, index },
    cause: error,
  })
}
