// A schema checks params at the door, fills in defaults, and gives handler and caller their types.
import assert from 'node:assert/strict'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { z } from 'zod'

const story = defineJob({
  type: 'story',
  params: z.object({ genre: z.string(), length: z.number().int().default(1_200) }),
  async run({ params }) {
    return { words: params.length, title: `A ${params.genre} story` }
  },
})

const scheduler = await openScheduler({ store: sqlite(':memory:'), jobs: [story] })
await scheduler.start()

const job = await scheduler.enqueue(story, { genre: 'horror' })
const settled = await job.settled()
assert(settled.outcome === 'COMPLETED')
const words: number = settled.result.words
assert.equal(words, 1_200)

// The compiler refuses it, and so does the scheduler. Nothing is stored.
await assert.rejects(
  // @ts-expect-error length must be a number
  scheduler.enqueue(story, { genre: 'horror', length: 'long' }),
  { code: 'invalid_params', path: 'params.length' },
)

console.log(`${settled.result.title}, ${words} words`)
await scheduler.close()
