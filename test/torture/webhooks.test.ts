import { expect, test } from 'vitest'
import { runShort } from './stage.ts'

test('whatever receivers do, others hear of everything, nobody is called who may not be, and closing takes no longer', {
  timeout: 300_000,
}, async () => {
  const { outcome } = await runShort('webhooks')
  const { counts, trials } = outcome
  expect(outcome.violations).toEqual([])
  expect(trials).toBe(4)
  expect(counts['hostile receivers']).toBeGreaterThanOrEqual(4 * trials)
  expect(counts['delivered']).toBeGreaterThan(10 * trials)
  // Most of them did not arrive.
  expect(counts['attempts']).toBeGreaterThan(2 * (counts['delivered'] ?? 0))
})
