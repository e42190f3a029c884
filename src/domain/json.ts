/** A value that survives a round trip through JSON. Params and results are made of these. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue }

export type JsonObject = { readonly [key: string]: JsonValue }

/** The largest params a Job may carry, in bytes of UTF-8 JSON. */
export const PARAMS_BYTES_MAX = 256 * 1024

/** The largest result a Run may keep, in bytes of UTF-8 JSON. */
export const RESULT_BYTES_MAX = 256 * 1024

export type EncodedJson =
  | { readonly kind: 'ok'; readonly text: string }
  | { readonly kind: 'unserialisable'; readonly message: string }
  | { readonly kind: 'too-large'; readonly bytes: number; readonly bytesMax: number }

/**
 * Writes a value as JSON, or says why it cannot be written. `undefined` becomes `null`, because a handler without a
 * `return` has a result too. Anything else that JSON would lose silently at the top (a function, a symbol) is refused.
 */
export function encodeJson(value: unknown, bytesMax: number): EncodedJson {
  if (value === undefined) return { kind: 'ok', text: 'null' }
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    return { kind: 'unserialisable', message: messageOf(error) }
  }
  if (text === undefined) return { kind: 'unserialisable', message: `a ${typeof value} has no JSON form` }
  // A UTF-16 unit is at most three bytes of UTF-8, so short texts need no counting.
  if (text.length * 3 <= bytesMax) return { kind: 'ok', text }
  const bytes = utf8Length(text)
  return bytes <= bytesMax ? { kind: 'ok', text } : { kind: 'too-large', bytes, bytesMax }
}

/** A `toJSON` can throw anything, also what has no text. */
function messageOf(thrown: unknown): string {
  try {
    // What JavaScript says of it names no remedy.
    if (thrown instanceof TypeError && /BigInt/.test(thrown.message))
      return 'a BigInt has no JSON form: give it as text'
    return thrown instanceof Error ? String(thrown.message) : String(thrown)
  } catch {
    return 'something was thrown that cannot be described'
  }
}

function utf8Length(text: string): number {
  let bytes = text.length
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit > 0x7ff) bytes += 2
    else if (unit > 0x7f) bytes += 1
    // A surrogate pair is two units and four bytes: two bytes each.
    if (unit >= 0xd800 && unit <= 0xdfff) bytes -= 1
  }
  return bytes
}
