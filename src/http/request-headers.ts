import { PawlError } from '../domain/errors.ts'
import { type Endpoint, routeOf, takesIdempotencyKey, takesIfMatch } from './contract/endpoint.ts'

/** Versions that one request may name. */
const TAGS_MAX = 20

/** One tag with what follows it in the list. Only a strong one is remembered: a weak one never matches. */
const NEXT_TAG = /[ \t]*(?:"([\x21\x23-\x7e\x80-\xff]*)"|W\/"[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?:,|$)/y

/**
 * The versions of which the request is asked, as `If-Match` names them. Null: whichever. An endpoint that takes no such
 * header refuses it: who sends it counts on something that would not happen.
 */
export function readIfMatch(endpoint: Endpoint, header: string | null): readonly string[] | null {
  if (header === null) return null
  if (!takesIfMatch(endpoint)) {
    throw malformed(`${routeOf(endpoint)} does not take the header \`If-Match\`. Leave it out.`)
  }
  if (header.trim() === '*') return null
  const tags: string[] = []
  NEXT_TAG.lastIndex = 0
  for (let count = 0; count < TAGS_MAX && NEXT_TAG.lastIndex < header.length; count++) {
    const match = NEXT_TAG.exec(header)
    if (match === null) break
    if (match[1] !== undefined) tags.push(match[1])
    if (NEXT_TAG.lastIndex === header.length) return tags
  }
  throw malformed(
    `Expected the header \`If-Match\` to be \`*\` or up to ${TAGS_MAX} values of \`ETag\`, in their quotes and with commas between.`,
  )
}

export function refuseUselessKey(endpoint: Endpoint, header: string | null): void {
  if (header === null || takesIdempotencyKey(endpoint)) return
  throw new PawlError(
    'invalid_option',
    `${routeOf(endpoint)} does not take the header \`Idempotency-Key\`: only POST /api/jobs does. Jobs of a list have the field \`idempotency_key\`.`,
    { path: 'Idempotency-Key' },
  )
}

function malformed(message: string): PawlError {
  return new PawlError('malformed_request', message)
}
