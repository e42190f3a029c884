import { mkdirSync, writeFileSync } from 'node:fs'
import { describe, toMarkdown, writeAt } from '../report.mjs'
import { drawChart } from './chart.mjs'

const CHART = new URL('../../docs/images/performance.svg', import.meta.url)

const IMAGE = '![How many times as fast as its peers Pawl is, for each kind of work](images/performance.svg)'

/** Writes the tables and the chart. Growth has a table of its own, because it is measured in a run of its own. */
export function writePeersDocs(about, lines) {
  const taken = `${describe(about)}. Taken on ${about.date}.`
  const growth = lines.filter(({ work }) => work.startsWith('growth'))
  if (growth.length > 0) writeAt('peers, growth', `${taken}\n\n${toMarkdown(growth, 'full store')}`)
  const others = lines.filter(({ work }) => !work.startsWith('growth'))
  if (others.length === 0) return
  writeAt('peers', [taken, IMAGE, systemsTable(about.systems), toMarkdown(others)].join('\n\n'))
  mkdirSync(new URL('.', CHART), { recursive: true })
  writeFileSync(CHART, drawChart(others, about))
}

function systemsTable(systems) {
  const rows = systems.map(
    ({ title, version, durability, keeps, settings }) =>
      `| ${title} | ${version} | ${durability} | ${keeps} | ${settings} |`,
  )
  return [
    '| system | version | an acknowledged job | keeps of a finished job | best settings |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}
