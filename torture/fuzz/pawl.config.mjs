// What the server knows that is asked anything. Nothing is sent anywhere: no request names a receiver that exists.
import { defineConfig, defineJob } from 'pawl'
import { sqlite } from 'pawl/sqlite'

const story = defineJob({ type: 'story', run: () => ({ file: 'out.md' }) })

// The examples of the document have it.
const review = defineJob({ type: 'review', run: () => null })

const failing = defineJob({
  type: 'failing',
  retry: { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 50 } },
  run: () => {
    throw new Error('no')
  },
})

// Whether it survives a loss of power is not the question here, and it is answered sooner.
const store = sqlite(process.env['FUZZED_FILE'] ?? 'pawl.db', { durability: 'process' })

export default defineConfig({ store, jobs: [story, review, failing], concurrency: 4, server: { rateLimit: false } })
