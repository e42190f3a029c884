import type { Output } from '../io.ts'

const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'
const CLEAR_LINE_END = '\x1b[K'
const CLEAR_BELOW = '\x1b[J'
const CLEAR_SCREEN = '\x1b[2J\x1b[H'
const up = (lines: number): string => (lines === 0 ? '' : `\x1b[${lines}A`)

const COLUMNS_DEFAULT = 80
const ROWS_DEFAULT = 24

/** Draws frames over each other in a terminal. What stood above the first one stays, and the last one too. */
export class LiveScreen {
  readonly #output: Output
  #drawn: readonly string[] | null = null
  #size = ''

  constructor(output: Output) {
    this.#output = output
  }

  /** Lines of this width never wrap: some terminals wrap already at the last column. A width of 0 is an unknown one. */
  get columns(): number {
    return Math.max(1, (this.#output.columns || COLUMNS_DEFAULT) - 1)
  }

  /** The last row is where the cursor stands. */
  get rows(): number {
    return Math.max(2, (this.#output.rows || ROWS_DEFAULT) - 1)
  }

  draw(lines: readonly string[]): void {
    const size = `${this.columns}x${this.rows}`
    const isSame = size === this.#size && lines.join('\n') === this.#drawn?.join('\n')
    if (isSame) return
    this.#output.write(this.#toStart(size) + lines.map((line) => `${line}${CLEAR_LINE_END}\n`).join('') + CLEAR_BELOW)
    this.#drawn = lines
    this.#size = size
  }

  /** Leaves the last frame as it is, and the terminal as it was. */
  end(): void {
    if (this.#drawn !== null) this.#output.write(SHOW_CURSOR)
    this.#drawn = null
  }

  #toStart(size: string): string {
    if (this.#drawn === null) return HIDE_CURSOR
    // In a terminal that has become narrower the old lines have wrapped, and nobody knows where they begin.
    return size === this.#size ? up(this.#drawn.length) : CLEAR_SCREEN
  }
}
