import type { Amount, Progress } from './campaign.ts'

const WIDTH = 30
const EVERY_MS = 200
/** Where no terminal shows it, a line now and then is enough. */
const EVERY_MS_IN_FILES = 15_000

/** Shows on the standard error how far a campaign is, how fast it goes, and how long it will still take. */
export class ProgressBar implements Progress {
  readonly #amount: Amount
  readonly #total: number
  readonly #output: NodeJS.WriteStream
  readonly #startedAt = performance.now()
  #done = 0
  #shownAt = performance.now()

  constructor(amount: Amount, total: number, output: NodeJS.WriteStream = process.stderr) {
    this.#amount = amount
    this.#total = total
    this.#output = output
  }

  done(amount: number): void {
    this.#done = amount
    const now = performance.now()
    if (now - this.#shownAt < (this.#output.isTTY ? EVERY_MS : EVERY_MS_IN_FILES)) return
    this.#shownAt = now
    this.#show()
  }

  tell(line: string): void {
    this.#clear()
    this.#output.write(`${line}\n`)
  }

  end(): void {
    this.#clear()
  }

  #show(): void {
    const { name, of = name } = this.#amount
    const part = this.#total === 0 ? 1 : Math.min(1, this.#done / this.#total)
    const filled = Math.round(part * WIDTH)
    const seconds = (performance.now() - this.#startedAt) / 1_000
    const rate = this.#done / seconds
    const left = rate === 0 ? '' : `, ${inWords((this.#total - this.#done) / rate)} left`
    const count = (value: number) => value.toLocaleString('en', { maximumFractionDigits: 1 })
    const line = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${count(this.#done)} of ${count(this.#total)} ${of}${left}`
    this.#output.write(this.#output.isTTY ? `\r\x1b[K${line}` : `${line}\n`)
  }

  #clear(): void {
    if (this.#output.isTTY) this.#output.write('\r\x1b[K')
  }
}

export function inWords(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`
  return `${(seconds / 3_600).toFixed(1)} h`
}
