// A graph accepted at once: the report waits for both counts, which wait for the text. If the text cannot be had, neither runs.
import assert from 'node:assert/strict'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { z } from 'zod'

let isOnline = false

const load = defineJob({
  type: 'load',
  retry: { maxRetries: 0 },
  run() {
    if (!isOnline) throw new Error('offline')
    return 'the quick brown fox'
  },
})

const count = defineJob({
  type: 'count',
  params: z.enum(['words', 'letters']),
  run({ params, parents }) {
    const [text] = z.tuple([z.string()]).parse(Object.values(parents))
    return `${text.match(params === 'words' ? /\w+/g : /\w/g)?.length ?? 0} ${params}`
  },
})

const report = defineJob({
  type: 'report',
  run: ({ parents }) => z.array(z.string()).parse(Object.values(parents)).join(', '),
})

const scheduler = await openScheduler({ store: sqlite(':memory:'), jobs: [load, count, report], concurrency: 2 })
await scheduler.start()

const graph = await scheduler.enqueueGraph({
  text: { type: load, params: null },
  words: { type: count, params: 'words', dependsOn: ['text'] },
  letters: { type: count, params: 'letters', dependsOn: ['text'] },
  report: { type: report, params: null, dependsOn: ['words', 'letters'] },
})

// The parent fails, so its children are cancelled, and theirs in turn.
const cancelled = await graph.report.settled()
assert.equal(cancelled.outcome, 'CANCELLED')
console.log(`report: ${cancelled.outcome}`)

// Retried together with those that were cancelled because of it.
isOnline = true
await scheduler.retry(graph.text.jobId, { dependents: true })
const settled = await graph.report.settled()
assert.equal(settled.result, '4 words, 16 letters')
console.log(`report: ${settled.result}`)

// Jobs that would wait for each other are refused, and nothing is stored.
await assert.rejects(
  scheduler.enqueueGraph({
    egg: { type: report, params: null, dependsOn: ['chicken'] },
    chicken: { type: report, params: null, dependsOn: ['egg'] },
  }),
  { code: 'dependency_cycle' },
)
await scheduler.close()
