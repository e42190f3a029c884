import { isUtf8 } from 'node:buffer'
import { PawlError } from '../../domain/errors.ts'

/** Levels of lists and objects within each other. Real requests have a handful; a parser's stack has an end. */
export const JSON_DEPTH_MAX = 64

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * The JSON value that the bytes say. Nothing at all is `undefined`. Depth is counted before anything is parsed, and without
 * recursion. `parse` refuses `__proto__` and its like.
 */
export function readJsonBody(bytes: Buffer, parse: (text: string) => unknown): unknown {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw malformed('Expected the body to be JSON in UTF-8, but its bytes are not UTF-8.')
  if (depthOf(bytes, JSON_DEPTH_MAX) > JSON_DEPTH_MAX) {
    throw malformed(`Expected the body to have at most ${JSON_DEPTH_MAX} levels of lists and objects, got more.`)
  }
  return parse(bytes.toString('utf8'))
}

/** The depth of the text if it is JSON; of anything else it is only some number. Stops counting beyond `max`. */
function depthOf(bytes: Buffer, max: number): number {
  let depth = 0
  let deepest = 0
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index]
    if (byte === QUOTE) index = endOfText(bytes, index)
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      depth++
      if (depth > deepest) deepest = depth
      if (deepest > max) return deepest
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth--
  }
  return deepest
}

/** Where the text ends that begins at `start`. */
function endOfText(bytes: Buffer, start: number): number {
  let index = start + 1
  while (index < bytes.length && bytes[index] !== QUOTE) index += bytes[index] === BACKSLASH ? 2 : 1
  return index
}

export function malformed(sentence: string): PawlError {
  return new PawlError('malformed_request', sentence)
}
