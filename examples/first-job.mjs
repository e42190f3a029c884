// The smallest whole program: define a type, accept a job, execute it, read its result.
import assert from 'node:assert/strict'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'

const greet = defineJob({
  type: 'greet',
  async run({ params }) {
    return `Hello, ${params.name}!`
  },
})

const scheduler = await openScheduler({ store: sqlite(':memory:'), jobs: [greet] })
await scheduler.start()

const job = await scheduler.enqueue(greet, { name: 'Ada' })
const settled = await job.settled()
assert.equal(settled.result, 'Hello, Ada!')
console.log(settled.result)

await scheduler.close()
