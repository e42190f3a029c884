import { z } from 'zod'

export type JsonSchema = { readonly [keyword: string]: unknown }

type Io = 'input' | 'output'

/**
 * Turns zod schemas into JSON Schemas, and gathers those that have an id: they stand once in the document, and everything
 * else points to them.
 */
export class JsonSchemas {
  readonly #named = new Map<string, JsonSchema>()

  /** What a caller may send. */
  ofRequest(schema: z.ZodType): JsonSchema {
    return this.#of(schema, 'input')
  }

  /** What we answer. */
  ofAnswer(schema: z.ZodType): JsonSchema {
    return this.#of(schema, 'output')
  }

  get named(): Readonly<Record<string, JsonSchema>> {
    const names = [...this.#named.keys()].sort()
    return Object.fromEntries(names.map((name) => [name, this.#named.get(name) as JsonSchema]))
  }

  #of(schema: z.ZodType, io: Io): JsonSchema {
    // As an item of a list, a schema with an id is pointed to like everywhere else.
    const { items, $defs = {} } = z.toJSONSchema(z.array(schema), { io, unrepresentable: 'any', override }) as {
      readonly items: JsonSchema
      readonly $defs?: Readonly<Record<string, JsonSchema>>
    }
    for (const [name, definition] of Object.entries($defs)) this.#name(name, definition)
    return pointToComponents(items) as JsonSchema
  }

  #name(name: string, definition: JsonSchema): void {
    const { id: _, ...schema } = pointToComponents(definition) as JsonSchema
    const known = this.#named.get(name)
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`Pawl has a bug: two schemas of its API are called ${name}`)
    }
    this.#named.set(name, schema)
  }
}

/** A number in a query is read as text, but what it is is a number. */
function override({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void {
  if (jsonSchema['type'] === 'integer') delete jsonSchema['pattern']
}

function pointToComponents(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pointToComponents)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) =>
      key === '$ref' && typeof inner === 'string'
        ? [key, inner.replace('#/$defs/', '#/components/schemas/')]
        : [key, pointToComponents(inner)],
    ),
  )
}
