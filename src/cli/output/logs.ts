import type { Cli } from '../cli.ts'
import type { LogLine } from '../wire.ts'
import { escapeBlock, safeJson } from './escape.ts'

/** One line that a handler logged; further lines of its text are indented, so that they cannot pass for others. */
export function printLogLine(cli: Cli, { at, level, text, fields }: LogLine): void {
  const { dim, red, yellow } = cli.colors
  const word = level.toUpperCase().padEnd(5)
  const painted = level === 'error' ? red(word) : level === 'warn' ? yellow(word) : word
  const more = fields === null || Object.keys(fields).length === 0 ? '' : ` ${dim(safeJson(fields))}`
  const block = escapeBlock(text).split('\n').join('\n    ')
  cli.print(`${dim(at)} ${painted} ${block}${more}`)
}
