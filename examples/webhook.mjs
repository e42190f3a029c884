// A receiver that trusts nobody: it verifies the signature, and does what a message asks for once, however often it comes.
import assert from 'node:assert/strict'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'

let secret = ''
let messages = 0
const mails = new Map()

const receiver = createServer((request, response) => {
  // Anything but a 2xx means: send it again.
  receive(request, response).catch(() => response.writeHead(500).end())
})

async function receive(request, response) {
  const body = await text(request)
  if (!isSigned(request.headers, body)) return response.writeHead(401).end()
  messages++
  const { event, job, result } = JSON.parse(body)
  // In a real receiver this is a row with a unique key, written together with what the message makes it do.
  mails.set(request.headers['webhook-id'], `${event}: ${job.job_type} returned ${result}`)
  response.writeHead(204).end()
}

function isSigned(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures = '' } = headers
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < 300)) return false
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`)
  return signatures
    .split(' ')
    .map((signature) => Buffer.from(signature))
    .some((signature) => signature.length === expected.length && timingSafeEqual(signature, expected))
}

await once(receiver.listen(0, '127.0.0.1'), 'listening')
const url = `http://127.0.0.1:${receiver.address().port}/hook`

const bake = defineJob({ type: 'bake', run: () => '2 loaves' })
const scheduler = await openScheduler({
  store: sqlite(':memory:'),
  jobs: [bake],
  // Private addresses are refused unless they are listed.
  webhooks: { allowPrivate: ['127.0.0.1'] },
})
const webhook = await scheduler.webhooks.create({ url, events: ['job.run.completed'] })
secret = webhook.secret

await scheduler.start()
const job = await scheduler.enqueue(bake, null)
const delivery = await delivered(job.jobId)

// The same message again, as after a lost answer.
await scheduler.webhooks.replay(delivery.deliveryId)
await delivered(job.jobId)
assert.equal(messages, 2)
assert.equal(mails.size, 1)
console.log(`${messages} messages, ${mails.size} mail: ${[...mails.values()].join(', ')}`)

const forged = await fetch(url, { method: 'POST', body: '{"event":"job.run.completed"}' })
assert.equal(forged.status, 401)
console.log(`a forged one: ${forged.status}`)

await scheduler.close()
receiver.close()

async function delivered(jobId) {
  for (;;) {
    const { items } = await scheduler.webhooks.deliveries({ jobId, status: 'DELIVERED' })
    if (items[0] !== undefined) return items[0]
    await sleep(5)
  }
}
