import { describe, expect, test } from 'vitest'
import { type ConformanceOptions, describeStore, type StoreFactory } from '../../src/store/conformance/index.ts'

const SHARED = 'races > each Job is claimed once, whoever asks'
const PLAIN = 'claim > a Job is claimed once'

/** No test of the kit is run here, so no store is needed. */
const unused = async () => {
  throw new Error('nothing runs here')
}
const least: StoreFactory = { create: unused, open: unused, remove: unused }
const complete: StoreFactory = {
  ...least,
  openAnother: unused,
  withTransaction: unused,
  damage: unused,
  openBackup: unused,
}

describe('the conformance kit', () => {
  test('runs every test when the factory can do everything', () => {
    const tests = registered(complete)
    expect(tests.length).toBeGreaterThan(250)
    expect(tests.filter(({ skip }) => skip)).toEqual([])
  })

  test('has no two tests of one name', () => {
    const names = registered(complete).map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
  })

  test('shows what it leaves out, and why', () => {
    const [all, some] = [registered(complete), registered(least)]
    expect(some.length).toBe(all.length)
    for (const { name, skip } of some) expect(/\(skipped: .*: no `\w+`\)$/.test(name)).toBe(skip)
    expect(some.find(({ name }) => name.startsWith(SHARED))).toMatchObject({ skip: true })
    expect(some.find(({ name }) => name.startsWith(PLAIN))).toMatchObject({ name: PLAIN, skip: false })
  })

  test('shows a deviation with its reason', () => {
    const tests = registered(complete, { deviations: { [PLAIN]: 'our Jobs like it twice' } })
    expect(tests.filter(({ skip }) => skip)).toEqual([
      { name: `${PLAIN} (deviates: our Jobs like it twice)`, skip: true },
    ])
  })

  test('refuses a deviation from no test, and one without a reason', () => {
    expect(() => registered(complete, { deviations: { 'claim > dreams': 'why not' } })).toThrow('claim > dreams')
    expect(() => registered(complete, { deviations: { [PLAIN]: ' ' } })).toThrow('Expected a reason')
  })
})

/** What the kit hands to a test framework, each name with its concern. */
function registered(factory: StoreFactory, options: ConformanceOptions = {}): { name: string; skip: boolean }[] {
  const tests: { name: string; skip: boolean }[] = []
  let path: string[] = []
  const runner = {
    describe(name: string, body: () => void) {
      path.push(name)
      body()
      path = path.slice(0, -1)
    },
    it: (name: string, { skip }: { skip: boolean }) => tests.push({ name: [...path.slice(1), name].join(' > '), skip }),
  }
  describeStore('anything', factory, { ...options, runner })
  return tests
}
