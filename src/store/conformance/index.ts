import { describe, it } from 'node:test'
import { concerns } from './concerns.ts'
import type { ConformanceOptions, Runner, StoreFactory } from './factory.ts'
import { type ConformanceTest, collectTests, type Hook } from './kit.ts'

export type { ConformanceOptions, Runner, StoreFactory, TransactionEnd, TransactionWork } from './factory.ts'

/** What a reader of the report is told when a hook is missing. */
const MISSING: Readonly<Record<Hook, string>> = {
  openAnother: 'the factory cannot open a second store on one database: no `openAnother`',
  withTransaction: 'the factory has no transaction to offer: no `withTransaction`',
  damage: 'the factory cannot damage its database: no `damage`',
  openBackup: 'the factory cannot open a backup: no `openBackup`',
}

/** Registers the store contract as tests of the store that this factory makes. See docs/store-conformance.md. */
export function describeStore<Database>(
  name: string,
  factory: StoreFactory<Database>,
  options: ConformanceOptions = {},
): void {
  const runner: Runner = options.runner ?? { describe, it }
  const deviations = options.deviations ?? {}
  const suites = concerns.map(({ title, register }) => ({ title, tests: collectTests(title, register) }))
  refuseBadDeviations(deviations, new Set(suites.flatMap(({ tests }) => tests.map(fullName))))
  runner.describe(`store contract: ${name}`, () => {
    for (const { title, tests } of suites) {
      runner.describe(title, () => {
        for (const test of tests) register(runner, factory, test, deviations[fullName(test)])
      })
    }
  })
}

function register<Database>(
  runner: Runner,
  factory: StoreFactory<Database>,
  test: ConformanceTest,
  deviation: string | undefined,
): void {
  const note = noteOf(factory, test, deviation)
  runner.it(note === null ? test.title : `${test.title} (${note})`, { skip: note !== null }, async () => {
    const database = await factory.create()
    try {
      await test.body(factory, database)
    } finally {
      await factory.remove(database)
    }
  })
}

/** Why a test is not run, or null. A test that is left out is always in the report, with this note. */
function noteOf<Database>(
  factory: StoreFactory<Database>,
  test: ConformanceTest,
  deviation: string | undefined,
): string | null {
  if (deviation !== undefined) return `deviates: ${deviation}`
  if (test.needs !== null && factory[test.needs] === undefined) return `skipped: ${MISSING[test.needs]}`
  return null
}

function fullName(test: ConformanceTest): string {
  return `${test.concern} > ${test.title}`
}

/** A deviation without a reason says nothing, and one from a test that does not exist hides what its author believes. */
function refuseBadDeviations(deviations: Readonly<Record<string, string>>, names: ReadonlySet<string>): void {
  for (const [name, reason] of Object.entries(deviations)) {
    if (!names.has(name))
      throw new Error(`Expected a deviation to name a test as \`concern > title\`, got \`${name}\`.`)
    if (reason.trim() === '') throw new Error(`Expected a reason for the deviation \`${name}\`, got none.`)
  }
}
