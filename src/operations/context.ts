import type { JsonObject } from '../domain/json.ts'
import type { AcceptedType } from '../engine/enqueue.ts'
import type { Clock } from '../platform/clock.ts'
import type { IdSource } from '../platform/ids.ts'
import type { AddressGuard } from '../platform/webhook-address.ts'
import type { Store } from '../store/store.ts'

/** What every operation works on. A door makes one and hands it to the operations it calls. */
export interface OperationContext {
  readonly store: Store
  readonly clock: Clock
  readonly newId: IdSource
  readonly types: TypeDirectory
  /** Which addresses webhooks may call. */
  readonly webhookGuard: AddressGuard
}

/** The types that are known on this store, also those that only other processes handle. */
export interface TypeDirectory {
  /** Throws `unknown_type` when no node has ever registered it. */
  get(type: string): AcceptedType | Promise<AcceptedType>
  /** What params it takes, as JSON Schema. Null: it says nothing of them, or not here. */
  paramsSchemaOf(type: string): JsonObject | null
}
