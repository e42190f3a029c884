import { expect, test } from 'vitest'
import { runShort } from './stage.ts'

test('a server answers whatever is asked, none with a failure of its own, and what it refuses changes nothing', {
  timeout: 300_000,
}, async () => {
  const { outcome } = await runShort('fuzz')
  const { counts, trials } = outcome
  expect(outcome.violations).toEqual([])
  expect(trials).toBe(5_000)
  const accepted = [200, 201, 202, 204].reduce((sum, status) => sum + (counts[`answered ${status}`] ?? 0), 0)
  const refused = [400, 404, 409, 412, 422].reduce((sum, status) => sum + (counts[`answered ${status}`] ?? 0), 0)
  // It is worth nothing if it only ever met the first check.
  expect(accepted).toBeGreaterThan(trials / 5)
  expect(refused).toBeGreaterThan(trials / 5)
  expect(counts['raw bytes']).toBeGreaterThan(100)
  expect(counts['refused, and seen to have changed nothing']).toBeGreaterThan(100)
})
