// What happens, as it happens: one line per event, and on a TTY below them the bodies that execute right now.
import {
  bar,
  canRedraw,
  clearBelow,
  columns,
  cut,
  cyan,
  dim,
  hideCursor,
  pad,
  seconds,
  showCursor,
  up,
} from './terminal.mjs'

const FRAME_MS = 100
const BAR_WIDTH = 20
const LABEL_WIDTH = 24

export class LiveView {
  #startedAt = performance.now()
  #running = new Map()
  #waiting = ''
  #linesDrawn = 0
  #timer = null
  #isOver = false

  /** Without a TTY this prints plain lines only. */
  start() {
    if (!canRedraw) return
    process.stdout.write(hideCursor)
    this.#timer = setInterval(() => this.#draw(), FRAME_MS)
  }

  /** Back to a plain terminal; only `text` prints from now on. */
  stop() {
    this.#isOver = true
    if (this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
    process.stdout.write(up(this.#linesDrawn) + clearBelow + showCursor)
    this.#linesDrawn = 0
  }

  /** Prints a line that stays. */
  line(symbol, text) {
    if (this.#isOver) return
    const at = dim(seconds(performance.now() - this.#startedAt).padStart(7))
    this.#print(`${at}  ${symbol} ${text}\n`)
  }

  /** Prints lines that belong to no instant. */
  text(text) {
    this.#print(`${text}\n`)
  }

  began(runId, label, where) {
    this.#running.set(runId, { label, where, since: performance.now(), fraction: null, message: '' })
  }

  moved(runId, fraction, message) {
    const body = this.#running.get(runId)
    if (body === undefined) return
    body.fraction = fraction
    body.message = message ?? ''
    if (!canRedraw) this.line('·', `${body.label}: ${Math.round(fraction * 100)} %${message ? `, ${message}` : ''}`)
  }

  ended(runId) {
    this.#running.delete(runId)
  }

  /** What the queue looks like, in words. */
  waiting(text) {
    this.#waiting = text
  }

  #print(text) {
    if (this.#timer === null) process.stdout.write(text)
    else {
      process.stdout.write(up(this.#linesDrawn) + clearBelow + text)
      this.#linesDrawn = 0
      this.#draw()
    }
  }

  #draw() {
    const width = columns() - 1
    const lines = ['', ...[...this.#running.values()].map((body) => bodyLine(body, width))]
    if (this.#waiting !== '') lines.push(dim(cut(`          waiting: ${this.#waiting}`, width)))
    process.stdout.write(`${up(this.#linesDrawn) + clearBelow + lines.join('\n')}\n`)
    this.#linesDrawn = lines.length
  }
}

function bodyLine({ label, where, since, fraction, message }, width) {
  const head = `          ${pad(cut(label, LABEL_WIDTH), LABEL_WIDTH)} `
  // Not every handler reports its progress.
  const track = fraction === null ? '·'.repeat(BAR_WIDTH) : bar(fraction, BAR_WIDTH)
  const percent = (fraction === null ? '' : `${Math.round(fraction * 100)} %`).padStart(6)
  const words = [where, message].filter((word) => word !== '').join(', ')
  const rest = `${percent} ${seconds(performance.now() - since).padStart(7)}  ${words}`
  const room = width - head.length - BAR_WIDTH
  return room < 20 ? cut(head + percent, width) : `${head}${cyan(track)}${cut(rest, room)}`
}
