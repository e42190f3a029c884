import type { IncomingHttpHeaders } from 'node:http'
import { type Authentication, authenticate, requiresKeys } from '../../operations/api-keys.ts'
import type { OperationContext } from '../../operations/context.ts'
import type { Actor } from '../handlers/handler.ts'
import { type Problem, problem, problemOf } from '../problems.ts'
import { TokenBuckets } from './token-buckets.ts'

/** Who asks, as far as the server knows. */
export interface Identity {
  readonly actor: Actor
  /** Null: nobody in particular, on a store without keys. */
  readonly keyId: string | null
  readonly expiresAt: number | null
}

export type Identification =
  | { readonly kind: 'identified'; readonly identity: Identity }
  | { readonly kind: 'refused'; readonly problem: Problem; readonly headers: Readonly<Record<string, string>> }

/** How long an answer of the store is believed: so soon a key that was made or revoked anywhere takes effect. */
const BELIEVED_MS = 1_000

/** Keys remembered at once. */
const REMEMBERED_MAX = 1_000

/** Wrong keys per second and address. More are refused without a look. */
const WRONG_KEYS_PER_SECOND = 20

const ANYBODY: Identity = { actor: { name: 'anonymous', role: 'admin' }, keyId: null, expiresAt: null }

interface Remembered {
  readonly identity: Identity
  checkedAt: number
}

/**
 * Says who asks. As soon as the store has a key, everybody needs one. What the store said is believed for a second, so that
 * a request in the hot path neither hashes nor reads.
 */
export class Doorkeeper {
  readonly #context: OperationContext
  readonly #remembered = new Map<string, Remembered>()
  readonly #wrongKeys: TokenBuckets
  /** Once true it stays: a store that asked for keys never opens to everybody again. */
  #needsKey = false
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(context: OperationContext) {
    this.#context = context
    this.#wrongKeys = new TokenBuckets(context.clock, WRONG_KEYS_PER_SECOND)
  }

  /** Whether the store asks for keys, by what it said within the last second. */
  async needsKey(): Promise<boolean> {
    if (this.#needsKey || this.#isBelievable(this.#lookedAt)) return this.#needsKey
    const needsKey = await requiresKeys(this.#context)
    this.#needsKey ||= needsKey
    this.#lookedAt = this.#context.clock.now()
    return this.#needsKey
  }

  /** The answer that is at hand, without asking the store. Null: `identify` must look. */
  recall(key: string | null): Identity | null {
    if (!this.#needsKey) return this.#isBelievable(this.#lookedAt) ? ANYBODY : null
    const remembered = key === null ? undefined : this.#remembered.get(key)
    if (remembered === undefined || !this.#isBelievable(remembered.checkedAt)) return null
    const { expiresAt } = remembered.identity
    return expiresAt !== null && expiresAt <= this.#context.clock.now() ? null : remembered.identity
  }

  async identify(key: string | null, address: string): Promise<Identification> {
    try {
      if (!(await this.needsKey())) return { kind: 'identified', identity: ANYBODY }
      if (key === null) return refuse(problem('unauthenticated', `Expected an API key. ${HOW_TO_GIVE_ONE}`))
      return await this.#identifyKey(key, address)
    } catch (error) {
      return { kind: 'refused', problem: problemOf(error), headers: {} }
    }
  }

  async #identifyKey(key: string, address: string): Promise<Identification> {
    // Who came with a right key before is never kept out by a neighbour who guesses.
    const waitMs = this.#remembered.has(key) ? 0 : this.#wrongKeys.peek(address)
    if (waitMs > 0) return tooManyWrongKeys(waitMs)
    const found = await authenticate(this.#context, key)
    if (found.kind !== 'valid') {
      this.#remembered.delete(key)
      this.#wrongKeys.take(address)
      return refuse(problem('unauthenticated', sentenceOf(found)))
    }
    const { keyId, name, role, expiresAt } = found.apiKey
    const identity: Identity = { actor: { name: `key:${name}`, role }, keyId, expiresAt }
    this.#remember(key, identity)
    return { kind: 'identified', identity }
  }

  #remember(key: string, identity: Identity): void {
    this.#remembered.delete(key)
    const [oldest] = this.#remembered.size < REMEMBERED_MAX ? [] : this.#remembered.keys()
    if (oldest !== undefined) this.#remembered.delete(oldest)
    this.#remembered.set(key, { identity, checkedAt: this.#context.clock.now() })
  }

  #isBelievable(lookedAt: number): boolean {
    const ageMs = this.#context.clock.now() - lookedAt
    return ageMs >= 0 && ageMs < BELIEVED_MS
  }
}

const BEARER = /^Bearer +([^\s]+) *$/i

/** The key that came with the request, or null. */
export function keyIn({ authorization, 'x-api-key': apiKey }: IncomingHttpHeaders): string | null {
  const bearer = authorization === undefined ? null : BEARER.exec(authorization)
  return bearer?.[1] ?? (typeof apiKey === 'string' && apiKey !== '' ? apiKey : null)
}

const HOW_TO_GIVE_ONE = 'Send it as `Authorization: Bearer <key>` or `X-API-Key: <key>`.'

function sentenceOf(found: Exclude<Authentication, { kind: 'valid' }>): string {
  switch (found.kind) {
    case 'unknown':
      return `This API key is not known here. ${HOW_TO_GIVE_ONE}`
    case 'revoked':
      return `The API key \`${found.apiKey.prefix}…\` was revoked. Ask for a new one.`
    case 'expired':
      return `The API key \`${found.apiKey.prefix}…\` has expired. Ask for a new one.`
  }
}

function refuse(told: Problem): Identification {
  return { kind: 'refused', problem: told, headers: { 'www-authenticate': 'Bearer realm="pawl"' } }
}

function tooManyWrongKeys(waitMs: number): Identification {
  return {
    kind: 'refused',
    problem: problem('rate_limited', 'Too many wrong API keys came from your address. Wait, and try again.'),
    headers: retryAfter(waitMs),
  }
}

/** In whole seconds, as the header wants it. */
export function retryAfter(waitMs: number): Readonly<Record<string, string>> {
  return { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1_000))) }
}
