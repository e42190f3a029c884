// A template: one job type, default params and a policy under a name. Changing it touches future jobs only.
import assert from 'node:assert/strict'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { z } from 'zod'

const report = defineJob({
  type: 'report',
  params: z.object({ region: z.string(), format: z.string(), pages: z.number() }),
  run: ({ params }) => `${params.region}: ${params.pages} pages of ${params.format}`,
})

const scheduler = await openScheduler({ store: sqlite(':memory:'), jobs: [report] })
await scheduler.start()

const { templateId } = await scheduler.templates.create({
  name: 'weekly report',
  type: report,
  defaultParams: { format: 'pdf', pages: 10 },
  retry: { maxRetries: 1 },
  timeoutMs: 60_000,
})

const north = await scheduler.enqueueTemplate(templateId, { region: 'north' })
await scheduler.templates.change(templateId, { defaultParams: { format: 'html', pages: 5 } })
const south = await scheduler.enqueueTemplate(templateId, { region: 'south', pages: 2 })

const results = [(await north.settled()).result, (await south.settled()).result]
assert.deepEqual(results, ['north: 10 pages of pdf', 'south: 2 pages of html'])
assert.equal((await north.get()).policy.timeoutMs, 60_000)

await scheduler.templates.archive(templateId)
await assert.rejects(scheduler.enqueueTemplate(templateId, { region: 'west' }), { code: 'template_archived' })

console.log(results.join(', '))
await scheduler.close()
