import { readFileSync } from 'node:fs'
import type { Actor } from './handlers/handler.ts'
import type { Problem } from './problems.ts'

/** Who asks, as far as is known. */
export interface Identity {
  readonly actor: Actor
  /** Null: nobody in particular, on a store without keys; or nobody at all. */
  readonly keyId: string | null
  /** When the key opens nothing any more. Null: never. */
  readonly expiresAt: number | null
  /** False: a key is needed and none came. Only what is open to all may be asked. */
  readonly isKnown: boolean
}

export type Identification =
  | { readonly kind: 'identified'; readonly identity: Identity }
  | { readonly kind: 'refused'; readonly problem: Problem; readonly headers: Readonly<Record<string, string>> }

/** What a server knows of a request and its sender, for those who log in and out. */
export interface SessionDoor {
  readonly identity: Identity
  readonly isByCookie: boolean
  /** What this key would open. */
  identify(key: string): Promise<Identification>
  /** The header that makes a browser keep the key for a while. Null: that makes it forget. */
  cookieOf(key: string | null): string
  /** The key that the cookie of this request has. */
  readonly cookieKey: string | null
}

/** Of this package. */
export function readVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return version
}
