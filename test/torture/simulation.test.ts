import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { simulate } from '../../torture/simulation/simulate.ts'
import { runShort } from './stage.ts'

test('500 simulated lives contradict nothing, and those that are repeated are the same again', {
  timeout: 300_000,
}, async () => {
  const { outcome } = await runShort('sim')
  expect(outcome.violations).toEqual([])
  // What was to be survived has happened.
  for (const what of ['crashes', 'pauses', 'partitions', 'answers lost', 'requests lost', 'statements broken']) {
    expect(outcome.counts[what], what).toBeGreaterThan(10)
  }
  expect(outcome.counts['jobs']).toBeGreaterThan(5_000)
})

test('a seed decides everything: the same one gives the same steps, another one others', async () => {
  const [first, again] = [await simulate(42, { keepsLines: true }), await simulate(42, { keepsLines: true })]
  expect(again.lines).toEqual(first.lines)
  expect(again.hash).toBe(first.hash)
  expect((await simulate(43)).hash).not.toBe(first.hash)
})

test('the command tells the trace hash of its seeds, whichever thread was done with them first', async () => {
  const traceOf = async (seed: string) => (await runShort('sim', '--seeds', '3', '--seed', seed)).outcome.trace
  const [first, again, other] = await Promise.all([traceOf('42'), traceOf('42'), traceOf('43')])
  expect(first).toMatch(/^[0-9a-f]{16}$/)
  expect(again).toBe(first)
  expect(other).not.toBe(first)
})

test('neither the process nor what it simulated before decides anything', async () => {
  // In this one, somebody looks for faults while statements break: a process has to prepare for its first look.
  const script = `
    const { simulate } = await import(${JSON.stringify(new URL('../../torture/dist/simulation/simulate.js', import.meta.url))})
    for (const seed of process.argv.slice(1)) console.log((await simulate(Number(seed))).hash)`
  const hashesOf = async (...seeds: string[]) => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, ...seeds])
    return stdout.trim().split('\n')
  }
  const [[alone], [, afterAnother, again]] = await Promise.all([hashesOf('77000'), hashesOf('5', '77000', '77000')])
  expect([afterAnother, again]).toEqual([alone, alone])
})
