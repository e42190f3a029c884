// One GPU for two types of jobs: their bodies never overlap, though ten could execute at once.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { z } from 'zod'

let onGpu = 0
let mostOnGpu = 0
const finished: string[] = []

async function useGpu(label: string): Promise<void> {
  mostOnGpu = Math.max(mostOnGpu, ++onGpu)
  await sleep(20)
  onGpu--
  finished.push(label)
}

const params = z.string()
const story = defineJob({
  type: 'story',
  params,
  resources: ['gpu'],
  run: (context) => useGpu(`story ${context.params}`),
})
const image = defineJob({
  type: 'image',
  params,
  resources: ['gpu'],
  run: (context) => useGpu(`image ${context.params}`),
})

const scheduler = await openScheduler({
  store: sqlite(':memory:'),
  jobs: [story, image],
  concurrency: 10,
  resources: { gpu: 1 },
})
const jobs = await scheduler.enqueueMany([
  { type: story, params: 'one' },
  { type: image, params: 'one' },
  { type: story, params: 'urgent', priority: 10 },
])
await scheduler.start()
await Promise.all(jobs.map((job) => job.settled()))

assert.equal(mostOnGpu, 1)
assert.deepEqual(finished, ['story urgent', 'story one', 'image one'])
console.log(finished.join(', '))
await scheduler.close()
