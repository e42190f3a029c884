import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../platform/clock.ts'
import { problem } from '../problems.ts'
import type { Identification, Identity } from '../session-door.ts'
import { credentialIn } from './credentials.ts'
import { type Dashboard, isNavigation } from './dashboard.ts'
import { type Doorkeeper, NOBODY, retryAfter } from './doorkeeper.ts'
import type { Exchanges } from './exchanges.ts'
import type { HostGuard } from './host-guard.ts'
import type { OriginGuard } from './origin-guard.ts'
import { sendProblem } from './send.ts'
import type { CheckedHttpOptions } from './server-options.ts'
import { TokenBuckets } from './token-buckets.ts'

/** Requests per second of one key, unless somebody said otherwise. */
const RATE_DEFAULT = 1_000

/** What says only that the process lives. Probers have no key. */
const OPEN_TO_ALL = /^\/(health|ready)(\?|$)/

export interface GateParts {
  readonly clock: Clock
  readonly hosts: HostGuard
  readonly origins: OriginGuard
  readonly doorkeeper: Doorkeeper
  readonly exchanges: Exchanges
  /** Null: none is served. */
  readonly dashboard: Dashboard | null
  readonly rateLimit: CheckedHttpOptions['rateLimit']
}

/** What every request passes before anything of it is read: is it meant for us, who sends it, and how often. */
export class Gate {
  readonly #parts: GateParts
  readonly #rates: TokenBuckets | null

  constructor(parts: GateParts) {
    const { clock, rateLimit } = parts
    this.#parts = parts
    this.#rates = rateLimit === false ? null : new TokenBuckets(clock, rateLimit ?? RATE_DEFAULT)
  }

  /** Calls `pass` or answers. */
  check(request: FastifyRequest, reply: FastifyReply, pass: () => void): void {
    const { hosts, origins, doorkeeper, dashboard } = this.#parts
    const { raw } = request
    // The router has the last word on what is a route: a path may be written in many ways.
    const isPage = request.is404 && dashboard?.serves(raw) === true
    const refusal = hosts.check(raw) ?? (isPage && isNavigation(raw.headers) ? null : origins.check(raw.headers))
    if (refusal !== null) return void sendProblem(reply, refusal)
    origins.share(raw.headers.origin, reply.raw)
    // The page must be there before somebody can log in; it holds nothing that is not public.
    // A browser asks by OPTIONS, and without a key, whether it may ask.
    if (isPage || raw.method === 'OPTIONS' || OPEN_TO_ALL.test(raw.url ?? '')) return pass()
    const { key, isByCookie } = credentialIn(raw.headers)
    const forged = isByCookie && changes(raw.method) ? origins.checkOwnPage(raw.headers) : null
    if (forged !== null) return void sendProblem(reply, forged)
    void doorkeeper.identify(key, request.ip).then((found) => {
      if (found.kind === 'identified') this.#admit(found.identity, reply, pass)
      else if (isOpen(request) && isOnlyUnknown(found)) this.#admit(NOBODY, reply, pass)
      else sendProblem(reply, found.problem, found.headers)
    })
  }

  #admit(identity: Identity, reply: FastifyReply, pass: () => void): void {
    this.#parts.exchanges.of(reply.raw).identity = identity
    const waitMs = this.#isLimited(identity) ? (this.#rates?.take(identity.keyId ?? 'anonymous') ?? 0) : 0
    if (waitMs === 0) return pass()
    sendProblem(
      reply,
      problem('rate_limited', 'Too many requests with this key. Wait, and try again.'),
      retryAfter(waitMs),
    )
  }

  /** Without keys only this machine can ask, and nobody is told how often, unless somebody said. */
  #isLimited({ keyId }: Identity): boolean {
    return keyId !== null || this.#parts.rateLimit !== null
  }
}

function changes(method: string | undefined): boolean {
  return method !== 'GET' && method !== 'HEAD'
}

/** The route says so itself, however its path was written. */
function isOpen({ routeOptions: { config } }: FastifyRequest): boolean {
  return (config as { readonly isOpen?: boolean }).isOpen === true
}

/** Not: a store that does not answer, or somebody who guesses. */
function isOnlyUnknown(found: Extract<Identification, { kind: 'refused' }>): boolean {
  return found.problem.code === 'unauthenticated'
}
