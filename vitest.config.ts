import { defineConfig } from 'vitest/config'

/** These need a PostgreSQL server. */
const POSTGRES_ONLY = [
  'test/postgres/**/*.test.ts',
  'test/stores/postgres-*.test.ts',
  'test/cli/postgres*.test.ts',
  'test/docs/postgres*.test.ts',
]

/** These are about any store, and run once on each: see test/stores/each-store.ts. */
const EACH_STORE = [
  'test/composition/{bad-input,crash,graphs,groups,killed,model}.test.ts',
  'test/direct/*.test.ts',
  'test/doctor/busy.test.ts',
  'test/http/routes{,-*}.test.ts',
  'test/lifecycle/*.test.ts',
  'test/operations/*.test.ts',
  'test/processes/{ignored-timeout,killed-child,late-finish,not-dead,one-killed,signals,stop-and-start,two-nodes}.test.ts',
  'test/recovery/*.test.ts',
  'test/schedules/{broken,change,clock,declare,every-write,failures,options,params,policies,processes,races,slots}.test.ts',
  'test/templates/*.test.ts',
  'test/webhooks/{events,killed,refusals,retries,subscriptions}.test.ts',
  'test/why/{damage,ended,held,limits,places,processes,rank,running}.test.ts',
]

/** Of those, what is about files of SQLite, or handles of it. */
const NOT_ON_POSTGRES = [
  'test/http/routes-output.test.ts',
  'test/lifecycle/85-own-transaction.test.ts',
]

export default defineConfig({
  test: {
    environment: 'node',
    // Tests open real databases and real processes: each file gets its own process, so that one crash stays its own.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
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
