// What there is to see in the demo. It may be called at every start: what is there already is not made again.
import { PawlApiError } from 'pawl/client'

const MINUTE_MS = 60_000

/** Answers with ids for the commands that the demo proposes. */
export async function seed(client, receiverUrl) {
  await webhook(client, receiverUrl)
  const templateId = await template(client)
  await schedule(client, templateId)

  // The model serves one at a time, so three of these wait for the first.
  await offer(client, { type: 'story', name: 'the old lighthouse', params: { genre: 'gothic' }, priority: 5 })
  await offer(client, { template_id: templateId, name: 'from the template' })
  const research = await offer(client, { type: 'research', name: 'tides', params: { topic: 'tides' } })
  await offer(client, { type: 'flaky', name: 'news feed', params: {} })
  await book(client)

  // One that is not due yet, one that waits for it, and one to cancel.
  const inAQuarter = new Date(Date.now() + 15 * MINUTE_MS).toISOString()
  const reminder = await offer(client, {
    type: 'notify',
    name: 'tea time',
    params: { text: 'The tea is ready.' },
    run_at: inAQuarter,
  })
  const dependent = await offer(client, {
    type: 'report',
    name: 'after the tea',
    params: { text: 'What a nice cup of tea that was.' },
    depends_on: [reminder],
  })
  const newsletter = await offer(client, {
    type: 'notify',
    name: 'newsletter',
    params: { text: 'Nobody has subscribed.' },
    run_at: inAQuarter,
  })
  return { research, dependent, newsletter }
}

/** A job with this name that has not ended is enough: its business key says so. */
async function offer(client, job) {
  const businessKey = `demo: ${job.name}`
  try {
    return (await client.jobs.enqueue({ ...job, business_key: businessKey, tags: ['demo'] })).job_id
  } catch (error) {
    if (isTaken(error)) return error.problem.job_id
    throw error
  }
}

/** A sequential group: each member waits for the one before. */
async function book(client) {
  const jobs = [
    { type: 'research', name: 'background', params: { topic: 'lighthouses' } },
    { type: 'story', name: 'first chapter', params: { genre: 'mystery', pages: 12 } },
    { type: 'report', name: 'word count', params: { text: 'It was a dark and stormy night.' } },
    { type: 'notify', name: 'to the printer', params: { text: 'The book is ready.' } },
  ]
  const [first, ...others] = jobs
  const body = { name: 'a small book', mode: 'sequential', jobs: [{ ...first, business_key: 'demo: book' }, ...others] }
  try {
    await client.request('POST /api/job-groups', { body })
  } catch (error) {
    if (!isTaken(error)) throw error
  }
}

async function template(client) {
  const name = 'Haiku'
  const { items } = await client.request('GET /api/job-templates', { query: { limit: 200 } })
  const existing = items.find((item) => item.name === name)
  if (existing !== undefined) return existing.template_id
  const body = { name, job_type: 'story', default_params: { genre: 'haiku', pages: 5 } }
  return (await client.request('POST /api/job-templates', { body })).template_id
}

async function schedule(client, templateId) {
  const name = 'a haiku every minute'
  const { items } = await client.request('GET /api/schedules', { query: { limit: 200 } })
  if (items.some((item) => item.name === name)) return
  const body = { name, template_id: templateId, cron: '* * * * *', overlap: 'skip', missed: 'none' }
  await client.request('POST /api/schedules', { body })
}

/** The receiver has another port at each start. */
async function webhook(client, url) {
  const name = 'the demo itself'
  const { items } = await client.request('GET /api/webhooks', { query: { limit: 200 } })
  const existing = items.find((item) => item.name === name)
  if (existing === undefined) {
    await client.request('POST /api/webhooks', { body: { name, url, events: ['job.settled'] } })
  } else {
    await client.request('PATCH /api/webhooks/{webhook_id}', {
      params: { webhook_id: existing.webhook_id },
      body: { url, enabled: true },
    })
  }
}

function isTaken(error) {
  return error instanceof PawlApiError && error.code === 'business_key_taken'
}
