import { expect, test } from 'vitest'
import { hasWebhook } from '../../torture/outside/scene.ts'
import { runShort } from './stage.ts'

test('processes on one SQLite file are killed fifty times, and nothing contradicts what was seen from outside', {
  timeout: 240_000,
}, async () => {
  const { outcome, seed } = await runShort('kill')
  expect(outcome.violations).toEqual([])
  expect(outcome.done).toBeGreaterThanOrEqual(50)
  expect(outcome.counts['acknowledged']).toBeGreaterThan(200)
  // They were killed in the middle of their work, also where it is written, and also those who were recovering others.
  for (const what of ['bodies cut off', 'crashes recovered', 'deaths at fault points', 'slots']) {
    expect(outcome.counts[what], what).toBeGreaterThan(0)
  }
  // The seed decides whether anybody listens.
  if (hasWebhook(seed)) expect(outcome.counts['messages received']).toBeGreaterThan(0)
})
