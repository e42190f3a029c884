import { existsSync, readdirSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** These need a PostgreSQL server. */
const POSTGRES_ONLY = [
  'test/postgres/**/*.test.ts',
  'test/stores/postgres-*.test.ts',
  'test/cli/postgres*.test.ts',
  'test/docs/postgres*.test.ts',
]

/** These are about any store, and run once on each: see test/stores/each-store.ts. */
const EACH_STORE = [
  'test/bulk/*.test.ts',
  'test/composition/{bad-input,graphs,groups,killed,model}.test.ts',
  'test/direct/*.test.ts',
  'test/doctor/busy.test.ts',
  'test/http/{redaction,sessions}.test.ts',
  'test/http/routes{,-*}.test.ts',
  'test/lifecycle/*.test.ts',
  'test/operations/*.test.ts',
  'test/processes/{ignored-timeout,killed-child,late-finish,not-dead,one-killed,signals,stop-and-start,two-nodes}.test.ts',
  'test/recovery/*.test.ts',
  'test/schedules/{broken,change,clock,declare,failures,options,params,policies,processes,races,slots}.test.ts',
  'test/templates/*.test.ts',
  'test/webhooks/{events,killed,refusals,retries,subscriptions}.test.ts',
  'test/why/{damage,ended,held,limits,places,processes,rank,running}.test.ts',
]

/** Of those, what is about files of SQLite, or handles of it. */
const NOT_ON_POSTGRES = ['test/http/routes-output.test.ts', 'test/lifecycle/85-own-transaction.test.ts']

/**
 * What takes longest, so that it does not begin when everything else has ended. Some of it mostly waits: that goes well beside
 * what does not.
 */
const LONG = [
  'test/stores/postgres-conformance.test.ts',
  'test/composition/scale.test.ts',
  'test/processes/not-dead.test.ts',
  'test/why/scale.test.ts',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const index = LONG.findIndex((file) => moduleId.endsWith(file))
      return index === -1 ? LONG.length : index
    }
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b))
  }
}

const root = fileURLToPath(new URL('.', import.meta.url))
const dist = join(root, 'dist')

/** When the files of a folder were written, as far as they end so. */
function timesIn(folder: string, ending: string): number[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith(ending))
  return names.map((name) => statSync(join(folder, name)).mtimeMs)
}

/** Whether all that is built was built after the last change of a source, as it is by `npm test`. */
const isBuilt = existsSync(dist) && Math.max(...timesIn(join(root, 'src'), '.ts')) < Math.min(...timesIn(dist, '.js'))

/**
 * Lets tests that import a source get what was built of it: that is loaded at once, where the source would be translated for
 * every file of tests anew. While somebody works on the sources, tests get those.
 */
const builtInsteadOfSources: Plugin = {
  name: 'built-instead-of-sources',
  enforce: 'pre',
  resolveId(source, importer) {
    const name = /^(?:\.\.\/)+src\/(.+)\.ts$/.exec(source)?.[1]
    if (name === undefined || importer === undefined || !importer.startsWith(join(root, 'test'))) return null
    return join(dist, `${name}.js`)
  },
}

export default defineConfig({
  plugins: isBuilt ? [builtInsteadOfSources] : [],
  test: {
    environment: 'node',
    // Tests open real databases and real processes: each file gets its own process, so that one crash stays its own.
    pool: 'forks',
    // Many tests wait, for a server, a process or the time: so one more than two cores can do. Each may have some dozens of
    // connections to the server, which has not so many.
    maxWorkers: Math.min(6, Math.max(3, availableParallelism())),
    // What was built needs no translation either.
    server: { deps: { external: [/\/dist\/.*\.js$/] } },
    sequence: { sequencer: LongestFirst },
    // Far beyond what any needs by itself: on two busy cores it may take ten times as long.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', './scripts/vitest-reporter.mjs'],
    projects: [
      {
        extends: true,
        test: {
          name: 'sqlite',
          include: ['test/**/*.test.ts'],
          exclude: POSTGRES_ONLY,
          provide: { storeKind: 'sqlite' },
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: [...POSTGRES_ONLY, ...EACH_STORE],
          exclude: NOT_ON_POSTGRES,
          // Only here, so that the server is started only when one of these files runs.
          globalSetup: ['test/postgres/global-setup.ts'],
          provide: { storeKind: 'postgres' },
        },
      },
    ],
  },
})
