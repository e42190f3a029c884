import type { z } from 'zod'
import { type Endpoint, takesIdempotencyKey, takesIfMatch } from '../contract/endpoint.ts'
import { type JsonSchema, JsonSchemas } from './json-schemas.ts'
import { ownPaths } from './openapi-own-paths.ts'
import { header, partsIn } from './openapi-parameters.ts'
import { PROBLEM_SCHEMA, problemResponses } from './openapi-problems.ts'

export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>>
  readonly [part: string]: unknown
}

/** The whole API as an OpenAPI 3.1 document, made of the very schemas that check the requests. */
export function openApiDocument(
  endpoints: Readonly<Record<string, unknown>>,
  version: string,
  basePath: string,
): OpenApiDocument {
  const schemas = new JsonSchemas()
  const paths: Record<string, Record<string, JsonSchema>> = {}
  const tags = new Set<string>()
  for (const [name, definition] of Object.entries(endpoints)) {
    if (!isEndpoint(definition)) continue
    tags.add(definition.tag)
    const { path, method } = definition
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(name, definition, schemas) }
  }
  Object.assign(paths, ownPaths(schemas))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Pawl',
      version,
      summary: 'A durable job scheduler.',
      description:
        'Times are ISO-8601 in UTC. Every problem is `application/problem+json` with a stable `code`. ' +
        'Lists answer `{ items, next_cursor }`; a page may be short though more follows: `next_cursor` alone tells.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: `${basePath}/` }],
    // Either kind of key; none where the store has none.
    security: [{ bearer: [] }, { api_key: [] }, { session: [] }, {}],
    tags: [...tags, 'Server'].map((name) => ({ name })),
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: {
      schemas: { ...schemas.named, Problem: PROBLEM_SCHEMA },
      headers: COMMON_HEADERS,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A key made by `pawl keys create`.' },
        api_key: {
          type: 'apiKey',
          in: 'header',
          name: 'X-API-Key',
          description: 'The same key in a header of its own.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'pawl_session',
          description: 'The cookie that `POST /api/session` gives to a browser.',
        },
      },
    },
  }
}

/** The contract's modules export schemas too. */
export function isEndpoint(definition: unknown): definition is Endpoint {
  if (typeof definition !== 'object' || definition === null) return false
  const { method, path, responses } = definition as Partial<Endpoint>
  return typeof method === 'string' && typeof path === 'string' && typeof responses === 'object'
}

const COMMON_HEADERS = {
  ETag: { description: 'The version of what is answered, for `If-Match`.', schema: { type: 'string' } },
  RetryAfter: { description: 'After how many seconds to try again.', schema: { type: 'integer' } },
}

function operation(name: string, endpoint: Endpoint, schemas: JsonSchemas): JsonSchema {
  const { summary, tag, role, isOpen = false, body, isBodyOptional = false } = endpoint
  return {
    operationId: name,
    summary,
    description: isOpen ? 'Needs no key.' : `Needs the role \`${role}\`.`,
    ...(isOpen && { security: [{}] }),
    tags: [tag],
    parameters: parametersOf(endpoint, schemas),
    ...(body !== undefined && { requestBody: { required: !isBodyOptional, content: jsonContent(body, schemas) } }),
    responses: { ...answersOf(endpoint, schemas), ...problemResponses(endpoint) },
  }
}

function parametersOf(endpoint: Endpoint, schemas: JsonSchemas): JsonSchema[] {
  const { params, query } = endpoint
  const parameters = [...partsIn(params, 'path', schemas), ...partsIn(query, 'query', schemas)]
  if (takesIfMatch(endpoint)) {
    parameters.push(
      header(
        'If-Match',
        'Refused with 412 unless the thing still has this `ETag`. `*`: whichever.',
        '"Jh3sPcQ1m0ZyXw2v"',
      ),
    )
  }
  if (takesIdempotencyKey(endpoint)) {
    parameters.push(header('Idempotency-Key', 'Stands for `idempotency_key`.', 'order-1234'))
  }
  return parameters
}

function jsonContent(schema: z.ZodType, schemas: JsonSchemas): JsonSchema {
  const { examples = [] } = (schema.meta() ?? {}) as { readonly examples?: readonly unknown[] }
  const named = examples.map((value, index) => [`example-${index + 1}`, { value }] as const)
  return {
    'application/json': {
      schema: schemas.ofRequest(schema),
      ...(named.length > 0 && { examples: Object.fromEntries(named) }),
    },
  }
}

const ANSWERS: Readonly<Record<string, string>> = {
  200: 'Done.',
  201: 'Something new is there.',
  202: 'The wish is stored, and will be carried out.',
  204: 'Done, and nothing to say.',
}

function answersOf({ responses, isVersioned }: Endpoint, schemas: JsonSchemas): Record<string, JsonSchema> {
  const headers = isVersioned === true ? { headers: { ETag: { $ref: '#/components/headers/ETag' } } } : {}
  return Object.fromEntries(
    Object.entries(responses).map(([status, schema]) => [
      status,
      {
        description: ANSWERS[status] ?? 'Done.',
        ...headers,
        ...(schema !== null && {
          content: { 'application/json': { schema: schemas.ofAnswer(schema as unknown as z.ZodType) } },
        }),
      },
    ]),
  )
}
