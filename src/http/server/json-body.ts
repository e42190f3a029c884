import { isUtf8 } from 'node:buffer'
import { PawlError } from '../../domain/errors.ts'
import { CHANGED_DIGITS_MIN, findChangedNumber } from '../../domain/exact-numbers.ts'
import { capText } from '../../domain/run.ts'

/** Levels of lists and objects within each other. Real requests have a handful; a parser's stack has an end. */
const JSON_DEPTH_MAX = 64

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
const [ZERO, NINE, POINT, MINUS, EXPONENT, SMALL_EXPONENT] = [0x30, 0x39, 0x2e, 0x2d, 0x45, 0x65]

/**
 * The JSON value that the bytes say. Nothing at all is `undefined`. Depth is counted before anything is parsed, and without
 * recursion.
 */
export function readJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw malformed('Expected the body to be JSON in UTF-8, but its bytes are not UTF-8.')
  const { depth, mayBeChanged } = survey(bytes)
  if (depth > JSON_DEPTH_MAX) {
    throw malformed(`Expected the body to have at most ${JSON_DEPTH_MAX} levels of lists and objects, got more.`)
  }
  // Some editors and languages put a mark before it, which is no part of it.
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  const value = parse(text)
  if (mayBeChanged) refuseChangedNumber(text)
  if (mayBeForbidden(text)) refuseForbidden(value)
  return value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw malformed(`Expected the body to be JSON: ${(error as Error).message}.`)
  }
}

interface Survey {
  /** Of anything but JSON it is only some number. Not counted beyond the limit. */
  readonly depth: number
  /** Whether some number has an exponent that makes it larger, or so many digits that a double may not keep it. */
  readonly mayBeChanged: boolean
}

/** Digits behind a point make no number large, however many they are. */
const BEHIND_POINT = -1e9

function survey(bytes: Buffer): Survey {
  let [level, depth, digits] = [0, 0, 0]
  let mayBeChanged = false
  for (let index = 0; index < bytes.length && depth <= JSON_DEPTH_MAX; index++) {
    const byte = bytes[index] as number
    if (byte >= ZERO && byte <= NINE) {
      if (++digits >= CHANGED_DIGITS_MIN) mayBeChanged = true
      continue
    }
    if (byte === POINT) {
      digits = BEHIND_POINT
      continue
    }
    if (byte === EXPONENT || byte === SMALL_EXPONENT) mayBeChanged ||= digits !== 0 && bytes[index + 1] !== MINUS
    else if (byte === QUOTE) index = endOfText(bytes, index)
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth = Math.max(depth, ++level)
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) level--
    digits = 0
  }
  return { depth, mayBeChanged }
}

/** Where the text ends that begins at `start`. */
function endOfText(bytes: Buffer, start: number): number {
  let index = start + 1
  while (index < bytes.length && bytes[index] !== QUOTE) index += bytes[index] === BACKSLASH ? 2 : 1
  return index
}

/** Whether a key may be one of those below, also with letters written as escapes. */
function mayBeForbidden(text: string): boolean {
  return text.includes('__proto__') || text.includes('constructor') || text.includes('\\u00')
}

/** Of a number with thousands of digits, the first say which it is. */
const NUMBER_SHOWN_MAX = 60

/** Stored with other digits, an id would silently be another one's. */
function refuseChangedNumber(text: string): void {
  const changed = findChangedNumber(text)
  if (changed === null) return
  const { becomes } = changed
  const [path, literal] = [changed.path.join('.'), capText(changed.literal, NUMBER_SHOWN_MAX)]
  throw new PawlError(
    'inexact_number',
    `Expected ${path === '' ? 'the body' : `\`${path}\``} to be a number that a double keeps exactly, got \`${literal}\`, which ` +
      `would become \`${becomes}\`. Send it as text: \`"${literal}"\`.`,
    { ...(path !== '' && { path }), details: { literal, becomes } },
  )
}

/** Without recursion, as everything here. */
function refuseForbidden(value: unknown): void {
  const open = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== 'object' || next === null) continue
    refuseForbiddenKeys(next)
    for (const inner of Object.values(next)) open.push(inner)
  }
}

/** What copies such an object carelessly changes the prototype of all objects. */
function refuseForbiddenKeys(object: object): void {
  if (Object.hasOwn(object, '__proto__')) {
    throw malformed('Expected the body to have no key `__proto__`. Choose another name.')
  }
  if (!Object.hasOwn(object, 'constructor')) return
  const inner: unknown = object.constructor
  if (typeof inner === 'object' && inner !== null && Object.hasOwn(inner, 'prototype')) {
    throw malformed('Expected the body to have no key `constructor` with a `prototype` in it. Choose another name.')
  }
}

function malformed(sentence: string): PawlError {
  return new PawlError('malformed_request', sentence)
}
