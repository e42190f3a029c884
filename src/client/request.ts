import type { Endpoint, GivenOf, ResultOf, RouteOf } from '../http/contract/endpoint.ts'
import type { endpoints } from '../http/contract/index.ts'
import { PawlApiError, unexpectedAnswer } from './api-error.ts'
import type { Transport, TransportAnswer } from './transport.ts'

type AnyEndpoint = Extract<(typeof endpoints)[keyof typeof endpoints], Endpoint>

/** Every endpoint by its name, such as `GET /api/jobs/{job_id}`. */
export type Routes = { readonly [Definition in AnyEndpoint as RouteOf<Definition>]: Definition }

/** What a request must and may give. A field that the endpoint does not have cannot be given. */
type Given<Definition extends Endpoint> = {
  readonly [Part in keyof GivenOf<Definition> as GivenOf<Definition>[Part] extends undefined
    ? never
    : Part]: GivenOf<Definition>[Part]
} & RequestOptions

export type BodyOf<Route extends keyof Routes> = GivenOf<Routes[Route]>['body']
export type QueryOf<Route extends keyof Routes> = GivenOf<Routes[Route]>['query']

/** What the API answers to this question. */
export type Answered<Route extends keyof Routes> = ResultOf<Routes[Route]>

export interface RequestOptions {
  /** Gives up waiting for the answer. */
  readonly signal?: AbortSignal
  /** The `ETag` that the thing must still have, or its `revision`: if it has changed since, nothing is changed. */
  readonly ifMatch?: string | number
  /** Stands for `idempotency_key`. */
  readonly idempotencyKey?: string
}

/** An answer with what HTTP says besides its body. */
export interface Answer<Body> {
  readonly status: number
  readonly body: Body
  /** For `ifMatch`. Null: what was answered has no version. */
  readonly etag: string | null
}

/** A question to the API, typed by the endpoint's own schemas. */
export type Request = <Route extends keyof Routes>(
  route: Route,
  given: Given<Routes[Route]>,
) => Promise<Answered<Route>>

/** The same, with the status and the `ETag` of the answer. */
export type RequestAnswer = <Route extends keyof Routes>(
  route: Route,
  given: Given<Routes[Route]>,
) => Promise<Answer<Answered<Route>>>

export function requestThrough(transport: Transport): RequestAnswer {
  return async (route, given) => {
    const { params, query, body, ...options } = given as RequestOptions & {
      readonly params?: Readonly<Record<string, string>>
      readonly query?: Readonly<Record<string, unknown>>
      readonly body?: unknown
    }
    const answer = await transport.send({
      route,
      params: params ?? {},
      query: textsOf(query ?? {}),
      body,
      headers: headersOf(options),
      signal: options.signal,
    })
    if (answer.status >= 400) throw new PawlApiError(answer.status, problemIn(answer.body))
    const fault = faultOf(route, answer)
    if (fault !== null) throw unexpectedAnswer(transport.description, answer.status, fault)
    return { status: answer.status, body: answer.body as never, etag: answer.headers['etag'] ?? null }
  }
}

const SUCCESSES = [200, 201, 202]

/** A list ends in the plural of what it lists; these words only look like one. */
const LIST = /^GET .*(?<!\/status|\/statistics|\/counts)(?<=s)$/

/** The one thing that is asked for or changed, by its id. */
const ONE = /^(?:GET|PATCH) .*\{(\w+_id)\}$/

/** What a Pawl server would never answer. Another program behind the address must not pass for a success. */
function faultOf(route: string, { status, body }: TransportAnswer): string | null {
  if (status === 204 && route.startsWith('DELETE ')) return null
  if (!SUCCESSES.includes(status)) return 'a status that this request cannot have'
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return 'no JSON object'
  const [, id] = ONE.exec(route) ?? []
  if (id !== undefined && !Object.hasOwn(body, id)) return `an object without \`${id}\``
  if (LIST.test(route) && !Array.isArray((body as { readonly items?: unknown }).items))
    return 'an object without a list'
  return null
}

function headersOf({ ifMatch, idempotencyKey }: RequestOptions): Record<string, string> {
  return {
    ...(ifMatch !== undefined && { 'if-match': typeof ifMatch === 'number' ? `"${ifMatch}"` : ifMatch }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  }
}

export function problemIn(body: unknown): Readonly<Record<string, unknown>> {
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
}

function textsOf(query: Readonly<Record<string, unknown>>): Record<string, string> {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
}
