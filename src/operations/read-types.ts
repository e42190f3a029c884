import type { JsonObject } from '../domain/json.ts'
import type { TypeRecord } from '../store/maintenance.ts'
import type { OperationContext } from './context.ts'

/** A type that somebody has made known on this store. */
export interface KnownType extends TypeRecord {
  /** A node that is there now handles it. */
  readonly isHandled: boolean
  /** What params it takes, as JSON Schema. Null: it says nothing of them, or not to this process. */
  readonly paramsSchema: JsonObject | null
}

/** In the order of their names. */
export async function listTypes({ store, types: directory }: OperationContext): Promise<readonly KnownType[]> {
  const handled = new Set((await store.listNodes()).flatMap(({ types }) => types))
  const types = await store.findTypes()
  return types
    .map((type) => ({
      ...type,
      isHandled: handled.has(type.type),
      paramsSchema: directory.paramsSchemaOf(type.type),
    }))
    .toSorted((a, b) => (a.type < b.type ? -1 : 1))
}
