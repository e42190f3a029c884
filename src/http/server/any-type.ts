import { PawlError } from '../../domain/errors.ts'
import { readRetryOptions } from '../../domain/options.ts'
import type { Door } from '../../library/door.ts'
import type { TypeDirectory } from '../../operations/context.ts'

/** The same door, through which Jobs of types pass that nobody has registered yet. They wait for a node that does. */
export function acceptingAnyType(door: Door): Door {
  return { ...door, context: { ...door.context, types: anyType(door.context.types) } }
}

function anyType(known: TypeDirectory): TypeDirectory {
  const policy = { retry: readRetryOptions(), timeoutMs: null, resources: [] }
  return {
    async get(type) {
      try {
        return await known.get(type)
      } catch (error) {
        if (error instanceof PawlError && error.code === 'unknown_type') return { policy, handler: null }
        throw error
      }
    },
  }
}
