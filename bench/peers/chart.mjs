import { FAMILIES, titleOf } from './systems.mjs'

const GROUPS = [
  { work: 'drain', title: 'Draining a full queue of no-op jobs' },
  { work: 'concurrent', title: 'Enqueueing, 100 concurrent callers' },
  { work: 'oneByOne', title: 'Enqueueing, one by one' },
  { work: 'bulk', title: 'Enqueueing lists of 500' },
]

const WIDTH = 860
const LABELS = 350
const RIGHT = 70
const ROW = 20
const TOP = 72
const GROUP_GAP = 34

// Colours that can be told apart also by those who see no red or no green, on white and on black.
const STYLE = `
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 16px } .group { font-weight: 600 } .axis { font-size: 11px; fill: #59636e }
.back { fill: #ffffff } .grid { stroke: #d1d9e0 } .one { stroke: #59636e; stroke-width: 2 }
.faster { fill: #0969da } .slower { fill: #bc4c00 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .axis { fill: #9198a1 } .back { fill: #0d1117 } .grid { stroke: #3d444d } .one { stroke: #9198a1 }
  .faster { fill: #4493f8 } .slower { fill: #db6d28 }
}`

/** How many times as fast as each peer, on a logarithmic scale: to the right of 1 Pawl is faster, to the left slower. */
export function drawChart(lines, about) {
  const systems = Object.fromEntries(
    Object.values(FAMILIES)
      .flat()
      .map((system) => [system.id, system]),
  )
  const groups = GROUPS.map(({ work, title }) => ({
    title,
    bars: lines.filter((line) => line.work === work && line.ratio !== null),
  })).filter(({ bars }) => bars.length > 0)
  const ratios = groups.flatMap(({ bars }) => bars.map(({ ratio }) => ratio))
  const x = logarithmic(Math.min(0.5, ...ratios), Math.max(2, ...ratios))
  const parts = []
  let y = TOP
  for (const { title, bars } of groups) {
    parts.push(text({ x: 16, y: y + 14, kind: 'group' }, title))
    y += ROW + 4
    for (const { peer, family, ratio } of bars) {
      parts.push(...drawBar({ y, x, ratio, label: `${FAMILIES[family][0].form} beside ${titleOf(systems[peer])}` }))
      y += ROW
    }
    y += GROUP_GAP - ROW
  }
  const height = y + 16
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title desc">`,
    '<title id="title">How many times as fast as its peers Pawl is</title>',
    `<desc id="desc">${escape(groups.map(describeGroup(systems)).join(' '))}</desc>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="back" width="${WIDTH}" height="${height}" rx="6"/>`,
    text({ x: 16, y: 26, kind: 'title' }, 'How many times as fast as its peers Pawl is'),
    text(
      { x: 16, y: 45, kind: 'axis' },
      `Pawl ${about.pawl}, Node ${about.node}, ${about.cores} cores, logarithmic scale`,
    ),
    ...drawGrid(x, height),
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

function logarithmic(least, most) {
  const [from, to] = [Math.log10(least), Math.log10(most)]
  const place = (ratio) => LABELS + ((Math.log10(ratio) - from) / (to - from)) * (WIDTH - LABELS - RIGHT)
  place.ticks = [0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1_000].filter((tick) => tick >= least && tick <= most)
  return place
}

function drawGrid(x, height) {
  return x.ticks.flatMap((tick) => [
    `<line class="${tick === 1 ? 'one' : 'grid'}" x1="${round(x(tick))}" x2="${round(x(tick))}" y1="${TOP - 4}" y2="${height - 12}"/>`,
    text({ x: x(tick), y: TOP - 10, kind: 'axis', anchor: 'middle' }, `${tick}×`),
  ])
}

function drawBar({ y, x, ratio, label }) {
  const [from, to] = [Math.min(x(1), x(ratio)), Math.max(x(1), x(ratio))]
  return [
    text({ x: LABELS - 12, y: y + 13, anchor: 'end' }, label),
    `<rect class="${ratio >= 1 ? 'faster' : 'slower'}" x="${round(from)}" y="${y + 2}" width="${round(Math.max(1, to - from))}" height="${ROW - 6}"/>`,
    text({ x: to + 6, y: y + 13 }, `${inWords(ratio)}×`),
  ]
}

function describeGroup(systems) {
  return ({ title, bars }) =>
    `${title}: ${bars.map(({ peer, ratio }) => `${inWords(ratio)} times ${titleOf(systems[peer])}`).join('; ')}.`
}

function inWords(ratio) {
  return ratio >= 10 ? ratio.toFixed(0) : ratio.toFixed(ratio >= 1 ? 1 : 2)
}

function text({ x, y, kind, anchor }, content) {
  const attributes = [kind && ` class="${kind}"`, anchor && ` text-anchor="${anchor}"`].filter(Boolean).join('')
  return `<text x="${round(x)}" y="${y}"${attributes}>${escape(content)}</text>`
}

function escape(content) {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function round(value) {
  return Math.round(value * 10) / 10
}
