/**
 * Text that came from somewhere else (names, params, errors, logs) must not steer the terminal: it could hide what is
 * there, rewrite what was, or ring. Control characters, escapes and marks that turn the direction of writing are shown
 * as what they are.
 */

// Control characters but newline, among them the eight-bit escapes; the marks that turn directions; line and paragraph
// separators; what has no width and no look; tags; half a pair of code units. Zero-width joiners stay: emoji are made
// with them.
const UNSAFE =
  /(?!\n)\p{Cc}|[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Surrogate}/gu

/** For one line: newlines are shown as `\n`. */
export function escapeLine(text: string): string {
  return text.replace(UNSAFE, shown).replaceAll('\n', '\\n')
}

/** For several lines, as in logs and stacks: newlines stay, and a tab becomes two spaces. */
export function escapeBlock(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll('\t', '  ').replace(UNSAFE, shown)
}

function shown(character: string): string {
  if (character === '\r') return '\\r'
  if (character === '\t') return '\\t'
  const code = character.codePointAt(0) ?? 0
  if (code <= 0xff) return `\\x${hex(code, 2)}`
  return code <= 0xffff ? `\\u${hex(code, 4)}` : `\\u{${hex(code, 5)}}`
}

/** JSON that is harmless on a terminal too: what JSON would leave as it is becomes `\u…`, which means the same. */
export function safeJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, null, indent) ?? 'null').replace(UNSAFE, codeUnits)
}

function codeUnits(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${hex(unit.charCodeAt(0), 4)}`)
    .join('')
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0')
}
