import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { DRIVER, sqliteVersion } from './driver.mjs'

const headings = (ours) => ['what', ours, 'compared with', 'ratio', 'spread', 'needs', '']
const ALIGNED_RIGHT = new Set([3, 4, 5])

/** What the figures depend on. Nothing in it says on which machine they were taken. */
export function circumstances() {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return {
    date: new Date().toISOString().slice(0, 10),
    pawl: version,
    node: process.versions.node,
    cores: availableParallelism(),
  }
}

export function sqliteAbout() {
  return { store: `${DRIVER} with SQLite ${sqliteVersion()}`, durability: 'WAL, synchronous=FULL' }
}

export function postgresAbout({ version }) {
  return { store: `PostgreSQL ${version} on the same machine`, durability: 'fsync=on, synchronous_commit=on' }
}

export function describe({ pawl, node, store, durability, cores }) {
  return `Pawl ${pawl}, Node ${node}, ${store}, ${durability}, ${cores} cores`
}

export function toTable(lines, ours = 'Pawl') {
  const rows = [headings(ours), ...lines.map(cells)]
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  const format = (row) =>
    row.map((cell, column) => (ALIGNED_RIGHT.has(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column])))
  return [format(rows[0]), widths.map((width) => '-'.repeat(width)), ...rows.slice(1).map(format)]
    .map((row) => row.join('  ').trimEnd())
    .join('\n')
}

export function toMarkdown(lines, ours = 'Pawl') {
  const rows = lines.map((line) => `| ${cells(line).join(' | ')} |`)
  return [`| ${headings(ours).join(' | ')} |`, '|---|---|---|---:|---:|---:|---|', ...rows].join('\n')
}

function cells({ name, ours, reference, ratio, spread, needs, passes }) {
  return [
    name,
    ours,
    reference,
    ratio === null ? '–' : ratio.toFixed(3),
    spread === null ? '' : `${spread[0].toFixed(2)}–${spread[1].toFixed(2)}`,
    needs === null ? '' : `${needs.kind === 'at-least' ? '≥' : '≤'} ${needs.value}`,
    passes === null ? '' : passes ? 'pass' : 'FAIL',
  ]
}

const DOCS = new URL('../docs/performance.md', import.meta.url)

/** Writes the table of this store and this Node into docs/performance.md. */
export function writeDocs(suite, about, lines) {
  const place = `${suite === 'sqlite' ? '' : `${suite}, `}node ${about.node.split('.')[0]}`
  writeAt(place, `${describe(about)}. Taken on ${about.date}.\n\n${toMarkdown(lines)}`)
}

/** Replaces what stands in docs/performance.md between the two marks of a place. */
export function writeAt(place, content) {
  const [begin, end] = [`<!-- bench: ${place} -->`, `<!-- bench: end of ${place} -->`]
  const text = readFileSync(DOCS, 'utf8')
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/performance.md has no place for it: add "${begin}" and "${end}".`)
  writeFileSync(DOCS, `${text.slice(0, from)}${begin}\n\n${content}\n\n${text.slice(to)}`)
}
