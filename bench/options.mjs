import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'

export const USAGE = `Usage: npm run bench -- [sqlite|postgres|--peers] [options]

  postgres         on a PostgreSQL server of its own, beside pg-boss (default: sqlite)
  --peers          instead, both stores beside BullMQ, plainjob, pg-boss and graphile-worker

  --quick          small counts, under a minute; shows that everything works, judges nothing
  --only <names>   only these sections, separated by commas; --peers has growth only when it is asked for
  --backlog <n>    with --peers --only growth: so many finished and so many queued jobs (default: 1000000)
  --json <file>    also writes the results as JSON
  --write-docs     also writes the table into docs/performance.md
  --dir <folder>   where the databases are made; it must be on a real disk (default: the system's temporary folder)
`

/**
 * How much each section does. Jobs are per portion, and the portions of all sides alternate: many short ones give a
 * steadier median than a few long ones, because other work rarely slows down half of them.
 */
const SQLITE_FULL = {
  drain: { concurrent: { portions: 20, jobs: 5_000 }, oneByOne: { portions: 20, jobs: 1_000 } },
  enqueue: {
    concurrent: { portions: 20, jobs: 5_000 },
    oneByOne: { portions: 60, jobs: 100 },
    lists: { portions: 20, jobs: 5_000 },
  },
  latency: { samples: 1_000, acrossSamples: 500 },
  loop: { portions: 5, jobs: 10_000, servedJobs: 100_000 },
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
  loop: { portions: 2, jobs: 1_000, servedJobs: 3_000 },
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
    { concurrency: 100, portions: 20, jobs: 5_000, atLeast: 0.6 },
    { concurrency: 500, portions: 20, jobs: 5_000, atLeast: 0.6 },
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
    starts: 15,
  },
  latency: { samples: 1_000, acrossSamples: 500 },
  loop: { servedJobs: 50_000 },
  memory: { jobs: 200_000, samples: 40 },
  snapshot: { seconds: 120 },
}

const POSTGRES_QUICK = {
  drain: [
    { concurrency: 100, portions: 2, jobs: 1_000, atLeast: 0.6 },
    { concurrency: 500, portions: 2, jobs: 1_000, atLeast: 0.6 },
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
    starts: 2,
  },
  latency: { samples: 50, acrossSamples: 10 },
  loop: { servedJobs: 2_000 },
  memory: { jobs: 10_000, samples: 10 },
  snapshot: { seconds: 3 },
}

/** Portions are as long for every system, not as many jobs: the fastest does more than a hundred times as many. */
const PEERS_FULL = {
  tuning: { choices: 100, portions: 3, portionMs: 400, probe: 1_000 },
  enqueue: {
    oneByOne: { portions: 10, portionMs: 500, probe: 100 },
    concurrent: { portions: 10, portionMs: 1_000, probe: 1_000 },
    bulk: { portions: 7, portionMs: 1_000, probe: 2_000 },
  },
  drain: { portions: 10, portionMs: 1_500, probe: 2_000 },
  latency: { rounds: 10, samples: 50 },
  memory: { jobs: 30_000 },
  start: { rounds: 10 },
  growth: { finished: 1_000_000, queued: 1_000_000, portions: 7, portionMs: 1_000, probe: 1_000 },
}

const PEERS_QUICK = {
  tuning: { choices: 2, portions: 1, portionMs: 0, probe: 100 },
  enqueue: {
    oneByOne: { portions: 2, portionMs: 0, probe: 20 },
    concurrent: { portions: 2, portionMs: 0, probe: 200 },
    bulk: { portions: 2, portionMs: 0, probe: 1_000 },
  },
  drain: { portions: 2, portionMs: 0, probe: 300 },
  latency: { rounds: 1, samples: 10 },
  memory: { jobs: 300 },
  start: { rounds: 1 },
  growth: { finished: 2_000, queued: 2_000, portions: 2, portionMs: 0, probe: 200 },
}

const SCALES = {
  peers: { full: PEERS_FULL, quick: PEERS_QUICK },
  sqlite: { full: SQLITE_FULL, quick: SQLITE_QUICK },
  postgres: { full: POSTGRES_FULL, quick: POSTGRES_QUICK },
}

const STORES = ['sqlite', 'postgres']

/** Reads the command line. Throws a sentence that says what is wrong with it. */
export function readOptions(argv, suites) {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      peers: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      backlog: { type: 'string' },
      only: { type: 'string' },
      json: { type: 'string' },
      'write-docs': { type: 'boolean', default: false },
      dir: { type: 'string', default: tmpdir() },
      help: { type: 'boolean', default: false },
    },
  })
  const suite = chooseSuite(positionals, values.peers)
  const { sections, onlyWhenAsked = [] } = suites[suite]
  const sectionNames = Object.keys(sections)
  const usual = sectionNames.filter((name) => !onlyWhenAsked.includes(name))
  const only = values.only?.split(',').map((name) => name.trim()) ?? usual
  const unknown = only.filter((name) => !sectionNames.includes(name))
  if (unknown.length > 0)
    throw new Error(`Unknown section ${unknown.join(', ')}. Sections: ${sectionNames.join(', ')}.`)
  // What runs only when it is asked for has a table of its own.
  const isWhole = values.only === undefined || only.every((name) => onlyWhenAsked.includes(name))
  if (values['write-docs'] && (values.quick || !isWhole)) {
    throw new Error('--write-docs needs a whole run: leave out --quick and --only.')
  }
  const scale = SCALES[suite][values.quick ? 'quick' : 'full']
  return {
    suite,
    quick: values.quick,
    only,
    jsonPath: values.json ?? null,
    writeDocs: values['write-docs'],
    folder: values.dir,
    help: values.help,
    scale: values.backlog === undefined ? scale : withBacklog(scale, suite, only, values.backlog),
  }
}

function chooseSuite(positionals, peers) {
  const [suite = 'sqlite', ...others] = positionals
  if (peers && positionals.length > 0)
    throw new Error(`--peers measures both stores: leave out ${positionals.join(' ')}.`)
  if (peers) return 'peers'
  if (!STORES.includes(suite) || others.length > 0) {
    throw new Error(`Expected one of ${STORES.join(', ')}, got ${positionals.join(' ')}.`)
  }
  return suite
}

function withBacklog(scale, suite, only, text) {
  if (suite !== 'peers' || !only.includes('growth')) throw new Error('--backlog needs --peers --only growth.')
  const jobs = Number(text)
  if (!Number.isInteger(jobs) || jobs < 1)
    throw new Error(`Expected --backlog to be a whole number from 1, got ${text}.`)
  return { ...scale, growth: { ...scale.growth, finished: jobs, queued: jobs } }
}
