import type { Campaign } from '../campaign.ts'

export const simulation: Campaign = {
  name: 'sim',
  about: 'whole lives of several nodes on a virtual clock, with crashes, pauses and lost answers',
  amount: { name: 'seeds', usual: 10_000, short: 500 },
  run: async () => ({ done: 0, trials: 0, counts: {}, violations: [] }),
}
