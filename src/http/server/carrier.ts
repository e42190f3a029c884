import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PawlError } from '../../domain/errors.ts'
import type { Door } from '../../library/door.ts'
import type { Logger } from '../../platform/logger.ts'
import { BODY_MAX_BYTES } from '../contract/endpoint.ts'
import type { Route } from '../handlers/handler.ts'
import { type Answer, perform, type RawRequest } from '../perform.ts'
import { problem, problemOf } from '../problems.ts'
import type { Identification, Identity, SessionDoor } from '../session-door.ts'
import { cookieOf, credentialIn, keyInCookie } from './credentials.ts'
import type { Doorkeeper } from './doorkeeper.ts'
import type { Exchange, Exchanges } from './exchanges.ts'
import { readJsonBody } from './json-body.ts'
import { answeredWhileClosing, sendAnswer, sendProblem } from './send.ts'

export interface CarrierParts {
  readonly door: Door
  readonly exchanges: Exchanges
  readonly logger: Logger
  readonly doorkeeper: Doorkeeper
  /** Browsers reach it by https only. */
  readonly behindHttps: boolean
  /** What stands before the paths of the API for those outside. */
  readonly basePath: string
}

/** Carries requests to `perform` and its answers back. It knows no endpoint. */
export class Carrier {
  readonly #parts: CarrierParts

  constructor(parts: CarrierParts) {
    this.#parts = parts
  }

  mount(app: FastifyInstance, routes: readonly Route[]): void {
    for (const route of routes) {
      const { method, path, bodyMaxBytes = BODY_MAX_BYTES } = route.endpoint
      app.route({
        method,
        url: toPattern(path),
        bodyLimit: bodyMaxBytes,
        config: { isOpen: route.endpoint.isOpen === true },
        handler: (request, reply) => this.#carry(route, request, reply),
      })
    }
  }

  async #carry(route: Route, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const exchange = this.#parts.exchanges.of(reply.raw)
    exchange.route = route.endpoint.path
    const { actor } = exchange.identity as Identity
    const params = request.params as Record<string, string>
    if (route.endpoint.params !== undefined && Object.values(params).includes('')) {
      return sendProblem(reply, problem('not_found', 'There is nothing at this path: an id in it is empty.'))
    }
    const raw = new CarriedRequest(request, exchange, this.#parts)
    const answer = await perform(route, this.#parts.door, actor, raw)
    return sendAnswer(reply, this.#seenFromOutside(answeredWhileClosing(answer)))
  }

  #seenFromOutside(answer: Answer): Answer {
    const { basePath } = this.#parts
    const { location } = answer.headers
    if (basePath === '' || location === undefined) return answer
    return { ...answer, headers: { ...answer.headers, location: `${basePath}${location}` } }
  }

  /** Errors of fastify, of the parsers, and ours. They say what was wrong, and nothing of the inside. */
  readonly fail = (error: FastifyError | PawlError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    try {
      const told = told4xx(error, request)
      if (told !== null) return sendProblem(reply, told, CLOSE)
      this.#log(error, request, reply)
      return sendProblem(reply, problemOf(error), CLOSE)
    } catch (fault) {
      // Nobody is behind us but fastify, which would tell the caller more than we do.
      this.#log(fault, request, reply)
      return sendProblem(reply, problem('internal_error', 'Something went wrong here. It was logged.'), CLOSE)
    }
  }

  #log(error: unknown, { raw: { method } }: FastifyRequest, reply: FastifyReply): void {
    const { route } = this.#parts.exchanges.of(reply.raw)
    this.#parts.logger.error({ error, route: `${method} ${route ?? '(no route)'}` }, 'A request failed')
  }
}

/** Of a request that failed before it was read to its end, more may come, which is no request. */
const CLOSE = { connection: 'close' }

/** A class, because an object with a getter of its own costs the engine as much as all the rest of the request. */
class CarriedRequest implements RawRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: unknown
  readonly body: unknown
  readonly idempotencyKey: string | null
  readonly ifMatch: string | null
  readonly #exchange: Exchange
  readonly #request: FastifyRequest
  readonly #parts: CarrierParts

  constructor(request: FastifyRequest, exchange: Exchange, parts: CarrierParts) {
    const {
      params,
      query,
      body,
      raw: { headers },
    } = request
    this.#request = request
    this.#parts = parts
    this.params = params as Record<string, string>
    this.query = query
    this.body = body
    this.idempotencyKey = oneText(headers['idempotency-key'])
    this.ifMatch = oneText(headers['if-match'])
    this.#exchange = exchange
  }

  get signal(): AbortSignal {
    return this.#exchange.signal
  }

  get session(): SessionDoor {
    return new CarriedSession(this.#request, this.#exchange.identity as Identity, this.#parts)
  }
}

/** Made only for those who log in, log out or ask who they are. */
class CarriedSession implements SessionDoor {
  readonly identity: Identity
  readonly isByCookie: boolean
  readonly cookieKey: string | null
  readonly #address: string
  readonly #parts: CarrierParts

  constructor({ raw: { headers }, ip }: FastifyRequest, identity: Identity, parts: CarrierParts) {
    this.identity = identity
    this.isByCookie = credentialIn(headers).isByCookie
    this.cookieKey = keyInCookie(headers)
    this.#address = ip
    this.#parts = parts
  }

  identify(key: string): Promise<Identification> {
    return this.#parts.doorkeeper.identify(key, this.#address)
  }

  cookieOf(key: string | null): string {
    return cookieOf(key, { path: `${this.#parts.basePath}/`, isSecure: this.#parts.behindHttps })
  }
}

/** JSON is all we read. What a form or a script tag of another site can send is not JSON. */
export function readOnlyJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const encoding = request.headers['content-encoding'] ?? 'identity'
    if (encoding !== 'identity') return done(notJson(`the content encoding \`${encoding.slice(0, 40)}\``))
    try {
      done(null, readJsonBody(body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
}

function told4xx(error: FastifyError | PawlError, request: FastifyRequest) {
  if (error instanceof PawlError) return problemOf(error)
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE': {
      const { bodyLimit } = request.routeOptions
      return problem('body_too_large', `Expected a body of at most ${bodyLimit} bytes, got more.`)
    }
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return problemOf(notJson(`\`${(request.headers['content-type'] ?? 'nothing').slice(0, 100)}\``))
    case 'FST_ERR_BAD_URL':
      return problem(
        'malformed_request',
        'Expected the path to be well escaped, but a `%` in it is followed by no code.',
      )
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return problem('not_found', 'There is nothing at this path: a part of it is too long to be an id.')
    default: {
      const { statusCode = 500 } = error
      return statusCode < 500 ? problem('malformed_request', 'The request is not well formed.') : null
    }
  }
}

function notJson(came: string): PawlError {
  return new PawlError(
    'unsupported_media_type',
    `Expected \`Content-Type: application/json\` and a JSON body without encoding, got ${came}.`,
  )
}

/** `/api/jobs/{job_id}` as the router writes it. */
function toPattern(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}

/** Sent twice, node joins the two, and that is what is believed. */
function oneText(header: string | string[] | undefined): string | null {
  if (header === undefined) return null
  return typeof header === 'string' ? header : header.join(', ')
}
