import type { Cli } from './cli.ts'
import { lookUntil } from './follow.ts'
import { safeJson } from './output/escape.ts'
import { printLogLine } from './output/logs.ts'
import type { LogLine } from './wire.ts'

interface LogSource {
  read(query: { readonly after: number; readonly limit: number }): Promise<{ readonly items: readonly LogLine[] }>
  readonly isFollowed: boolean
  /** Whether no more lines will come. */
  hasEnded(): Promise<boolean>
}

const PAGE = 1_000

/** Prints what was logged; followed, also what comes, until the body has ended. */
export async function printLogs(cli: Cli, source: LogSource): Promise<void> {
  if (cli.isJson && !source.isFollowed) {
    const items: LogLine[] = []
    await readOn(source, 0, (line) => items.push(line))
    return cli.printJson({ items, next_cursor: null })
  }
  const print = (line: LogLine) => (cli.isJson ? cli.print(safeJson(line)) : printLogLine(cli, line))
  let last = 0
  if (!source.isFollowed) {
    last = await readOn(source, 0, print)
  } else {
    await lookUntil(cli, async () => {
      // Asked before the last look, so that what was logged right before the end is not missed.
      const hasEnded = await source.hasEnded()
      const before = last
      last = await readOn(source, last, print)
      if (hasEnded || cli.io.outputClosed.aborted) return true
      return last > before ? 'changed' : null
    })
  }
  if (last === 0 && !cli.isJson) cli.print('Nothing was logged.')
}

/** Returns the number of the last line. */
async function readOn(source: LogSource, after: number, use: (line: LogLine) => void): Promise<number> {
  let last = after
  for (;;) {
    const { items } = await source.read({ after: last, limit: PAGE })
    for (const line of items) use(line)
    last = items.at(-1)?.line ?? last
    if (items.length < PAGE) return last
  }
}
