import type { z } from 'zod'
import type { JsonSchema, JsonSchemas } from './json-schemas.ts'

/** The fields of a schema as parameters of the path or the query. */
export function partsIn(schema: z.ZodObject | undefined, place: 'path' | 'query', schemas: JsonSchemas): JsonSchema[] {
  if (schema === undefined) return []
  const { properties = {}, required = [] } = schemas.ofRequest(schema) as {
    readonly properties?: Readonly<Record<string, JsonSchema>>
    readonly required?: readonly string[]
  }
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: property,
  }))
}

export function header(name: string, description: string, example: string): JsonSchema {
  return { name, in: 'header', required: false, description, schema: { type: 'string' }, example }
}
