import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { httpTransport } from '../../src/client/http-transport.ts'
import { ROLES, type Role } from '../../src/domain/role.ts'
import { type Endpoint, routeOf } from '../../src/http/contract/endpoint.ts'
import { routes } from '../../src/http/handlers/index.ts'
import { JsonSchemas } from '../../src/http/server/json-schemas.ts'
import { type Api, allEndpoints, checked, openApi } from './api-stage.ts'

/** Bodies that are right as such, so that only what the test is about can be refused. */
function exampleOf({ body }: Endpoint): Record<string, unknown> | undefined {
  if (body === undefined) return undefined
  const [example] = ((body as z.ZodType).meta()?.['examples'] ?? []) as Record<string, unknown>[]
  if (example === undefined) throw new Error('every body has an example')
  return example
}

function idsOf({ path }: Endpoint, id: string): Record<string, string> {
  return Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, id]))
}

interface Asked {
  readonly id?: string
  readonly query?: Record<string, string>
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

/** Asks as somebody with this role. */
function asking(api: Api, role: Role) {
  const transport = checked(httpTransport({ server: api.url, apiKey: api.keys[role] }))
  return async (endpoint: Endpoint, asked: Asked = {}) => {
    const { id = 'nope', query = {}, body = exampleOf(endpoint), headers = {} } = asked
    const params = idsOf(endpoint, id)
    const { status, body: answer } = await transport.send({
      route: routeOf(endpoint),
      params,
      query,
      body,
      headers,
      signal: undefined,
    })
    const { code, path } = (answer ?? {}) as { code?: string; path?: string }
    return { status, code, path }
  }
}

const withIds = allEndpoints.filter(({ path }) => path.includes('{'))
const withBody = allEndpoints.filter(({ body }) => body !== undefined)
const changing = allEndpoints.filter(({ method }) => method === 'PATCH')
const guarded = allEndpoints.filter(({ role }) => role !== 'viewer')

/** Whoever sets a limit names what may not be there yet. */
const NAMES_NEW = ['PUT /api/limits/{name}']

const SHAPES = ['nope', '01a1e247-ecfb-7ea2-819d-0de735be68df', '0', 'x'.repeat(900), 'a/b', '..', '%', 'ü', 'a\u0000b']

describe('every endpoint', () => {
  test('has a route of its own, and every route is one of them', () => {
    expect(routes.map(({ endpoint }) => routeOf(endpoint)).toSorted()).toEqual(allEndpoints.map(routeOf).toSorted())
    expect(new Set(allEndpoints.map(routeOf)).size).toBe(allEndpoints.length)
  })

  test('names what it changes in the audit log, and only if it is no reading', () => {
    const readings = allEndpoints.filter(({ action }) => action === null).map(routeOf)
    expect(readings.filter((name) => !name.startsWith('GET '))).toEqual(['POST /api/schedules/preview'])
    for (const { action } of guarded) if (action !== null) expect(action).toMatch(/^[a-z-]+\.[a-z-]+$/)
  })

  test('says 404 to an id in its path that does not exist, whatever its shape', async () => {
    const ask = asking(await openApi(), 'admin')
    for (const endpoint of withIds.filter((one) => !NAMES_NEW.includes(routeOf(one)))) {
      for (const id of SHAPES) {
        const { status } = await ask(endpoint, { id })
        expect({ route: routeOf(endpoint), id, status }).toEqual({ route: routeOf(endpoint), id, status: 404 })
      }
    }
  })

  test('says 403 to whoever has a lower role than it needs', async () => {
    const api = await openApi()
    for (const endpoint of guarded) {
      for (const role of ROLES.slice(0, ROLES.indexOf(endpoint.role))) {
        const { status, code } = await asking(api, role)(endpoint)
        expect({ route: routeOf(endpoint), role, status, code }).toMatchObject({ status: 403, code: 'forbidden' })
      }
    }
  })

  test('says 401 to whoever has no key', async () => {
    const { url } = await openApi()
    for (const { method, path } of allEndpoints.filter(({ isOpen }) => isOpen !== true)) {
      const answer = await fetch(`${url}${path.replace(/\{\w+\}/g, 'nope')}`, { method })
      expect({ path, status: answer.status }).toEqual({ path, status: 401 })
    }
  })

  test('says 422 to a query parameter that it does not know, and names it', async () => {
    const ask = asking(await openApi(), 'admin')
    for (const endpoint of allEndpoints) {
      const told = await ask(endpoint, { query: { nonsense: '1' } })
      expect({ route: routeOf(endpoint), ...told }).toMatchObject({ status: 422, path: 'nonsense' })
    }
  })

  test('says 422 to a field of the body that it does not know, and names it', async () => {
    const ask = asking(await openApi(), 'admin')
    for (const endpoint of withBody) {
      const told = await ask(endpoint, { body: { ...exampleOf(endpoint), nonsense: 1 } })
      expect({ route: routeOf(endpoint), ...told }).toMatchObject({ status: 422, path: 'nonsense' })
    }
  })

  test('says 422 to a body that is no object', async () => {
    const ask = asking(await openApi(), 'admin')
    for (const endpoint of withBody) {
      for (const body of [[], 'text', 7, null, true]) {
        const told = await ask(endpoint, { body })
        expect({ route: routeOf(endpoint), body, ...told }).toMatchObject({ status: 422, code: 'invalid_option' })
      }
    }
  })

  test('that changes a thing says 422 to a change of nothing', async () => {
    const ask = asking(await openApi(), 'admin')
    expect(changing.length).toBeGreaterThan(3)
    for (const endpoint of changing) {
      expect(await ask(endpoint, { body: {} })).toMatchObject({ status: 422, code: 'invalid_option' })
    }
  })

  test('honours `If-Match`, or refuses it with 400', async () => {
    const ask = asking(await openApi(), 'admin')
    const taking: string[] = []
    for (const endpoint of allEndpoints) {
      const told = await ask(endpoint, { headers: { 'if-match': 'W/"1"' } })
      if (endpoint.takesIfMatch !== true) {
        expect({ route: routeOf(endpoint), ...told }).toMatchObject({ status: 400, code: 'malformed_request' })
        continue
      }
      expect({ route: routeOf(endpoint), ...told }).toMatchObject({ status: 412, code: 'precondition_failed' })
      taking.push(routeOf(endpoint))
    }
    for (const { method, path } of changing) expect(taking).toContain(`${method} ${path}`)
    expect(taking).toContain('DELETE /api/schedules/{schedule_id}')
  })

  test('refuses the header `Idempotency-Key` with 422, unless it makes one Job', async () => {
    const ask = asking(await openApi(), 'admin')
    for (const endpoint of allEndpoints) {
      const told = await ask(endpoint, { headers: { 'idempotency-key': 'k' } })
      const isTaken = routeOf(endpoint) === 'POST /api/jobs'
      const expected = isTaken ? { status: 201 } : { status: 422, code: 'invalid_option', path: 'Idempotency-Key' }
      expect({ route: routeOf(endpoint), ...told }).toMatchObject(expected)
    }
  })

  test('says in its JSON Schema which of its fields are needed', () => {
    const schemas = new JsonSchemas()
    const bodyOf = (route: string) => {
      const { body } = allEndpoints.find((endpoint) => routeOf(endpoint) === route) as Endpoint
      const schema = schemas.ofRequest(body as z.ZodType)
      const pointer = schema['$ref'] as string | undefined
      return pointer === undefined ? schema : schemas.named[pointer.replace('#/components/schemas/', '')]
    }
    const needed = (...names: string[]) => names.map((name) => ({ required: [name] }))
    for (const { method, path } of changing) expect(bodyOf(`${method} ${path}`)).toMatchObject({ minProperties: 1 })
    expect(bodyOf('POST /api/jobs')).toMatchObject({ oneOf: needed('type', 'template_id') })
    expect(bodyOf('POST /api/jobs/{job_id}/move')).toMatchObject({ oneOf: needed('to', 'before', 'after') })
    const timings = needed('cron', 'cron_expression', 'every_ms')
    expect(bodyOf('POST /api/schedules/preview')).toMatchObject({ oneOf: timings })
    expect(bodyOf('POST /api/schedules')).toMatchObject({
      allOf: [{ oneOf: timings }, { oneOf: needed('template_id', 'type') }],
    })
  })

  test('has an example that its own schema takes', () => {
    for (const endpoint of withBody) {
      expect((endpoint.body as z.ZodType).safeParse(exampleOf(endpoint)).success, routeOf(endpoint)).toBe(true)
    }
  })
})

test('what was made can be read where `Location` says', async () => {
  const { url, keys } = await openApi()
  const headers = { authorization: `Bearer ${keys.admin}`, 'content-type': 'application/json' }
  const made: readonly (readonly [string, object])[] = [
    ['/api/jobs', { type: 'story' }],
    ['/api/job-templates', { name: 't', job_type: 'story' }],
    ['/api/schedules', { name: 's', type: 'story', every_ms: 3_600_000 }],
    ['/api/job-groups', { jobs: [{ type: 'story' }] }],
  ]
  for (const [path, body] of made) {
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const location = answer.headers.get('location')
    expect({ path, status: answer.status, location }).toMatchObject({ status: 201, location: expect.any(String) })
    const read = await fetch(`${url}${location}`, { headers })
    expect(read.status).toBe(200)
    expect(await answer.json()).toMatchObject((await read.json()) as object)
  }
})

describe('every list', () => {
  const paged = allEndpoints.filter(({ responses }) => {
    const answer = responses[200] as z.ZodObject | undefined
    return answer !== undefined && 'next_cursor' in (answer.shape ?? {})
  })

  test('takes a limit and a cursor', () => {
    expect(paged.length).toBeGreaterThan(15)
    for (const endpoint of paged) {
      expect(Object.keys(endpoint.query?.shape ?? {}), routeOf(endpoint)).toEqual(
        expect.arrayContaining(['limit', 'cursor']),
      )
    }
  })

  test.each(['0', '201', '-1', '1.5', 'x', ''])('refuses the limit `%s`', async (limit) => {
    const ask = asking(await openApi(), 'admin')
    for (const endpoint of paged) {
      const told = await ask(endpoint, { query: { limit } })
      expect({ route: routeOf(endpoint), ...told }).toMatchObject({ status: 422, path: 'limit' })
    }
  })

  test('takes a limit of 1 and of 200, and refuses a cursor that it never gave', async () => {
    const api = await openApi()
    const ask = asking(api, 'admin')
    for (const endpoint of paged.filter(({ path }) => !path.includes('{'))) {
      for (const limit of ['1', '200']) expect((await ask(endpoint, { query: { limit } })).status).toBe(200)
      const told = await ask(endpoint, { query: { cursor: 'nonsense' } })
      expect({ route: routeOf(endpoint), ...told }).toMatchObject({ status: 422, path: 'cursor' })
    }
  })
})
