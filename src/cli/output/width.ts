/** How many columns a terminal gives to a text, right enough for tables. The text must have been escaped before. */
export function widthOf(text: string): number {
  if (isPlain(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += widthOfGrapheme(segment)
  return width
}

/** At most so many columns; what is cut off leaves an ellipsis. */
export function shorten(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  if (columns <= 0) return ''
  let kept = ''
  let width = 0
  for (const { segment } of graphemes.segment(text)) {
    width += widthOfGrapheme(segment)
    if (width > columns - 1) break
    kept += segment
  }
  return `${kept}…`
}

export function padEnd(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)))
}

export function padStart(text: string, columns: number): string {
  return ' '.repeat(Math.max(0, columns - widthOf(text))) + text
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

function isPlain(text: string): boolean {
  return /^[ -~]*$/.test(text)
}

const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u
const EMOJI = /\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f|^\p{Regional_Indicator}{2}/u

function widthOfGrapheme(grapheme: string): number {
  if (ZERO_WIDTH.test(grapheme)) return 0
  return EMOJI.test(grapheme) || isWide(grapheme.codePointAt(0) ?? 0) ? 2 : 1
}

// The blocks that East Asian Width calls wide or full-width, roughly.
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe4f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x17000, 0x18cff],
  [0x1b000, 0x1b2ff],
  [0x20000, 0x3fffd],
]

function isWide(code: number): boolean {
  return WIDE.some(([first, last]) => code >= first && code <= last)
}
