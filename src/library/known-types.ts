import { PawlError } from '../domain/errors.ts'
import type { AcceptedType } from '../engine/enqueue.ts'
import type { RegisteredType } from '../engine/job-type.ts'
import type { TypeDirectory } from '../operations/context.ts'
import type { MaintenanceStore } from '../store/maintenance.ts'

/** The types this process handles, and those that others have made known on the store. A known type stays known. */
export class KnownTypes implements TypeDirectory {
  readonly #store: Pick<MaintenanceStore, 'findTypes'>
  readonly #known = new Map<string, AcceptedType>()

  constructor(store: Pick<MaintenanceStore, 'findTypes'>, handled: Iterable<RegisteredType>) {
    this.#store = store
    for (const handler of handled) this.#known.set(handler.type, { policy: handler.policy, handler })
  }

  get(type: string): AcceptedType | Promise<AcceptedType> {
    return this.#known.get(type) ?? this.#lookUp(type)
  }

  async #lookUp(type: string): Promise<AcceptedType> {
    for (const { type: name, policy } of await this.#store.findTypes()) {
      if (!this.#known.has(name)) this.#known.set(name, { policy, handler: null })
    }
    const accepted = this.#known.get(type)
    if (accepted !== undefined) return accepted
    const names = [...this.#known.keys()].sort()
    throw new PawlError(
      'unknown_type',
      `Unknown job type \`${type}\`. ${names.length === 0 ? 'No type is registered on this store yet' : `Registered here: ${names.slice(0, 20).join(', ')}`}. ` +
        'Pass the type to openScheduler({ jobs }), or start a node that handles it once.',
      { path: 'type', details: { type } },
    )
  }
}
