import { expect, test } from 'vitest'
import { simulate } from '../../torture/simulation/simulate.ts'
import { runShort } from './stage.ts'

test('500 simulated lives contradict nothing, and each is the same again', { timeout: 300_000 }, async () => {
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
