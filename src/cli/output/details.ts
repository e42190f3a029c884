import type { Cli } from '../cli.ts'
import { escapeBlock, escapeLine, safeJson } from './escape.ts'
import { padEnd, widthOf } from './width.ts'

/** A value beside its label. Null leaves the line out. */
export type Detail = readonly [label: string, value: string | number | boolean | null | Block]

/** A value on lines of its own, below its label. */
export interface Block {
  readonly lines: string
}

export function jsonBlock(value: unknown): Block {
  return { lines: safeJson(value, 2) }
}

/** A stack or another text of several lines. */
export function textBlock(text: string | null): Block | null {
  return text === null ? null : { lines: escapeBlock(text) }
}

/** One thing in full: a title, then a line for each field that has a value. */
export function printDetails(cli: Cli, title: string, details: readonly Detail[]): void {
  const { bold, dim } = cli.colors
  cli.print(bold(escapeLine(title)))
  const given = details.filter(([, value]) => value !== null)
  const width = Math.max(...given.map(([label]) => widthOf(label)))
  for (const [label, value] of given) {
    if (typeof value === 'object' && value !== null) {
      cli.print(`  ${dim(label)}`)
      for (const line of value.lines.split('\n')) cli.print(`    ${line}`)
    } else {
      cli.print(`  ${dim(padEnd(label, width))}  ${escapeLine(String(value))}`)
    }
  }
}
