import { readFileSync, writeFileSync } from 'node:fs'
import type { Bug } from './bug.ts'

/** What came of one hunt. */
export interface Catch {
  readonly bug: Bug
  /** After how many trials it was found. Null: it was not. */
  readonly trials: number | null
  /** What was counted: seeds, kills. */
  readonly unit: string
  /** How it showed itself, or why it was not found. */
  readonly told: string
}

const FILE = 'docs/reliability.md'
const BEGIN = '<!-- bugs: written by npm run torture -- bugs --write-docs -->'
const END = '<!-- /bugs -->'

/** Puts the table of the planted bugs into docs/reliability.md. */
export function writeTable(catches: readonly Catch[]): void {
  const text = readFileSync(FILE, 'utf8')
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)]
  if (begin === -1 || end === -1) throw new Error(`Expected ${BEGIN} and ${END} in ${FILE}, found them not.`)
  const rows = catches.map(({ bug: { name, mistake, caughtBy }, trials, unit }) => {
    const campaign = `\`${caughtBy.campaign}${caughtBy.store === undefined ? '' : ` --store ${caughtBy.store}`}\``
    return `| \`${name}\` | ${mistake} | ${campaign} | ${trials === null ? '**not found**' : `${trials} ${unit}`} |`
  })
  const table = ['| Bug | The mistake | Found by | After |', '|---|---|---|---|', ...rows].join('\n')
  writeFileSync(FILE, `${text.slice(0, begin + BEGIN.length)}\n${table}\n${text.slice(end)}`)
}
