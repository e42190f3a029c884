import type { Cli } from './cli.ts'
import { lookUntil } from './follow.ts'
import { safeJson } from './output/escape.ts'
import { printLogLine } from './output/logs.ts'
import { OutputLines } from './output/output-lines.ts'
import type { LogLine, Output } from './wire.ts'

interface LogSource {
  read(query: { readonly after: number; readonly limit: number }): Promise<{ readonly items: readonly LogLine[] }>
  /** What a child process printed: a command has no other way to say something. */
  readOutput(query: { readonly after: number; readonly limit: number }): Promise<Output>
  readonly isFollowed: boolean
  /** Whether no more lines will come. */
  hasEnded(): Promise<boolean>
}

const PAGE = 200
const OUTPUT_BYTES = 1_048_576

/** How far somebody has read. */
interface Place {
  readonly line: number
  readonly byte: number
}

const START: Place = { line: 0, byte: 0 }

/** Who hears of what is read. */
interface Reader {
  line(line: LogLine): void
  output(text: string): void
}

/** Prints what was logged, then what a child process printed; followed, also what comes, until the body has ended. */
export async function printLogs(cli: Cli, source: LogSource): Promise<void> {
  if (cli.isJson && !source.isFollowed) return printWhole(cli, source)
  const lines = new OutputLines((line) => cli.print(`${cli.colors.dim('│')} ${line}`))
  const reader: Reader = cli.isJson
    ? {
        line: (line) => cli.print(safeJson(line)),
        output: (output) => cli.print(safeJson({ output })),
      }
    : { line: (line) => printLogLine(cli, line), output: (text) => lines.add(text) }
  let place = START
  if (!source.isFollowed) {
    place = await readOn(source, START, reader)
  } else {
    await lookUntil(cli, async () => {
      // Asked before the last look, so that what was logged right before the end is not missed.
      const hasEnded = await source.hasEnded()
      const before = place
      place = await readOn(source, place, reader)
      if (hasEnded || cli.io.outputClosed.aborted) return true
      return place.line > before.line || place.byte > before.byte ? 'changed' : null
    })
  }
  lines.end()
  if (place.line === 0 && place.byte === 0 && !cli.isJson) cli.print('Nothing was logged.')
}

/** One document. `output` is there only where a child process printed something. */
async function printWhole(cli: Cli, source: LogSource): Promise<void> {
  const items: LogLine[] = []
  const parts: string[] = []
  await readOn(source, START, { line: (line) => items.push(line), output: (text) => parts.push(text) })
  cli.printJson({ items, next_cursor: null, ...(parts.length > 0 && { output: parts.join('') }) })
}

async function readOn(source: LogSource, from: Place, reader: Reader): Promise<Place> {
  return { line: await readLines(source, from.line, reader), byte: await readOutput(source, from.byte, reader) }
}

/** Returns the number of the last line. */
async function readLines(source: LogSource, after: number, reader: Reader): Promise<number> {
  let last = after
  for (;;) {
    const { items } = await source.read({ after: last, limit: PAGE })
    for (const line of items) reader.line(line)
    last = items.at(-1)?.line ?? last
    if (items.length < PAGE) return last
  }
}

/** Returns the number of bytes that were read. */
async function readOutput(source: LogSource, after: number, reader: Reader): Promise<number> {
  let last = after
  for (;;) {
    const { text, next_after } = await source.readOutput({ after: last, limit: OUTPUT_BYTES })
    if (next_after === last) return last
    reader.output(text)
    last = next_after
  }
}
