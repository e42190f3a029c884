import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import * as rules from './architecture/rules.ts'
import { listFiles, parseSourceFile, readSourceFiles } from './architecture/source-file.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const paths = listFiles(root, 'src')
const sources = readSourceFiles(root, 'src')
const tests = readSourceFiles(root, 'test')
const dashboard = readSourceFiles(root, 'dashboard/src')
const packageJson = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

describe('the source tree', () => {
  test('is there', () => expect(sources.length).toBeGreaterThan(0))
  test('keeps the import directions of ARCHITECTURE.md', () => holds(rules.wrongImports(sources)))
  test('has no folder without a place', () => holds(rules.unknownFolders(paths)))
  test('has the same files for every store', () => holds(rules.unevenStores(paths)))
  test('has no file that is too long', () => holds(rules.longFiles(sources)))
  test('has kebab-case names that say something', () => holds(rules.badNames(paths)))
  test('has a source file for every entry point of the package', () => holds(rules.missingExports(packageJson, paths)))
  test('takes time and chance as arguments', () => holds(rules.hiddenTime(sources)))
  test('lets the dashboard use the API alone', () => holds(rules.dashboardImports(dashboard)))
  test('has no file of the dashboard that is too long', () => holds(rules.longFiles(dashboard)))
  test('switches no test off', () => holds(rules.switchedOffTests([...sources, ...tests])))
})

function holds(violations: readonly string[]): void {
  if (violations.length > 0) expect.fail(`\n${violations.join('\n')}\n`)
}

// A rule that never fires is worth nothing, so each is shown a small tree that breaks it and one that does not.
describe('the rule', () => {
  test.each([
    ['src/domain/job.ts', `import { now } from '../platform/clock.ts'`],
    ['src/domain/job.ts', `export * from '../store/index.ts'`],
    ['src/domain/job.ts', `import type { Clock } from '../platform/clock.ts'`],
    ['src/domain/job.ts', `import { readFileSync } from 'node:fs'`],
    ['src/platform/clock.ts', `type Job = import('../domain/job.ts').Job`],
    ['src/store/index.ts', `const engine = await import('../engine/dispatcher.ts')`],
    ['src/engine/finisher.ts', `import { sqlite } from '../stores/sqlite/index.ts'`],
    ['src/engine/finisher.ts', `import Database from 'better-sqlite3'`],
    ['src/engine/finisher.ts', `import { defineJob } from 'pawl'`],
    ['src/engine/finisher.ts', `import { version } from '../../package.json'`],
    ['src/stores/sqlite/rows.ts', `import { rows } from '../postgres/rows.ts'`],
    ['src/stores/sqlite/rows.ts', `import { clock } from '../../platform/clock.ts'`],
    ['src/http/server.ts', `import { Dispatcher } from '../engine/dispatcher.ts'`],
    ['src/index.ts', `export { Dispatcher } from './engine/dispatcher.ts'`],
    ['src/index.ts', `import { type Clock, systemClock } from './platform/clock.ts'`],
  ])('about import directions refuses, in %s: %s', (path, text) => {
    expect(rules.wrongImports([parseSourceFile(path, text)])).toEqual([expect.stringContaining(`${path}:1 imports '`)])
  })

  test.each([
    ['src/domain/job.ts', `import { decide } from './retry.ts'`],
    ['src/domain/slot.ts', `import { Cron } from 'croner'`],
    ['src/stores/sqlite/rows.ts', `import { DatabaseSync } from 'node:sqlite'`],
    ['src/stores/sqlite/statements/claim.ts', `import { job } from '../../../domain/job.ts'`],
    ['src/engine/finisher.ts', `// import { sqlite } from '../stores/sqlite/index.ts'`],
    ['src/engine/finisher.ts', `const text = "import { sqlite } from '../stores/sqlite/index.ts'"`],
    ['src/testing/index.ts', `import { sqlite } from '../stores/sqlite/index.ts'`],
    ['src/http/server.ts', `import type { Job } from '../domain/job.ts'`],
    ['src/index.ts', `export type { Clock } from './platform/clock.ts'`],
  ])('about import directions allows, in %s: %s', (path, text) => {
    expect(rules.wrongImports([parseSourceFile(path, text)])).toEqual([])
  })

  test('about the dashboard refuses what runs, and types that are no part of the API', () => {
    const file = (text: string) => rules.dashboardImports([parseSourceFile('dashboard/src/pages/job.tsx', text)])
    expect(file(`import { ask } from '../../../src/client/request.ts'`)).toHaveLength(1)
    expect(file(`import type { Store } from '../../../src/store/store.ts'`)).toHaveLength(1)
    expect(file(`import type { Answered } from '../../../src/client/request.ts'`)).toEqual([])
    expect(
      file(`import { signal } from '@preact/signals'\nimport { ask } from '../api/http.ts'\nconst a = <b />`),
    ).toEqual([])
  })

  test('about folders refuses one that is not in the table', () => {
    expect(rules.unknownFolders(['src/oddments/thing.ts', 'src/stores/shared.ts', 'src/other.ts'])).toHaveLength(3)
    expect(rules.unknownFolders(['src/domain/job.ts', 'src/index.ts', 'src/stores/sqlite/rows.ts'])).toEqual([])
  })

  test('about stores names each missing file', () => {
    const names = [
      'index.ts',
      'x-store.ts',
      'connection.ts',
      'rows.ts',
      'errors.ts',
      'statements/a.ts',
      'migrations/a.ts',
    ]
    const complete = names.map((name) => `src/stores/x/${name}`)
    expect(rules.unevenStores(complete)).toEqual([])
    for (const missing of complete) {
      expect(rules.unevenStores(complete.filter((path) => path !== missing))).toHaveLength(1)
    }
  })

  test('about length allows 600 lines and refuses 601', () => {
    expect(rules.longFiles([parseSourceFile('src/domain/job.ts', '\n'.repeat(600))])).toEqual([])
    expect(rules.longFiles([parseSourceFile('src/domain/job.ts', '\n'.repeat(601))])).toHaveLength(1)
  })

  test.each(['src/domain/jobOrder.ts', 'src/domain/Job.ts', 'src/domain/job_order.ts', 'src/domain/job.types.ts'])(
    'about names refuses %s',
    (path) => expect(rules.badNames([path])).toEqual([expect.stringContaining('kebab-case')]),
  )

  test.each(['src/domain/utils.ts', 'src/engine/job-manager.ts', 'src/helpers/job.ts', 'src/store/common.ts'])(
    'about names refuses %s as empty',
    (path) => expect(rules.badNames([path])).toEqual([expect.stringContaining('says nothing')]),
  )

  test('about names allows kebab-case and README.md', () => {
    expect(rules.badNames(['src/README.md', 'src/stores/sqlite/migrations/0001-initial.ts'])).toEqual([])
  })

  test('about entry points refuses a target without a source file', () => {
    const exports = {
      '.': { types: './dist/index.d.ts', default: './dist/index.js' },
      './package.json': './package.json',
    }
    expect(rules.missingExports({ exports }, ['src/index.ts'])).toEqual([])
    expect(rules.missingExports({ exports, bin: { pawl: './dist/cli/main.js' } }, ['src/index.ts'])).toHaveLength(1)
    expect(rules.missingExports({ exports }, [])).toHaveLength(1)
  })

  test.each([
    'Date.now()',
    'const clock = { now: Date.now }',
    'performance.now()',
    'new Date()',
    'Math.random()',
    'setTimeout(wake, 10)',
    'setInterval(wake, 10)',
    'globalThis.setTimeout(wake, 10)',
    `import { setTimeout as sleep } from 'node:timers/promises'`,
  ])('about time refuses: %s', (text) => {
    expect(rules.hiddenTime([parseSourceFile('src/engine/poller.ts', text)])).toHaveLength(1)
    expect(rules.hiddenTime([parseSourceFile('src/platform/clock.ts', text)])).toEqual([])
  })

  test.each(['clock.now()', 'new Date(0)', 'timers.setTimeout(wake, 10)', '// Date.now()', `'Date.now()'`])(
    'about time allows: %s',
    (text) => expect(rules.hiddenTime([parseSourceFile('src/engine/poller.ts', text)])).toEqual([]),
  )

  test.each([
    'test.only("a", f)',
    'it.skip("a", f)',
    'describe.concurrent.only("a", f)',
    'test.skip.each([1])("a", f)',
  ])('about tests refuses: %s', (text) =>
    expect(rules.switchedOffTests([parseSourceFile('test/a.test.ts', text)])).toHaveLength(1),
  )

  test.each(['skip("no new mail")', 'context.skip("no new mail")', 'test("a.only", f)'])(
    'about tests allows: %s',
    (text) => expect(rules.switchedOffTests([parseSourceFile('test/a.test.ts', text)])).toEqual([]),
  )
})
