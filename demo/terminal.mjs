// The terminal: colours, bars and widths. Colour only on a TTY and without NO_COLOR; redrawing only on a TTY.

const { stdout, env } = process

export const canRedraw = stdout.isTTY === true && env.TERM !== 'dumb'
const hasColour = canRedraw && !env.NO_COLOR

const paint = (code) => (text) => (hasColour ? `\x1b[${code}m${text}\x1b[0m` : String(text))

export const bold = paint('1')
export const dim = paint('2')
export const red = paint('31')
export const green = paint('32')
export const yellow = paint('33')
export const cyan = paint('36')

export const clearBelow = '\x1b[0J'
export const hideCursor = '\x1b[?25l'
export const showCursor = '\x1b[?25h'
export const up = (lines) => (lines === 0 ? '\r' : `\r\x1b[${lines}A`)

/** The colours of a text take no room. */
// oxlint-disable-next-line no-control-regex -- escapes are control characters
const ESCAPES = /\x1b\[[\d;?]*[A-Za-z]/g

export function widthOf(text) {
  return [...text.replace(ESCAPES, '')].length
}

export function pad(text, width) {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

/** Cuts a line without colours to the width of the terminal, because a wrapped line cannot be redrawn. */
export function cut(text, width) {
  const characters = [...text]
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`
}

export function columns() {
  return Math.max(40, stdout.columns ?? 120)
}

export function bar(fraction, width) {
  const full = Math.round(fraction * width)
  return '█'.repeat(full) + '░'.repeat(width - full)
}

export function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`
}
