import { expect, test } from 'vitest'
import { runShort } from './stage.ts'

test('with a network and a server that fail, and a node that comes back from the dead, nothing contradicts what was seen from outside', {
  timeout: 240_000,
}, async () => {
  const { outcome } = await runShort('pg')
  expect(outcome.violations).toEqual([])
  expect(outcome.trials).toBeGreaterThan(5)
  expect(outcome.counts['acknowledged']).toBeGreaterThan(100)
  for (const what of ['zombies', 'nodes registered anew', 'crashes recovered']) {
    expect(outcome.counts[what], what).toBeGreaterThan(0)
  }
})
