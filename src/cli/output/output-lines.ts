import { escapeBlock } from './escape.ts'

/** What a child process prints comes in parts that end anywhere. Here it becomes lines that cannot steer the terminal. */
export class OutputLines {
  readonly #print: (line: string) => void
  #rest = ''

  constructor(print: (line: string) => void) {
    this.#print = print
  }

  add(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#print(escapeBlock(line.endsWith('\r') ? line.slice(0, -1) : line))
  }

  /** The last line may have no end. */
  end(): void {
    if (this.#rest !== '') this.#print(escapeBlock(this.#rest))
    this.#rest = ''
  }
}
