// A handler asks for follow-up jobs. They exist if and only if its Run is COMPLETED: both are one commit.
import assert from 'node:assert/strict'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { z } from 'zod'

const sendMail = defineJob({ type: 'send-mail', params: z.string(), run: ({ params }) => `sent ${params}` })

const order = defineJob({
  type: 'order',
  params: z.string(),
  retry: { backoff: { kind: 'none' } },
  async run({ params, attempt, enqueue }) {
    await enqueue(sendMail, `receipt ${params}`)
    // The first attempt fails after it asked: no mail comes of it.
    if (attempt === 1) throw new Error('the card reader is busy')
  },
})

const scheduler = await openScheduler({ store: sqlite(':memory:'), jobs: [order, sendMail] })
await scheduler.start()
const job = await scheduler.enqueue(order, '4711')
const settled = await job.settled()
assert.equal(settled.attempts, 2)

const mails = (await scheduler.listJobs({ type: 'send-mail' })).items
assert.equal(mails.length, 1)
console.log(`${settled.attempts} attempts, ${mails.length} mail`)
await scheduler.close()
