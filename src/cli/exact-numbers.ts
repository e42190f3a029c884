import { usageError } from './cli-error.ts'

/** In JSON text: a string, which may hold digits too, or a number. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi

/**
 * JSON knows numbers of any size, but JavaScript would silently change the last digits of a large one, and make a very
 * large one infinite. The text must be valid JSON.
 */
export function refuseChangedNumbers(text: string, option: string): void {
  const changed = text.match(STRING_OR_NUMBER)?.find((token) => !token.startsWith('"') && isChanged(token))
  if (changed === undefined) return
  throw usageError(`The number ${changed} of ${option} is too large to be kept exactly. Give it as text: "${changed}".`)
}

function isChanged(token: string): boolean {
  const number = Number(token)
  if (!Number.isFinite(number)) return true
  return Number.isInteger(number) && !Number.isSafeInteger(number) && digitsOf(token) !== digitsOf(String(number))
}

/** The same for all spellings of one number: `1200`, `1.2e3` and `12e2` are `12e2`. */
function digitsOf(token: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(token) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const kept = digits.replace(/0+$/, '')
  return `${sign}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`
}
