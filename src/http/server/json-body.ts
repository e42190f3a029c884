import { isUtf8 } from 'node:buffer'
import { PawlError } from '../../domain/errors.ts'

/** Levels of lists and objects within each other. Real requests have a handful; a parser's stack has an end. */
const JSON_DEPTH_MAX = 64

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
const [ZERO, NINE, EXPONENT, SMALL_EXPONENT] = [0x30, 0x39, 0x45, 0x65]

/**
 * The JSON value that the bytes say. Nothing at all is `undefined`. Depth is counted before anything is parsed, and without
 * recursion.
 */
export function readJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw malformed('Expected the body to be JSON in UTF-8, but its bytes are not UTF-8.')
  const { depth, mayBeHuge } = survey(bytes)
  if (depth > JSON_DEPTH_MAX) {
    throw malformed(`Expected the body to have at most ${JSON_DEPTH_MAX} levels of lists and objects, got more.`)
  }
  // Some editors and languages put a mark before it, which is no part of it.
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  const value = parse(text)
  if (mayBeHuge || mayBeForbidden(text)) refuseFaults(value)
  return value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw malformed(`Expected the body to be JSON: ${(error as Error).message}.`)
  }
}

/** Integers of fewer digits fit a double, if they have no exponent. */
const DIGITS_ENOUGH = 300

interface Survey {
  /** Of anything but JSON it is only some number. Not counted beyond the limit. */
  readonly depth: number
  /** Whether some number has an exponent, or very many digits. */
  readonly mayBeHuge: boolean
}

function survey(bytes: Buffer): Survey {
  let [level, depth, digits] = [0, 0, 0]
  let mayBeHuge = false
  for (let index = 0; index < bytes.length && depth <= JSON_DEPTH_MAX; index++) {
    const byte = bytes[index] as number
    if (byte >= ZERO && byte <= NINE) {
      if (++digits > DIGITS_ENOUGH) mayBeHuge = true
      continue
    }
    if ((byte === EXPONENT || byte === SMALL_EXPONENT) && digits > 0) mayBeHuge = true
    else if (byte === QUOTE) index = endOfText(bytes, index)
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth = Math.max(depth, ++level)
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) level--
    digits = 0
  }
  return { depth, mayBeHuge }
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

/** Without recursion, as everything here. */
function refuseFaults(value: unknown): void {
  const open = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next === 'number' && !Number.isFinite(next)) {
      throw malformed('Expected every number in the body to fit a double, at most about 1.8e308, got a larger one.')
    }
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
