import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'

export const USAGE = `Usage: npm run bench -- [sqlite|postgres] [options]

  postgres         on a PostgreSQL server of its own, beside pg-boss (default: sqlite)

  --quick          small counts, under a minute; shows that everything works, judges nothing
  --only <names>   only these sections, separated by commas
  --json <file>    also writes the results as JSON
  --write-docs     also writes the table into docs/performance.md
  --dir <folder>   where the databases are made; it must be on a real disk (default: the system's temporary folder)
`

/**
 * How much each section does. Jobs are per portion, and the portions of all sides alternate: many short ones give a
 * steadier median than a few long ones, because other work rarely slows down half of them.
 */
const SQLITE_FULL = {
  drain: { concurrent: { portions: 20, jobs: 5_000 }, oneByOne: { portions: 40, jobs: 200 } },
  enqueue: {
    concurrent: { portions: 20, jobs: 5_000 },
    oneByOne: { portions: 60, jobs: 100 },
    lists: { portions: 20, jobs: 5_000 },
  },
  latency: { samples: 1_000, acrossSamples: 200 },
  loop: { portions: 5, jobs: 10_000 },
  growth: {
    finished: 1_000_000,
    queued: 1_000_000,
    concurrent: { portions: 12, jobs: 2_000 },
    oneByOne: { portions: 30, jobs: 60 },
    starts: 15,
  },
  memory: { jobs: 1_000_000, samples: 40 },
}

const SQLITE_QUICK = {
  drain: { concurrent: { portions: 2, jobs: 2_000 }, oneByOne: { portions: 2, jobs: 100 } },
  enqueue: {
    concurrent: { portions: 2, jobs: 1_000 },
    oneByOne: { portions: 2, jobs: 50 },
    lists: { portions: 2, jobs: 1_000 },
  },
  latency: { samples: 50, acrossSamples: 10 },
  loop: { portions: 2, jobs: 1_000 },
  growth: {
    finished: 20_000,
    queued: 20_000,
    concurrent: { portions: 2, jobs: 300 },
    oneByOne: { portions: 2, jobs: 30 },
    starts: 2,
  },
  memory: { jobs: 10_000, samples: 10 },
}

const POSTGRES_FULL = {
  drain: [
    { concurrency: 100, portions: 20, jobs: 5_000, atLeast: 0.5 },
    { concurrency: 500, portions: 20, jobs: 5_000, atLeast: 0.5 },
    { concurrency: 1, portions: 20, jobs: 200, atLeast: null },
  ],
  enqueue: {
    concurrent: { portions: 20, jobs: 5_000 },
    oneByOne: { portions: 30, jobs: 100 },
    lists: { portions: 20, jobs: 5_000 },
  },
  growth: {
    finished: 1_000_000,
    queued: 1_000_000,
    dead: 100_000,
    concurrent: { portions: 12, jobs: 5_000 },
    oneByOne: { portions: 30, jobs: 100 },
  },
  snapshot: { seconds: 120 },
}

const POSTGRES_QUICK = {
  drain: [
    { concurrency: 100, portions: 2, jobs: 1_000, atLeast: 0.5 },
    { concurrency: 500, portions: 2, jobs: 1_000, atLeast: 0.5 },
    { concurrency: 1, portions: 2, jobs: 50, atLeast: null },
  ],
  enqueue: {
    concurrent: { portions: 2, jobs: 1_000 },
    oneByOne: { portions: 2, jobs: 50 },
    lists: { portions: 2, jobs: 1_000 },
  },
  growth: {
    finished: 20_000,
    queued: 20_000,
    dead: 2_000,
    concurrent: { portions: 2, jobs: 1_000 },
    oneByOne: { portions: 2, jobs: 50 },
  },
  snapshot: { seconds: 3 },
}

const SCALES = {
  sqlite: { full: SQLITE_FULL, quick: SQLITE_QUICK },
  postgres: { full: POSTGRES_FULL, quick: POSTGRES_QUICK },
}

/** Reads the command line. Throws a sentence that says what is wrong with it. */
export function readOptions(argv, suites) {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      json: { type: 'string' },
      'write-docs': { type: 'boolean', default: false },
      dir: { type: 'string', default: tmpdir() },
      help: { type: 'boolean', default: false },
    },
  })
  const [suite = 'sqlite', ...others] = positionals
  if (!(suite in suites) || others.length > 0) {
    throw new Error(`Expected one of ${Object.keys(suites).join(', ')}, got ${positionals.join(' ')}.`)
  }
  const sectionNames = Object.keys(suites[suite].sections)
  const only = values.only?.split(',').map((name) => name.trim()) ?? sectionNames
  const unknown = only.filter((name) => !sectionNames.includes(name))
  if (unknown.length > 0)
    throw new Error(`Unknown section ${unknown.join(', ')}. Sections: ${sectionNames.join(', ')}.`)
  if (values['write-docs'] && (values.quick || values.only !== undefined)) {
    throw new Error('--write-docs needs a whole run: leave out --quick and --only.')
  }
  return {
    suite,
    quick: values.quick,
    only,
    jsonPath: values.json ?? null,
    writeDocs: values['write-docs'],
    folder: values.dir,
    help: values.help,
    scale: SCALES[suite][values.quick ? 'quick' : 'full'],
  }
}
