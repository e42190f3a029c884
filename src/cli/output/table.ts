import type { Colors } from './colors.ts'
import { escapeLine } from './escape.ts'
import { padEnd, padStart, shorten, widthOf } from './width.ts'

/** One column of a table over rows of this kind. */
export interface Column<Row> {
  readonly title: string
  /** The text of the cell, as it came: it is escaped here. Null is shown as a dash. */
  readonly text: (row: Row) => string | number | null
  readonly align?: 'left' | 'right'
  /** Paints the text once it has its width. */
  readonly paint?: (text: string, row: Row) => string
  /**
   * How it gives way when the terminal is narrow. Without it, it keeps its width: ids must stay whole. `1`: it shrinks down
   * to `minWidth`, but stays. `2` and more: it shrinks before those with lower numbers, and then is left out before them.
   */
  readonly yields?: number
  /** @default 8 */
  readonly minWidth?: number
}

const GAP = '  '
const MIN_WIDTH = 8

export interface TableSpace {
  /** How wide the terminal is; undefined: there is none, and the table is as wide as it needs to be. */
  readonly columns: number | undefined
  readonly colors: Colors
}

/** The lines of a table; or, on a terminal too narrow for one, of a list with one field a line. */
export function renderTable<Row>(layout: readonly Column<Row>[], rows: readonly Row[], space: TableSpace): string[] {
  const sized = layout.map((column) => {
    const cells = rows.map((row) => cellOf(column.text(row)))
    // Not with Math.max(...): a list of all rows can be longer than a call may have arguments.
    const width = cells.reduce((widest, cell) => Math.max(widest, widthOf(cell)), widthOf(column.title))
    return { column, cells, width }
  })
  if (space.columns === undefined) return asTable(sized, rows, space)
  const fitting = fit(sized, space.columns)
  if (excess(fitting, space.columns) <= 0) return asTable(fitting, rows, space)
  return asList(sized, rows, { ...space, columns: space.columns })
}

interface Sized<Row> {
  readonly column: Column<Row>
  readonly cells: readonly string[]
  readonly width: number
}

function asTable<Row>(shown: readonly Sized<Row>[], rows: readonly Row[], { colors }: TableSpace): string[] {
  const header = shown.map(({ column, width }) => align(column, shorten(column.title, width), width))
  const lines = rows.map((row, index) =>
    shown.map((each, place) => {
      const text = shorten(each.cells[index] ?? '', each.width)
      // The last column needs no spaces behind it, which a narrow terminal might wrap.
      const isLast = place === shown.length - 1 && each.column.align !== 'right'
      return paint(each.column, isLast ? text : align(each.column, text, each.width), row)
    }),
  )
  return [colors.dim(header.join(GAP).trimEnd()), ...lines.map((cells) => cells.join(GAP))]
}

function asList<Row>(
  sized: readonly Sized<Row>[],
  rows: readonly Row[],
  { columns, colors }: TableSpace & { readonly columns: number },
): string[] {
  const label = Math.max(...sized.slice(1).map(({ column }) => widthOf(column.title)), 0)
  return rows.flatMap((row, index) =>
    sized.map(({ column, cells }, place) => {
      const indent = place === 0 ? '' : `${GAP}${colors.dim(padEnd(column.title, label))}${GAP}`
      const room = place === 0 ? columns : columns - label - 2 * GAP.length
      return indent + paint(column, shorten(cells[index] ?? '', room), row)
    }),
  )
}

function paint<Row>(column: Column<Row>, text: string, row: Row): string {
  return column.paint === undefined ? text : column.paint(text, row)
}

function cellOf(value: string | number | null): string {
  return value === null || value === '' ? '–' : escapeLine(String(value))
}

function align<Row>(column: Column<Row>, text: string, width: number): string {
  return column.align === 'right' ? padStart(text, width) : padEnd(text, width)
}

/** Takes from those that yield first; where that is not enough, leaves the first of them out and begins anew. */
function fit<Row>(sized: readonly Sized<Row>[], columns: number): readonly Sized<Row>[] {
  const yielding = sized
    .filter(({ column }) => column.yields !== undefined)
    .toSorted((a, b) => (b.column.yields ?? 0) - (a.column.yields ?? 0))
  let shown = sized
  for (const { column } of yielding) {
    const over = excess(shown, columns)
    shown = shown.map((each) => (each.column === column ? shrink(each, over) : each))
  }
  const [first] = yielding
  if (excess(shown, columns) <= 0 || first?.column.yields === undefined || first.column.yields === 1) return shown
  return fit(
    sized.filter((each) => each !== first),
    columns,
  )
}

function excess<Row>(shown: readonly Sized<Row>[], columns: number): number {
  const width = shown.reduce((sum, each) => sum + each.width, 0) + GAP.length * (shown.length - 1)
  return width - columns
}

function shrink<Row>(each: Sized<Row>, by: number): Sized<Row> {
  const least = Math.min(each.width, each.column.minWidth ?? MIN_WIDTH)
  return by <= 0 ? each : { ...each, width: Math.max(least, each.width - by) }
}
