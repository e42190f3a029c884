import { defineJob } from 'pawl'

/** Its first attempt never comes to an end by itself. */
export const copy = defineJob({
  type: 'copy',
  async run({ attempt, signal }) {
    if (attempt > 1) return 'copied'
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  },
})
