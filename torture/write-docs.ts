import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { inWords } from './progress-bar.ts'
import type { Summary } from './run-campaign.ts'

const FILE = 'docs/reliability.md'
const BEGIN = '<!-- runs: written by npm run torture -- … --write-docs -->'
const END = '<!-- /runs -->'

const HEAD = [
  '| Campaign | Done | Also counted | Violations | Seed | Commit | Machine |',
  '|---|---|---|---|---|---|---|',
]

/** Puts the run into the table of the long runs, in place of the last one of the same kind. */
export function writeDocs(summary: Summary): void {
  const text = readFileSync(FILE, 'utf8')
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)]
  if (begin === -1 || end === -1) throw new Error(`Expected ${BEGIN} and ${END} in ${FILE}, found them not.`)
  const rows = text
    .slice(begin + BEGIN.length, end)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
  const row = toRow(summary)
  const key = row.slice(0, row.indexOf('|', 1))
  const others = rows.filter((other) => !other.startsWith(key))
  const table = [...HEAD, ...[...others, row].sort()].join('\n')
  writeFileSync(FILE, `${text.slice(0, begin + BEGIN.length)}\n${table}\n${text.slice(end)}`)
}

function toRow({ campaign, store, amount, outcome, seed, seconds }: Summary): string {
  const name = `\`${campaign}${store === null ? '' : ` --store ${store}`}\``
  const counts = Object.entries(outcome.counts).map(([what, count]) => `${count.toLocaleString('en')} ${what}`)
  const cells = [
    name,
    `${outcome.done.toLocaleString('en')} ${amount} in ${inWords(seconds)}`,
    counts.join(', '),
    `${outcome.violations.length}`,
    `${seed}`,
    commit(),
    `${cpus().length} cores, Node ${process.versions.node}`,
  ]
  return `| ${cells.join(' | ')} |`
}

/** What was run; with a mark if it was changed since. */
function commit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim()
  const isChanged = git('status', '--porcelain', 'src', 'torture') !== ''
  return `${git('rev-parse', '--short=10', 'HEAD')}${isChanged ? ' and changes' : ''}`
}
