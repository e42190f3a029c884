import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { type Problem, problem } from '../problems.ts'

/**
 * Refuses what a page of somebody else makes a browser send (CSRF), reads included: a browser that may not show the answer
 * has still sent the request.
 */
export class OriginGuard {
  readonly #allowed: ReadonlySet<string>

  constructor(allowed: ReadonlySet<string>) {
    this.#allowed = allowed
  }

  check(headers: IncomingHttpHeaders): Problem | null {
    const { origin, host = '' } = headers
    if (origin !== undefined) return this.#allowed.has(origin) || isSameOrigin(origin, host) ? null : refused(origin)
    // Browsers send no Origin with images, links and the like, but they do say that another site asked for them. Another
    // port of this machine is the same site and yet another program.
    const site = headers['sec-fetch-site']
    return site === 'cross-site' || site === 'same-site' ? refused(`a page of another origin (${site})`) : null
  }

  /**
   * A browser adds its cookie to whatever a page makes it send. So what changes something by a cookie must show that a page
   * of this very server asked for it; no other origin may, not even an allowed one.
   */
  checkOwnPage({ origin, host = '', 'sec-fetch-site': site }: IncomingHttpHeaders): Problem | null {
    const isOwnOrigin = origin === undefined ? site !== undefined : isSameOrigin(origin, host)
    const isOwnSite = site === undefined || site === 'same-origin'
    return isOwnOrigin && isOwnSite ? null : refused(origin ?? 'nowhere that a browser would tell')
  }

  /** Lets a page of an allowed origin read the answer. */
  share(origin: string | undefined, response: ServerResponse): void {
    if (this.#allowed.size === 0) return
    // Also for others: what stands between must not give one page the answer to another.
    response.setHeader('vary', 'Origin')
    if (!this.isAllowed(origin)) return
    response.setHeader('access-control-allow-origin', origin as string)
    response.setHeader('access-control-expose-headers', 'ETag, Location, Retry-After')
  }

  isAllowed(origin: string | undefined): boolean {
    return origin !== undefined && this.#allowed.has(origin)
  }
}

/** Host was checked before. Both leave out the port that the scheme implies. */
function isSameOrigin(origin: string, host: string): boolean {
  const own = host.toLowerCase()
  return origin === `http://${own}` || origin === `https://${own}`
}

function refused(origin: string): Problem {
  return problem(
    'origin_refused',
    `This request comes from \`${origin.slice(0, 100)}\`, not from this server's own pages. ` +
      'If that origin is meant, add it to `allowedOrigins`.',
  )
}
