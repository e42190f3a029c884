import type { Role } from '../domain/role.ts'
import type { Page } from './jobs.ts'

/** A key that opens the HTTP API. The key itself is nowhere, only its hash. */
export interface ApiKey {
  readonly keyId: string
  readonly name: string
  readonly role: Role
  /** The first characters, by which a person tells keys apart. */
  readonly prefix: string
  readonly createdBy: string | null
  readonly createdAt: number
  /** Null: never. */
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

export interface KeyFilter {
  readonly limit: number
  readonly cursor?: string | null
}

export interface KeyStore {
  /** `hash` is the SHA-256 of the key, in hex. */
  createKey(key: ApiKey, hash: string): Promise<void>

  /**
   * Also one that is revoked or has expired: what that means is the caller's to say. With the hash that is stored, which
   * the caller compares by itself.
   */
  findKeyByHash(hash: string): Promise<{ readonly apiKey: ApiKey; readonly hash: string } | null>

  /** Revoking twice changes nothing. */
  revokeKey(keyId: string, now: number): Promise<'revoked' | 'not-found'>

  findKey(keyId: string): Promise<ApiKey | null>

  /**
   * Whether any key was ever made, revoked and expired ones included: a store that once asked for keys never again opens
   * to everybody by itself.
   */
  hasKeys(): Promise<boolean>

  /** Newest first. */
  listKeys(filter: KeyFilter): Promise<Page<ApiKey>>
}
