import type { IncomingHttpHeaders } from 'node:http'
import { isApiKey } from '../../platform/api-key.ts'

/** What a request brings to show who sends it. */
export interface Credential {
  readonly key: string | null
  /** A browser sends its cookie whoever made it ask. */
  readonly isByCookie: boolean
}

const BEARER = /^Bearer +([^\s]+) *$/i
const COOKIE = 'pawl_session'

/** How long a browser keeps it; asking for the session begins anew. */
const COOKIE_MAX_AGE_S = 12 * 3_600

/** A key that was named comes before one that the browser added. */
export function credentialIn(headers: IncomingHttpHeaders): Credential {
  const { authorization, 'x-api-key': apiKey } = headers
  const bearer = authorization === undefined ? null : BEARER.exec(authorization)
  const named = bearer?.[1] ?? (typeof apiKey === 'string' && apiKey !== '' ? apiKey : null)
  const cookie = named === null ? keyInCookie(headers) : null
  return cookie === null ? { key: named, isByCookie: false } : { key: cookie, isByCookie: true }
}

/** Several cookies may have the name: of another path, or of another program. */
export function keyInCookie({ cookie = '' }: IncomingHttpHeaders): string | null {
  for (const part of cookie.split(';')) {
    const [name = '', value = ''] = part.trim().split('=', 2)
    if (name === COOKIE && isApiKey(value)) return value
  }
  return null
}

/** Null: the browser forgets it. No script can read it, and no page of another site can make the browser send it. */
export function cookieOf(key: string | null, { path, isSecure }: { path: string; isSecure: boolean }): string {
  const age = key === null ? 0 : COOKIE_MAX_AGE_S
  const parts = [`${COOKIE}=${key ?? ''}`, `Path=${path}`, `Max-Age=${age}`, 'HttpOnly', 'SameSite=Strict']
  return (isSecure ? [...parts, 'Secure'] : parts).join('; ')
}
