/** A number in JSON text that JavaScript would silently change. */
export interface ChangedNumber {
  /** Where it stands: the names and places around it, from the outside. */
  readonly path: readonly string[]
  /** As it was written. */
  readonly literal: string
  /** What would be stored instead. */
  readonly becomes: string
}

const [QUOTE, BACKSLASH, COMMA, MINUS, ZERO, NINE] = [0x22, 0x5c, 0x2c, 0x2d, 0x30, 0x39]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/** The smallest whole number that a double does not keep has as many digits. */
export const CHANGED_DIGITS_MIN = 16

const NUMBER = /-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/iy

/**
 * JSON knows numbers of any size, but JavaScript changes the last digits of a large one, and makes a very large one
 * infinite. The first of those in the text, or null. Fractions mean the nearest double, and are no fault.
 * The text must be JSON, or several pieces of it.
 */
export function findChangedNumber(text: string): ChangedNumber | null {
  // Of a list the place in it, of an object the text that came last: before a number that is its name.
  const around: (number | string)[] = []
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    const top = around.at(-1)
    if (unit === QUOTE) {
      const start = index
      index = endOfText(text, start)
      if (typeof top === 'string') around[around.length - 1] = text.slice(start, index + 1)
    } else if (unit === MINUS || (unit >= ZERO && unit <= NINE)) {
      NUMBER.lastIndex = index
      const literal = NUMBER.exec(text)?.[0] ?? ''
      if (isChanged(literal)) return { path: around.map(nameOf), literal, becomes: String(Number(literal)) }
      index += Math.max(0, literal.length - 1)
    } else if (unit === COMMA && typeof top === 'number') around[around.length - 1] = top + 1
    else if (unit === OPEN_LIST) around.push(0)
    else if (unit === OPEN_OBJECT) around.push('""')
    else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) around.pop()
  }
  return null
}

/** Where the text ends that begins at `start`. */
function endOfText(text: string, start: number): number {
  let index = start + 1
  while (index < text.length && text.charCodeAt(index) !== QUOTE) index += text.charCodeAt(index) === BACKSLASH ? 2 : 1
  return index
}

function nameOf(part: number | string): string {
  return typeof part === 'number' ? String(part) : (JSON.parse(part) as string)
}

function isChanged(literal: string): boolean {
  const number = Number(literal)
  if (!Number.isFinite(number)) return true
  return Number.isInteger(number) && !Number.isSafeInteger(number) && digitsOf(literal) !== digitsOf(String(number))
}

/** The same for all spellings of one number: `1200`, `1.2e3` and `12e2` are `12e2`. */
function digitsOf(literal: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(literal) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const kept = withoutZerosBehind(digits)
  return `${sign}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`
}

/** By hand: an expression would try each of many zeros in turn. */
function withoutZerosBehind(digits: string): string {
  let end = digits.length
  while (end > 0 && digits.charCodeAt(end - 1) === ZERO) end--
  return digits.slice(0, end)
}
