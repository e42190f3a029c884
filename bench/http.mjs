// `node bench/http.mjs` (after `npm run build`): what the HTTP API costs, as ratios. Enqueuing with 64 connections against a
// bare fastify route that checks the same body by the same schema, while another process executes; and reads of a store with
// a million Jobs against those of one with a thousand. docs/performance.md says how to read the figures.
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import { circumstances, describe, toTable } from './report.mjs'
import { enqueueOverHttp } from './sections/http-enqueue.mjs'
import { readOverHttp } from './sections/http-reads.mjs'

const SECTIONS = { enqueue: enqueueOverHttp, reads: readOverHttp }

const SCALES = {
  full: {
    enqueue: { portions: 8, seconds: 4, connections: 64 },
    reads: { small: 1_000, large: 1_000_000, samples: 3_000, connections: 4 },
  },
  quick: {
    enqueue: { portions: 2, seconds: 1, connections: 64 },
    reads: { small: 1_000, large: 20_000, samples: 200, connections: 4 },
  },
}

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    json: { type: 'string' },
    dir: { type: 'string', default: tmpdir() },
  },
})
const only = values.only?.split(',') ?? Object.keys(SECTIONS)
const unknown = only.filter((name) => !(name in SECTIONS))
if (unknown.length > 0) {
  console.error(`Unknown section ${unknown.join(', ')}. Sections: ${Object.keys(SECTIONS).join(', ')}.`)
  process.exit(2)
}

const about = circumstances()
console.log(describe(about))
const lines = []
for (const name of only) {
  console.log(`\n${name} …`)
  const scale = (values.quick ? SCALES.quick : SCALES.full)[name]
  const found = await SECTIONS[name]({ folder: values.dir, scale, say: (text) => console.log(`  ${text}`) })
  lines.push(...(values.quick ? found.map((line) => ({ ...line, passes: null })) : found))
}
console.log(`\n${toTable(lines)}\n`)
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ ...about, lines }, null, 2)}\n`)
const failed = lines.filter(({ passes }) => passes === false)
if (failed.length > 0) {
  console.log(`${failed.length} below what they need: ${failed.map(({ name }) => name).join('; ')}.`)
  process.exitCode = 1
}
