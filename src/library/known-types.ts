import { PawlError } from '../domain/errors.ts'
import { JOB_TYPE_PATTERN, type JobPolicy } from '../domain/job.ts'
import type { JsonObject } from '../domain/json.ts'
import { readRetryOptions } from '../domain/options.ts'
import type { AcceptedType } from '../engine/enqueue.ts'
import { jsonSchemaOf, type RegisteredType } from '../engine/job-type.ts'
import type { TypeDirectory } from '../operations/context.ts'
import type { Clock } from '../platform/clock.ts'
import type { MaintenanceStore } from '../store/maintenance.ts'

/** What others made known of a type is asked for again after this long: they may have been deployed anew. */
const LOOK_AGAIN_AFTER_MS = 5_000

/** What Jobs of a type get that nobody has described. */
const DEFAULT_POLICY: JobPolicy = { retry: readRetryOptions(), timeoutMs: null, resources: [] }

/** So many types that nobody has described are remembered; more cost a look at the store each time. */
const STRANGERS_MAX = 10_000

/** The types this process handles, and those that others have made known on the store. A known type stays known. */
export class KnownTypes implements TypeDirectory {
  readonly #store: Pick<MaintenanceStore, 'findTypes'>
  readonly #clock: Clock
  readonly #known = new Map<string, AcceptedType>()
  readonly #acceptAny: boolean
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(
    store: Pick<MaintenanceStore, 'findTypes'>,
    handled: Iterable<RegisteredType>,
    clock: Clock,
    { acceptAny = false }: { readonly acceptAny?: boolean } = {},
  ) {
    this.#store = store
    this.#clock = clock
    this.#acceptAny = acceptAny
    for (const handler of handled) this.#known.set(handler.type, { policy: handler.policy, handler })
  }

  get(type: string): AcceptedType | Promise<AcceptedType> {
    const accepted = this.#known.get(type)
    if (accepted?.handler != null) return accepted
    const isFresh = this.#clock.now() - this.#lookedAt < LOOK_AGAIN_AFTER_MS
    return accepted !== undefined && isFresh ? accepted : this.#lookUp(type)
  }

  paramsSchemaOf(type: string): JsonObject | null {
    return jsonSchemaOf(this.#known.get(type)?.handler?.schema ?? null)
  }

  async #lookUp(type: string): Promise<AcceptedType> {
    this.#lookedAt = this.#clock.now()
    for (const { type: name, policy } of await this.#store.findTypes()) {
      if (this.#known.get(name)?.handler == null) this.#known.set(name, { policy, handler: null })
    }
    const accepted = this.#known.get(type)
    if (accepted !== undefined) return accepted
    if (this.#acceptAny && JOB_TYPE_PATTERN.test(type)) return this.#acceptStranger(type)
    const names = [...this.#known.keys()].sort()
    throw new PawlError(
      'unknown_type',
      `Unknown job type \`${type}\`. ${names.length === 0 ? 'No type is registered on this store yet' : `Registered here: ${names.slice(0, 20).join(', ')}`}. ` +
        'Check the spelling, or start a node that handles it: from then on it is known.',
      { path: 'type', details: { type } },
    )
  }

  /** Once a node registers the type, what it says of it is found at the next look. */
  #acceptStranger(type: string): AcceptedType {
    const stranger: AcceptedType = { policy: DEFAULT_POLICY, handler: null }
    if (this.#known.size < STRANGERS_MAX) this.#known.set(type, stranger)
    return stranger
  }
}
