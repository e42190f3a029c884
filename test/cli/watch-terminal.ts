import { PassThrough } from 'node:stream'
import { vi } from 'vitest'
import { Interrupted, type Io, type Output } from '../../src/cli/io.ts'
import { runCli } from '../../src/cli/run-cli.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { PATIENCE } from './serve-process.ts'

/** A terminal that understands just what the live view may use, and fails on everything else. */
export class FakeTerminal implements Output {
  readonly isTTY = true
  columns: number
  rows: number
  isCursorHidden = false
  #lines: string[] = ['']
  #row = 0

  constructor(columns: number, rows: number) {
    this.columns = columns
    this.rows = rows
  }

  /** As terminals do it: lines that have become too long are broken, and the cursor stays with its text. */
  resize(columns: number, rows: number): void {
    const broken = this.#lines.map((line) => line.match(new RegExp(`.{1,${columns}}`, 'gu')) ?? [''])
    this.#row = broken.slice(0, this.#row).flat().length
    this.#lines = broken.flat()
    this.columns = columns
    this.rows = rows
  }

  /** What a person sees. */
  get screen(): string[] {
    return this.#lines.slice(0, this.#row)
  }

  write(text: string): void {
    const [first = '', ...sequences] = text.split(ESCAPE)
    this.#print(first)
    for (const sequence of sequences) {
      const [whole, command = ''] = /^\[([?\d]*[A-Za-z])/.exec(sequence) ?? []
      if (whole === undefined) throw steered(ESCAPE + sequence)
      this.#obey(command)
      this.#print(sequence.slice(whole.length))
    }
  }

  #obey(command: string): void {
    const [, lines] = /^(\d+)A$/.exec(command) ?? []
    if (lines !== undefined) this.#row -= Number(lines)
    else if (command === 'J') this.#lines.length = this.#row
    else if (command === '2J') this.#lines = ['']
    else if (command === 'H') this.#row = 0
    else if (command === '?25l') this.isCursorHidden = true
    else if (command === '?25h') this.isCursorHidden = false
    // To the end of the line is nothing: text replaces a line as a whole here. And colours are not seen.
    else if (command !== 'K' && !/^\d+m$/.test(command)) throw steered(`${ESCAPE}[${command}`)
    if (this.#row < 0) throw new Error('The live view moved above its first line.')
  }

  #print(text: string): void {
    for (const [piece] of text.matchAll(/\n|[^\n]+/g)) {
      if (piece === '\n') this.#newLine()
      else if (/\p{Cc}/u.test(piece)) throw steered(piece)
      else this.#put(piece)
    }
  }

  #atLineStart = true

  #put(text: string): void {
    this.#lines[this.#row] = (this.#atLineStart ? '' : (this.#lines[this.#row] ?? '')) + text
    this.#atLineStart = false
    const { length } = this.#lines[this.#row] ?? ''
    if (length >= this.columns) throw new Error(`A line of ${length} columns wraps in a terminal of ${this.columns}.`)
  }

  #newLine(): void {
    if (this.#atLineStart) this.#lines[this.#row] = ''
    this.#row++
    this.#atLineStart = true
    if (this.#row >= this.rows) throw new Error(`${this.#row} lines scroll in a terminal of ${this.rows}.`)
  }

  /** Waits until the screen shows lines like these, in this order. */
  async shows(...patterns: readonly RegExp[]): Promise<void> {
    await vi.waitFor(() => {
      let from = 0
      for (const pattern of patterns) {
        const found = this.screen.findIndex((line, index) => index >= from && pattern.test(line))
        if (found === -1) throw new Error(`No line like ${pattern} on the screen:\n${this.screen.join('\n')}`)
        from = found + 1
      }
    }, PATIENCE)
  }
}

const ESCAPE = '\x1b'

function steered(text: string): Error {
  return new Error(`The live view wrote ${JSON.stringify(text)}, which steers the terminal.`)
}

/** A pipe: what is written is remembered. */
export class FakePipe implements Output {
  readonly isTTY = false
  readonly columns = undefined
  text = ''

  write(text: string): void {
    this.text += text
  }

  get lines(): string[] {
    return this.text.split('\n').slice(0, -1)
  }
}

/** A command in this process, with somebody at the terminal. */
export class Session {
  readonly stderr = new FakePipe()
  readonly #interrupt = new AbortController()
  readonly exited: Promise<number>

  constructor(args: readonly string[], stdout: Output, cwd: string) {
    const io: Io = {
      stdin: new PassThrough(),
      stdout,
      stderr: this.stderr,
      env: { TERM: 'xterm' },
      cwd,
      user: 'ada',
      clock: systemClock,
      interrupted: this.#interrupt.signal,
      outputClosed: new AbortController().signal,
    }
    this.exited = runCli(args, io)
  }

  pressCtrlC(): void {
    this.#interrupt.abort(new Interrupted(130))
  }
}
