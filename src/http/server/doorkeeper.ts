import { type Authentication, authenticate, requiresKeys } from '../../operations/api-keys.ts'
import type { OperationContext } from '../../operations/context.ts'
import type { Logger } from '../../platform/logger.ts'
import type { ApiKey } from '../../store/keys.ts'
import { type Problem, problem, problemOf } from '../problems.ts'
import { isRedactedFor, type Redaction } from '../redact.ts'
import type { Identification, Identity } from '../session-door.ts'
import { toldWhileClosing } from './send.ts'
import { TokenBuckets } from './token-buckets.ts'

/** Wrong keys per second and address. More are refused without saying why. */
const WRONG_KEYS_PER_SECOND = 20

const ANYBODY: Identification = {
  kind: 'identified',
  identity: { actor: { name: 'anonymous', role: 'admin' }, keyId: null, expiresAt: null, isKnown: true },
}

/** Who has no key where one is needed. Lets in nowhere but where everybody may come. */
export const NOBODY: Identity = {
  actor: { name: 'nobody', role: 'viewer' },
  keyId: null,
  expiresAt: null,
  isKnown: false,
}

/**
 * Says who asks. As soon as the store has a key, everybody needs one. Nothing is remembered: a key that was made or revoked,
 * by whichever process, counts from the next request on. Only requests that are read in the same turn of the event loop
 * share the question whether a key is needed at all.
 */
export class Doorkeeper {
  readonly #context: OperationContext
  readonly #logger: Logger
  readonly #wrongKeys: TokenBuckets
  readonly #redaction: Redaction
  /** Once true it stays: a store that asked for keys never opens to everybody again. */
  #needsKey = false
  /** What the store said in this turn of the event loop. */
  #asked: Promise<boolean> | null = null

  constructor(context: OperationContext, logger: Logger, redaction: Redaction) {
    this.#redaction = redaction
    this.#context = context
    this.#logger = logger
    this.#wrongKeys = new TokenBuckets(context.clock, WRONG_KEYS_PER_SECOND)
  }

  async identify(key: string | null, address: string): Promise<Identification> {
    try {
      this.#needsKey ||= await this.#askOnceInThisTurn()
      if (!this.#needsKey) return ANYBODY
      if (key === null) return refuse(problem('unauthenticated', `Expected an API key. ${HOW_TO_GIVE_ONE}`))
      const found = await authenticate(this.#context, key)
      return found.kind === 'valid' ? identified(found.apiKey, this.#redaction) : this.#refuseWrong(found, address)
    } catch (error) {
      const told = toldWhileClosing(problemOf(error))
      if (told.code !== 'shutting_down')
        this.#logger.error({ error }, 'Nobody can be let in: the store does not answer')
      return { kind: 'refused', problem: told, headers: {} }
    }
  }

  #askOnceInThisTurn(): Promise<boolean> {
    if (this.#asked === null) {
      this.#asked = requiresKeys(this.#context)
      setImmediate(() => {
        this.#asked = null
      })
    }
    return this.#asked
  }

  /** Only who comes with a wrong key is slowed down: a right one is never kept out by a neighbour who guesses. */
  #refuseWrong(found: WrongKey, address: string): Identification {
    const waitMs = this.#wrongKeys.take(address)
    return waitMs > 0 ? tooManyWrongKeys(waitMs) : refuse(problem('unauthenticated', sentenceOf(found)))
  }
}

function identified({ keyId, name, role, expiresAt }: ApiKey, redaction: Redaction): Identification {
  const actor = { name: `key:${name}`, role, isRedacted: isRedactedFor(redaction, role) }
  return { kind: 'identified', identity: { actor, keyId, expiresAt, isKnown: true } }
}

const HOW_TO_GIVE_ONE = 'Send it as `Authorization: Bearer <key>` or `X-API-Key: <key>`.'

type WrongKey = Exclude<Authentication, { kind: 'valid' }>

function sentenceOf(found: WrongKey): string {
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
