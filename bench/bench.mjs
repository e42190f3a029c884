// `npm run bench`: how fast Pawl is, as ratios to the least SQL that does the same durable work. docs/performance.md
// says what is measured and how to read it.
import { writeFileSync } from 'node:fs'
import { readOptions, USAGE } from './options.mjs'
import { PEERS } from './peers/suite.mjs'
import { drain as drainPostgres } from './postgres/drain.mjs'
import { enqueue as enqueuePostgres } from './postgres/enqueue.mjs'
import { growth as growthPostgres } from './postgres/growth.mjs'
import { latency as latencyPostgres } from './postgres/latency.mjs'
import { loop as loopPostgres } from './postgres/loop.mjs'
import { memory as memoryPostgres } from './postgres/memory.mjs'
import { withServer } from './postgres/server.mjs'
import { snapshot } from './postgres/snapshot.mjs'
import { circumstances, describe, postgresAbout, sqliteAbout, toTable, writeDocs } from './report.mjs'
import { drain } from './sections/drain.mjs'
import { enqueue } from './sections/enqueue.mjs'
import { growth } from './sections/growth.mjs'
import { latency } from './sections/latency.mjs'
import { loop } from './sections/loop.mjs'
import { memory } from './sections/memory.mjs'

/** What is measured, and where. */
const SUITES = {
  sqlite: {
    sections: { drain, enqueue, latency, loop, growth, memory },
    within: ({ folder }, work) => work({ folder }, sqliteAbout()),
  },
  postgres: {
    sections: {
      drain: drainPostgres,
      enqueue: enqueuePostgres,
      latency: latencyPostgres,
      loop: loopPostgres,
      growth: growthPostgres,
      memory: memoryPostgres,
      snapshot,
    },
    within: (_, work) => withServer((server) => work({ url: server.url }, postgresAbout(server))),
  },
  peers: PEERS,
}

const options = readOptionsOrExit()
const { sections, within, intoDocs = writeDocs } = SUITES[options.suite]
const { about, lines } = await within(options, measureAll)

async function measureAll(where, store) {
  const about = { ...circumstances(), ...store }
  console.log(describe(about))
  const lines = []
  for (const name of options.only) {
    const startedAt = performance.now()
    console.log(`\n${name} …`)
    const found = await sections[name]({ ...where, scale: options.scale, say: (text) => console.log(`  ${text}`) })
    console.log(`  done in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`)
    // The counts of a quick run are too small to judge by.
    lines.push(...(options.quick ? found.map((line) => ({ ...line, passes: null })) : found))
  }
  return { about, lines }
}

// Beside peers, growth compares each system with itself.
const ours = options.suite === 'peers' && options.only.includes('growth') ? 'measured' : 'Pawl'
console.log(`\n${toTable(lines, ours)}\n`)
if (options.jsonPath !== null)
  writeFileSync(options.jsonPath, `${JSON.stringify({ ...about, quick: options.quick, lines }, null, 2)}\n`)
if (options.writeDocs) intoDocs(options.suite, about, lines)

const failed = lines.filter(({ passes }) => passes === false)
const unjudged = lines.filter(({ needs, passes }) => needs !== null && passes === null)
if (options.quick) console.log('A quick run shows that everything works and judges nothing.')
else if (failed.length === 0 && unjudged.length > 0)
  console.log(`${unjudged.length} could not be measured, all others reach what they need.`)
else if (failed.length === 0) console.log('Everything reaches what it needs.')
else {
  console.log(`${failed.length} below what they need: ${failed.map(({ name }) => name).join('; ')}.`)
  process.exitCode = 1
}

function readOptionsOrExit() {
  try {
    const read = readOptions(process.argv.slice(2), SUITES)
    if (!read.help) return read
    console.log(USAGE)
    process.exit(0)
  } catch (error) {
    console.error(`${error.message}\n\n${USAGE}`)
    process.exit(2)
  }
}
