import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { beforeAll, describe, expect, it } from 'vitest'
import { routeOf } from '../../src/http/contract/endpoint.ts'
import { endpoints } from '../../src/http/contract/index.ts'
import { routes } from '../../src/http/handlers/index.ts'
import { STATUS } from '../../src/http/problems.ts'
import { isEndpoint, type OpenApiDocument } from '../../src/http/server/openapi.ts'
import { asProblem, openStage, problemOf, type Stage } from './server-stage.ts'

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: object }[]
  readonly requestBody?: {
    readonly content: Record<string, { schema: object; examples?: Record<string, { value: unknown }> }>
  }
  readonly responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>
}

let document: OpenApiDocument & { readonly components: { readonly schemas: Record<string, object> } }

beforeAll(async () => {
  const { get } = await openStage()
  const answer = await get('/openapi.json')
  expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } })
  document = answer.body as unknown as typeof document
})

function operations(): [route: string, operation: Operation][] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]) =>
        [`${method.toUpperCase()} ${path}`, operation as unknown as Operation] as [string, Operation],
    ),
  )
}

/** Those of the contract, without what the server answers by itself. */
function endpointOperations(): [route: string, operation: Operation][] {
  return operations().filter(([route]) => routes.some(({ endpoint }) => routeOf(endpoint) === route))
}

function hasHeader({ parameters = [] }: Operation, header: string): boolean {
  return parameters.some((parameter) => parameter.in === 'header' && parameter.name === header)
}

function filled(path: string, ids: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'none')
}

function exampleOf({ requestBody }: Operation): unknown {
  const [example] = Object.values(requestBody?.content['application/json']?.examples ?? {})
  return example?.value
}

/** One of each thing that has versions. */
async function makeOneOfEach({ post }: Stage): Promise<Record<string, string>> {
  const made = await Promise.all([
    post('/api/jobs', { type: 'noop' }),
    post('/api/job-templates', { name: 'nightly', job_type: 'noop' }),
    post('/api/schedules', { name: 'nightly', type: 'noop', every_ms: 60_000 }),
    post('/api/webhooks', { url: 'https://192.0.2.1/hook' }),
  ])
  return Object.fromEntries(
    made.flatMap(({ body }) =>
      Object.entries(body).filter(
        (entry): entry is [string, string] =>
          /^(job|template|schedule|webhook)_id$/.test(entry[0]) && typeof entry[1] === 'string',
      ),
    ),
  )
}

/** The schemas of the document, so that those that point to others find them. */
function newAjv() {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'pawl', components: document.components })
  return (schema: object) =>
    ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"pawl#/components')))
}

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator()
    expect(await validator.validate(structuredClone(document))).toMatchObject({ valid: true })
    expect(validator.version).toBe('3.1')
  })

  it('has every route that is served, and no other', async () => {
    const own = ['GET /api/events', 'GET /health', 'GET /metrics', 'GET /openapi.json', 'GET /ready']
    const served = routes.map(({ endpoint }) => `${endpoint.method} ${endpoint.path}`)
    expect(
      operations()
        .map(([route]) => route)
        .sort(),
    ).toEqual([...new Set([...served, ...own])].sort())
    const { ask } = await openStage()
    for (const [route] of operations()) {
      const [method, path] = route.split(' ') as [string, string]
      if (path === '/api/events') continue
      const answer = await ask(method, path.replaceAll(/\{\w+\}/g, 'x'), method === 'GET' ? {} : { body: '' })
      expect(answer.status, route).not.toBe(405)
      expect(String(answer.body['detail']), route).not.toMatch(/^There is nothing at/)
    }
  })

  it('has every endpoint of the contract, each with something that answers it', () => {
    const contract = Object.values(endpoints).filter(isEndpoint)
    const answered = new Set(routes.map(({ endpoint }) => endpoint))
    expect(
      contract.filter((endpoint) => !answered.has(endpoint)).map(({ method, path }) => `${method} ${path}`),
    ).toEqual([])
  })

  it('names each operation once, with a summary', () => {
    const names = operations().map(([, { operationId }]) => operationId)
    expect(new Set(names).size).toBe(names.length)
    for (const [route, { summary }] of operations()) expect(summary, route).toMatch(/\.$/)
  })

  it('has every parameter of every path', () => {
    for (const [route, { parameters = [] }] of operations()) {
      const named = [...route.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      expect(
        parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name),
        route,
      ).toEqual(named)
    }
  })

  it('has an example of every body, and each is valid', () => {
    const compile = newAjv()
    for (const [route, { requestBody }] of operations()) {
      if (requestBody === undefined) continue
      const { schema, examples = {} } = requestBody.content['application/json'] as {
        schema: object
        examples?: Record<string, { value: unknown }>
      }
      const validate = compile(schema)
      expect(Object.keys(examples).length, `${route} has no example`).toBeGreaterThan(0)
      for (const { value } of Object.values(examples)) {
        expect(validate(value), `${route}: ${JSON.stringify(value)} ${JSON.stringify(validate.errors)}`).toBe(true)
      }
    }
  })

  it('has only valid examples in its schemas', () => {
    const compile = newAjv()
    const visit = (schema: unknown, where: string): void => {
      if (typeof schema !== 'object' || schema === null) return
      const { examples } = schema as { examples?: unknown }
      if (Array.isArray(examples) && !where.endsWith('.properties')) {
        const validate = compile(schema)
        for (const value of examples) {
          expect(validate(value), `${where}: ${JSON.stringify(value)} ${JSON.stringify(validate.errors)}`).toBe(true)
        }
      }
      for (const [key, inner] of Object.entries(schema)) visit(inner, `${where}.${key}`)
    }
    visit(document.components.schemas, 'schemas')
    expect(Object.keys(document.components.schemas).length).toBeGreaterThan(2)
  })

  it('lists every code of an error, and for each operation those it may answer with', () => {
    const { Problem } = document.components.schemas as unknown as {
      Problem: { properties: { code: { enum: string[] } } }
    }
    expect(Problem.properties.code.enum).toEqual(Object.keys(STATUS).sort())
    for (const definition of Object.values(endpoints).filter(isEndpoint)) {
      const operation = document.paths[definition.path]?.[definition.method.toLowerCase()] as unknown as Operation
      const told = Object.entries(operation.responses)
        .filter(([status]) => Number(status) >= 400)
        .map(([, { description }]) => description)
        .join(' ')
      for (const code of [...definition.problems, 'unauthenticated', 'rate_limited']) {
        expect(told, `${definition.method} ${definition.path}`).toContain(`\`${code}\``)
      }
    }
  })

  it('names `If-Match` and 412 exactly where versions are compared', async () => {
    const stage = await openStage()
    const ids = await makeOneOfEach(stage)
    let taken = 0
    for (const [route, operation] of endpointOperations()) {
      const takes = hasHeader(operation, 'If-Match')
      expect('412' in operation.responses, route).toBe(takes)
      const [method, path] = route.split(' ') as [string, string]
      const answer = await stage.ask(method, filled(path, ids), {
        headers: { 'if-match': '"another-version"' },
        body: exampleOf(operation),
      })
      const expected = takes ? asProblem(412, 'precondition_failed') : asProblem(400, 'malformed_request')
      expect(problemOf(answer), `${route} ${answer.text}`).toEqual(expected)
      if (takes) taken++
    }
    expect(taken).toBeGreaterThan(5)
  })

  it('names `Idempotency-Key` exactly where it is taken', async () => {
    const { ask } = await openStage()
    const taking: string[] = []
    for (const [route, operation] of endpointOperations()) {
      const [method, path] = route.split(' ') as [string, string]
      const { body, text } = await ask(method, filled(path, {}), { headers: { 'idempotency-key': 'k' } })
      const isRefused = body['path'] === 'Idempotency-Key'
      expect(isRefused, `${route} ${text}`).toBe(!hasHeader(operation, 'Idempotency-Key'))
      if (!isRefused) taking.push(route)
    }
    expect(taking).toEqual(['POST /api/jobs'])
  })

  it('names `ETag` where an answer has one', async () => {
    const stage = await openStage()
    const ids = await makeOneOfEach(stage)
    for (const [route, operation] of endpointOperations()) {
      const [method, path] = route.split(' ') as [string, string]
      if (method !== 'GET') continue
      const answer = await stage.get(filled(path, ids))
      if (answer.status !== 200) continue
      const { headers = {} } = operation.responses['200'] as { headers?: Record<string, unknown> }
      expect(answer.headers.etag !== undefined, route).toBe('ETag' in headers)
    }
  })

  it('says that an unknown parameter in the query is refused, wherever it is', async () => {
    const { ask } = await openStage()
    for (const [route, operation] of endpointOperations()) {
      const [method, path] = route.split(' ') as [string, string]
      const answer = await ask(method, `${filled(path, {})}?no_such_parameter=1`)
      expect(problemOf(answer), route).toEqual(asProblem(422, 'invalid_option'))
      expect(operation.responses['422']?.description, route).toContain('`invalid_option`')
    }
  })

  it('says how to give a key, and where none is needed', () => {
    expect(document).toMatchObject({
      components: {
        securitySchemes: { bearer: { type: 'http', scheme: 'bearer' }, api_key: { in: 'header', name: 'X-API-Key' } },
      },
    })
    expect(document.paths['/health']?.['get']).toMatchObject({ security: [{}] })
  })

  it('describes answers as they are', async () => {
    const compile = newAjv()
    const { post, get } = await openStage()
    const schemaOf = (route: string, status: number) => {
      const [, operation] = operations().find(([name]) => name === route) as [string, Operation]
      const { content = {} } = operation.responses[status] as { content?: Record<string, { schema: object }> }
      return (content['application/json'] ?? content['application/problem+json'])?.schema as object
    }
    const made = await post('/api/jobs', { type: 'noop', params: { genre: 'gothic' }, tags: ['a'] })
    for (const [route, answer] of [
      ['POST /api/jobs', made],
      ['GET /api/jobs/{job_id}', await get(`/api/jobs/${String(made.body['job_id'])}`)],
      ['GET /api/jobs/{job_id}', await get('/api/jobs/none')],
      ['GET /api/jobs', await get('/api/jobs')],
      ['GET /api/jobs', await get('/api/jobs?limit=none')],
      ['GET /health', await get('/health')],
      ['GET /ready', await get('/ready')],
    ] as const) {
      const validate = compile(schemaOf(route, answer.status))
      expect(validate(answer.body), `${route} ${answer.text} ${JSON.stringify(validate.errors)}`).toBe(true)
    }
  })
})
