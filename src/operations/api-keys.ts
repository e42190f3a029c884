import { PawlError } from '../domain/errors.ts'
import { invalid, readText, readWhole, readWord, refuseUnknownKeys } from '../domain/options.ts'
import { ROLES, type Role } from '../domain/role.ts'
import { hashApiKey, isApiKey, isSameHash, newApiKey, prefixOfApiKey } from '../platform/api-key.ts'
import type { Page } from '../store/jobs.ts'
import type { ApiKey } from '../store/keys.ts'
import type { OperationContext } from './context.ts'
import { INSTANT_MAX, readInstant, readStorable } from './enqueue-options.ts'
import { type PageOptions, readPage } from './read-history.ts'

export interface KeyOptions {
  /** Whom or what it is for: 1 to 128 characters. Several keys may have the same name. */
  readonly name: string
  readonly role: Role
  /** How long it opens anything. Give this or `expiresAt`. @default for ever */
  readonly expiresInMs?: number
  /** The instant from which on it opens nothing: a Date, or epoch milliseconds. */
  readonly expiresAt?: Date | number
  /** Who asked, for the record. */
  readonly createdBy?: string
}

export interface NewKey {
  /** The key itself. It is shown this once: only its hash is stored. */
  readonly key: string
  readonly apiKey: ApiKey
}

const NAME_LENGTH_MAX = 128
const CREATED_BY_LENGTH_MAX = 512

/**
 * Makes a key. From the first one on, the store's API asks for keys. The first may have any role: whoever can open the store
 * itself can always make another.
 */
export async function createKey(context: OperationContext, options: KeyOptions): Promise<NewKey> {
  refuseUnknownKeys(options, ['name', 'role', 'expiresInMs', 'expiresAt', 'createdBy'], '')
  const now = context.clock.now()
  const key = newApiKey()
  const apiKey: ApiKey = {
    keyId: context.newId(),
    name: readName(options.name),
    role: readWord(options.role, ROLES, 'role'),
    prefix: prefixOfApiKey(key),
    createdBy: readStorable(options.createdBy, 'createdBy', CREATED_BY_LENGTH_MAX),
    createdAt: now,
    expiresAt: readExpiry(options, now),
    revokedAt: null,
  }
  await context.store.createKey(apiKey, hashApiKey(key))
  return { key, apiKey }
}

function readName(name: unknown): string {
  const text = readStorable(name, 'name', NAME_LENGTH_MAX)
  if (text !== null) return text
  throw invalid('name', `a text of 1 to ${NAME_LENGTH_MAX} characters`, name)
}

function readExpiry({ expiresInMs, expiresAt }: KeyOptions, now: number): number | null {
  if (expiresInMs !== undefined && expiresAt !== undefined) {
    throw new PawlError('invalid_option', 'Expected `expiresInMs` or `expiresAt`, got both.', { path: 'expiresAt' })
  }
  if (expiresInMs !== undefined) return now + readWhole(expiresInMs, 1, INSTANT_MAX - now, 'expiresInMs')
  if (expiresAt === undefined) return null
  const instant = readInstant(expiresAt, 'expiresAt')
  if (instant > now) return instant
  throw invalid('expiresAt', 'an instant in the future', expiresAt)
}

/** What a key is worth. `unknown`: nobody ever made it. */
export type Authentication =
  | { readonly kind: 'valid'; readonly apiKey: ApiKey }
  | { readonly kind: 'revoked' | 'expired'; readonly apiKey: ApiKey }
  | { readonly kind: 'unknown' }

/** Asks the store each time, so that a key that is revoked anywhere opens nothing any more. */
export async function authenticate(context: OperationContext, key: string): Promise<Authentication> {
  if (typeof key !== 'string' || !isApiKey(key)) return { kind: 'unknown' }
  const hash = hashApiKey(key)
  const found = await context.store.findKeyByHash(hash)
  if (found === null || !isSameHash(found.hash, hash)) return { kind: 'unknown' }
  const { apiKey } = found
  if (apiKey.revokedAt !== null) return { kind: 'revoked', apiKey }
  const isExpired = apiKey.expiresAt !== null && apiKey.expiresAt <= context.clock.now()
  return { kind: isExpired ? 'expired' : 'valid', apiKey }
}

/** From now on the key opens nothing. Revoking twice changes nothing. */
export async function revokeKey(context: OperationContext, keyId: string): Promise<ApiKey> {
  const result = await context.store.revokeKey(readText(keyId, 'keyId'), context.clock.now())
  if (result === 'not-found') throw keyNotFound(keyId)
  return getKey(context, keyId)
}

export async function getKey(context: OperationContext, keyId: string): Promise<ApiKey> {
  const apiKey = await context.store.findKey(readText(keyId, 'keyId'))
  if (apiKey === null) throw keyNotFound(keyId)
  return apiKey
}

/** Newest first, also those that open nothing any more. */
export async function listKeys(context: OperationContext, options: PageOptions = {}): Promise<Page<ApiKey>> {
  refuseUnknownKeys(options, ['limit', 'cursor'], '')
  return context.store.listKeys(readPage(options))
}

/** Whether a key was ever made. From then on keys are asked for, also when all of them are revoked or have expired. */
export function requiresKeys(context: OperationContext): Promise<boolean> {
  return context.store.hasKeys()
}

function keyNotFound(keyId: string): PawlError {
  return new PawlError('key_not_found', `There is no API key ${keyId}.`, { details: { keyId } })
}
