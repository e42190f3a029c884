import type { Endpoint, GivenOf, ResultOf, RouteOf } from '../http/contract/endpoint.ts'
import type { endpoints } from '../http/contract/index.ts'
import { PawlApiError } from './api-error.ts'
import type { Transport } from './transport.ts'

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

export interface RequestOptions {
  readonly signal?: AbortSignal
  /** The ETag that the thing must still have. */
  readonly ifMatch?: string
  readonly idempotencyKey?: string
}

/** A question to the API, typed by the endpoint's own schemas. */
export type Request = <Route extends keyof Routes>(
  route: Route,
  given: Given<Routes[Route]>,
) => Promise<ResultOf<Routes[Route]>>

export function requestThrough(transport: Transport): Request {
  return async (route, given) => {
    const { params, query, body, signal, ifMatch, idempotencyKey } = given as RequestOptions & {
      readonly params?: Readonly<Record<string, string>>
      readonly query?: Readonly<Record<string, unknown>>
      readonly body?: unknown
    }
    const answer = await transport.send({
      route,
      params: params ?? {},
      query: textsOf(query ?? {}),
      body,
      headers: {
        ...(ifMatch !== undefined && { 'if-match': ifMatch }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      signal,
    })
    if (answer.status >= 400) throw new PawlApiError(answer.status, (answer.body ?? {}) as Record<string, unknown>)
    return answer.body as never
  }
}

function textsOf(query: Readonly<Record<string, unknown>>): Record<string, string> {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
}
