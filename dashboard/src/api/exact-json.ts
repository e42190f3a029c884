/**
 * JSON that keeps every number as it was written. JavaScript would change the last digits of a large one, and somebody who
 * copies an id from this page must get that id.
 */

/** In JSON text: a string, which may hold digits too, or a number. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** Nobody outside can know it, so no stored text can pass for such a number. */
const MARK = `exact-number-${crypto.getRandomValues(new Uint32Array(4)).join('-')}:`

export function parseExact(text: string): unknown {
  return JSON.parse(
    text.replace(STRING_OR_NUMBER, (token) => {
      if (token.startsWith('"') || String(Number(token)) === token) return token
      return `"${MARK}${token}"`
    }),
  )
}

/** The number that a marked text stands for, or null. */
export function exactNumber(value: unknown): string | null {
  return typeof value === 'string' && value.startsWith(MARK) ? value.slice(MARK.length) : null
}

/** For people: indented, with numbers as they came. */
export function printExact(value: unknown, indent = 2): string {
  const text = JSON.stringify(value, null, indent)
  return text === undefined ? 'null' : unmark(text)
}

export function unmark(text: string): string {
  return text.replace(new RegExp(`"${MARK}([^"]*)"`, 'g'), '$1')
}
