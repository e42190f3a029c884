import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

const KEY_BYTES = 32
const KEY_PATTERN = /^pawl_[A-Za-z0-9_-]{43}$/

/** The beginning by which a key is known when it turns up somewhere, and six characters to tell keys apart. */
const PREFIX_LENGTH = 11

/** A new key: 256 bits that nobody can guess. */
export function newApiKey(): string {
  return `pawl_${randomBytes(KEY_BYTES).toString('base64url')}`
}

/** Whether the text can be a key at all. */
export function isApiKey(text: string): boolean {
  return KEY_PATTERN.test(text)
}

export function prefixOfApiKey(key: string): string {
  return key.slice(0, PREFIX_LENGTH)
}

/** SHA-256 in hex. A key is as random as can be, so it needs neither salt nor many rounds. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

/** Takes the same time wherever they differ. */
export function isSameHash(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
