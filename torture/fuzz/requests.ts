import { Chance } from '../chance.ts'
import { NASTY, type Schema, Values } from './values.ts'

/** As much of it as is read here. */
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

export interface FuzzRequest {
  /** As the document has it: `/api/jobs/{job_id}`. */
  readonly route: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | null
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: Schema
}

interface Operation {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly responses: Readonly<Record<string, unknown>>
}

interface Entry {
  readonly method: string
  readonly route: string
  readonly operation: Operation
}

/** Requests made of the OpenAPI document, so that they grow with it: some right, most wrong in some place. */
export class FuzzRequests {
  #chance = new Chance(0)
  readonly #ownKeyIds: readonly string[]
  readonly #values: Values
  readonly #operations: readonly Entry[]
  #learned = 0
  readonly #ids = new Map([
    ['type', ['story', 'failing', 'review']],
    ['job_type', ['story', 'failing', 'review']],
    ['name', ['running', 'type:story', 'resource:ollama', 'nightly story']],
  ])

  /** @param ownKeyIds of the keys that the run itself uses, which it must not learn of and revoke */
  constructor(document: OpenApiDocument, ownKeyIds: readonly string[]) {
    this.#ownKeyIds = ownKeyIds
    this.#values = new Values(this.#chance, document.components.schemas, this.#ids)
    this.#operations = Object.entries(document.paths).flatMap(([route, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        route,
        operation: operation as Operation,
      })),
    )
  }

  /** The request of this number. Only what it was answered before, ids of things that are there, is not in the number. */
  make(seed: number): FuzzRequest {
    this.#chance = new Chance(seed)
    this.#values.drawFrom(this.#chance)
    const { method, route, operation } = this.#choose()
    const { parameters = [] } = operation
    const filled = route.replace(/\{(\w+)\}/g, (_, name: string) => this.#pathPart(name, parameters))
    const query = this.#query(parameters.filter((parameter) => parameter.in === 'query'))
    const body = this.#body(route, operation)
    return {
      route,
      method: this.#chance.is(0.02) ? this.#chance.of(['PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'POST']) : method,
      path: query === '' ? filled : `${filled}?${query}`,
      headers: { ...this.#headers(parameters), ...(body !== null && this.#contentType()) },
      body,
    }
  }

  /** What is long and the same each time is seldom asked for. */
  #choose(): Entry {
    const chosen = this.#chance.of(this.#operations)
    return chosen.route.startsWith('/api/') || this.#chance.is(0.03) ? chosen : this.#choose()
  }

  isDocumented({ method, route }: FuzzRequest, status: number): boolean {
    const found = this.#operations.find((entry) => entry.route === route && entry.method === method)
    return found === undefined || String(status) in found.operation.responses
  }

  /** Remembers the ids of an answer, so that later requests can ask for what is there. */
  learn(answer: unknown): void {
    if (typeof answer !== 'object' || answer === null) return
    for (const [name, value] of Object.entries(answer)) {
      if (typeof value === 'object') this.learn(value)
      else if (typeof value === 'string' && name.endsWith('_id')) this.#remember(name, value)
    }
  }

  #remember(name: string, id: string): void {
    if (this.#ownKeyIds.includes(id)) return
    const known = this.#ids.get(name) ?? []
    if (known.length < 50) known.push(id)
    else known[this.#learned++ % 50] = id
    this.#ids.set(name, known)
  }

  #pathPart(name: string, parameters: readonly Parameter[]): string {
    const { schema = {} } = parameters.find((parameter) => parameter.name === name) ?? {}
    const value = this.#chance.is(0.8) ? this.#values.of(schema, name) : this.#chance.of(NASTY)()
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
    if (this.#chance.is(0.02)) return this.#chance.of(['%', '%zz', '%ff', '%2e%2e%2f', '%00', ';', '..', '.'])
    return encodeURIComponent(wellFormed(text)).slice(0, 3_000) || 'x'
  }

  #query(parameters: readonly Parameter[]): string {
    const pairs = parameters
      // Long lists take their time, and show little that short ones do not.
      .filter(({ name, required }) => required || this.#chance.is(name === 'limit' ? 0.9 : 0.3))
      .map(({ name, schema }) => [
        name,
        this.#chance.is(0.7) ? this.#values.of(schema, name) : this.#chance.of(NASTY)(),
      ])
    if (this.#chance.is(0.05)) pairs.push([this.#chance.of(['unknown', '__proto__', 'limit', 'limit[]', '']), 'x'])
    return pairs
      .map(([name, value]) => {
        const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
        const given = this.#chance.is(0.03) ? '%zz%' : encodeURIComponent(wellFormed(text)).slice(0, 4_000)
        return `${encodeURIComponent(String(name))}=${given}`
      })
      .join('&')
  }

  #body(route: string, { requestBody }: Operation): string | Buffer | null {
    if (requestBody === undefined) return this.#chance.is(0.05) ? this.#chance.of(['{}', '[]', 'null', '{', '']) : null
    if (this.#chance.is(0.04))
      return this.#chance.of(['', '{', 'null', '[]', '"x"', '1', 'NaN', '\ufeff{}', '{"a":1,}'])
    const { schema } = requestBody.content['application/json'] as { readonly schema: Schema }
    const right = this.#values.of(schema)
    const value = this.#chance.is(0.45) ? right : this.#values.mutate(right)
    // Nothing is to be sent to anybody outside: names under this end are nobody's.
    const text = (JSON.stringify(boundWait(route, value)) ?? 'null').replaceAll(
      /example\.(com|org|net)/g,
      'example.invalid',
    )
    return this.#damage(text)
  }

  #damage(text: string): string | Buffer {
    if (this.#chance.is(0.93)) return text
    const at = this.#chance.below(text.length)
    switch (this.#chance.below(4)) {
      case 0:
        return text.slice(0, at)
      case 1:
        return `${text.slice(0, at)}${this.#chance.of(['\u0000', '}', ']', '"', '\\', '\\ud800', ','])}${text.slice(at)}`
      case 2:
        return text.replace('{', '{"__proto__":{"isAdmin":true},')
      default: {
        const bytes = Buffer.from(text)
        bytes[at % bytes.length] = 0x80 + this.#chance.below(128)
        return bytes
      }
    }
  }

  #headers(parameters: readonly Parameter[]): Record<string, string> {
    const asked = parameters.filter((parameter) => parameter.in === 'header' && this.#chance.is(0.4))
    return Object.fromEntries(
      asked.map(({ name }) => [
        name.toLowerCase(),
        this.#chance.of([
          '*',
          '"x"',
          'x',
          '""',
          'W/"1"',
          '1.0',
          '0.0',
          '99999999.0',
          'x'.repeat(2_000),
          'é',
          `k${this.#chance.below(5)}`,
        ]),
      ]),
    )
  }

  #contentType(): Record<string, string> {
    const type = this.#chance.is(0.97)
      ? 'application/json'
      : this.#chance.of([
          'text/plain',
          'application/json;charset=utf-16',
          'application/x-www-form-urlencoded',
          '',
          'x/y/z',
          ';',
        ])
    return { 'content-type': type }
  }
}

/** Requests that may take minutes, and be right to, are asked to take less. */
function boundWait(route: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  if (route === '/api/direct/{type}') {
    const { wait_timeout_ms: wait = 50 } = value as { wait_timeout_ms?: unknown }
    return { ...value, wait_timeout_ms: typeof wait === 'number' && wait > 50 ? 50 : wait }
  }
  if (route === '/api/scheduler/stop') {
    const { timeout = 1 } = value as { timeout?: unknown }
    return { ...value, timeout: typeof timeout === 'number' && timeout > 1 ? 1 : timeout }
  }
  return value
}

/** A URL can say no half of a surrogate pair. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString()
}
