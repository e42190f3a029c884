import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import type { Column } from './table.ts'

/** What every list answers. */
export interface Page<Item> {
  readonly items: readonly Item[]
  readonly next_cursor: string | null
}

export interface PageOptions {
  readonly limit?: string
  readonly cursor?: string
  readonly all?: boolean
}

interface PageQuery {
  readonly limit?: string
  readonly cursor?: string
}

/** With `--all`, so many at most: they are all in memory. */
const ALL_MAX = 100_000
const PAGE_MAX = '200'

/** Gives a list its options. */
export function withPageOptions(command: Command): Command {
  return command
    .option('--limit <n>', 'how many, 1 to 200 (default: 50)')
    .option('--cursor <cursor>', 'go on after the page before: its next_cursor')
    .option('--all', 'all pages')
}

/** The page that was asked for, or all of them as one. */
export async function readPages<Item>(
  cli: Cli,
  options: PageOptions,
  read: (query: PageQuery) => Promise<Page<Item>>,
): Promise<Page<Item>> {
  if (options.all !== true) {
    return read({
      ...(options.limit !== undefined && { limit: options.limit }),
      ...(options.cursor !== undefined && { cursor: options.cursor }),
    })
  }
  const items: Item[] = []
  let cursor = options.cursor ?? null
  do {
    const page: Page<Item> = await read({ limit: options.limit ?? PAGE_MAX, ...(cursor !== null && { cursor }) })
    items.push(...page.items)
    cursor = page.next_cursor
  } while (cursor !== null && items.length < ALL_MAX && !cli.io.outputClosed.aborted)
  return { items, next_cursor: cursor }
}

/** Prints a page as JSON, or as a table with a hint of how to go on. */
export function printPage<Item>(
  cli: Cli,
  page: Page<Item>,
  columns: readonly Column<Item>[],
  empty: { readonly line: string; readonly hint?: string },
): void {
  if (cli.isJson) return cli.printJson({ items: page.items, next_cursor: page.next_cursor })
  if (page.items.length === 0) {
    cli.print(page.next_cursor === null ? [empty.line, empty.hint].filter(Boolean).join(' ') : 'None on this page.')
  } else {
    cli.printTable(columns, page.items)
  }
  // A page may be short, even empty, though more follows.
  if (page.next_cursor !== null) {
    cli.note(cli.errorColors.dim(`There is more: add --cursor ${page.next_cursor}, or --all.`))
  }
}
