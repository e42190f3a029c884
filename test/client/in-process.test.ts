import { expect, test } from 'vitest'
import { httpTransport } from '../../src/client/http-transport.ts'
import { clientOver, type StreamedEvent } from '../../src/client/index.ts'
import { inProcessTransport } from '../../src/http/in-process.ts'
import { DOOR } from '../../src/operations/door.ts'
import { type Api, checked, openApi, refusalOf } from '../http/api-stage.ts'

function inProcess({ scheduler }: Api, name = 'cli:ada') {
  return clientOver(checked(contentTyped(inProcessTransport(scheduler[DOOR], { name, role: 'admin' }))))
}

/** The check of the contract looks at the content type, which only HTTP has. */
function contentTyped(transport: ReturnType<typeof inProcessTransport>): typeof transport {
  return {
    ...transport,
    send: async (request) => {
      const answer = await transport.send(request)
      return { ...answer, headers: { ...answer.headers, 'content-type': 'application/problem+json' } }
    },
  }
}

test('a client on a store says the same as one over HTTP', async () => {
  const api = await openApi()
  const local = inProcess(api)
  const { job_id } = await local.jobs.enqueue({ type: 'story', run_at: '2030-01-01T00:00:00Z' })
  await local.schedules.create({ name: 's', type: 'story', every_ms: 60_000 })
  await local.templates.create({ name: 't', job_type: 'story' })
  await local.groups.create({ jobs: [{ type: 'story' }] })
  for (const read of [
    (client: typeof local) => client.jobs.get(job_id),
    (client: typeof local) => client.jobs.list({ limit: 1 }),
    (client: typeof local) => client.jobs.chain(job_id),
    (client: typeof local) => client.schedules.list(),
    (client: typeof local) => client.templates.list(),
    (client: typeof local) => client.groups.list(),
    (client: typeof local) => client.audit.list(),
    (client: typeof local) => client.types.list(),
    (client: typeof local) => client.scheduler.status(),
    (client: typeof local) => refusalOf(client.jobs.get('nope')),
    (client: typeof local) => refusalOf(client.jobs.list({ limit: 0 })),
    (client: typeof local) => refusalOf(client.jobs.edit(job_id, { priority: 1 }, { ifMatch: '"x"' })),
  ]) {
    expect(await read(local)).toEqual(await read(api.admin))
  }
  expect(await local.jobs.get(job_id)).toMatchObject({ created_by: 'cli:ada' })
})

test('what it is given is what JSON makes of it, as over the network', async () => {
  const api = await openApi()
  const params = { at: new Date(0), nothing: undefined }
  const job = await inProcess(api).jobs.enqueue({ type: 'review', params })
  expect(job).toMatchObject({ params: { at: '1970-01-01T00:00:00.000Z' } })
  params.at.setFullYear(2000)
  expect(await api.viewer.jobs.get(job.job_id)).toMatchObject({ params: { at: '1970-01-01T00:00:00.000Z' } })
})

test('events come from the store itself, and go on after any of them', async () => {
  const api = await openApi()
  const local = inProcess(api)
  const end = new AbortController()
  const events: StreamedEvent[] = []
  const followed = (async () => {
    for await (const event of local.events({ signal: end.signal })) {
      events.push(event)
      if (event.event === 'job.finished') end.abort()
    }
  })()
  await api.scheduler.start()
  const { job_id } = await api.operator.jobs.enqueue({ type: 'review' })
  await followed
  expect(events.map(({ event }) => event)).toEqual(['job.queued', 'job.started', 'job.finished'])
  expect(events[2]?.data).toMatchObject({ job_id, job_type: 'review', status: 'FINISHED', outcome: 'COMPLETED' })
  const again: string[] = []
  for await (const { event } of local.events({ after: events[0]?.id ?? null })) if (again.push(event) === 2) break
  expect(again).toEqual(['job.started', 'job.finished'])
  for await (const { event, data } of local.events({ after: 'nonsense' })) {
    expect([event, data]).toEqual(['reset', { reason: 'malformed' }])
    break
  }
})

test('one over HTTP gets the same events', async () => {
  const api = await openApi()
  const remote = clientOver(httpTransport({ server: api.url, apiKey: api.keys.viewer }))
  const collect = async (client: typeof remote) => {
    const found: StreamedEvent[] = []
    for await (const event of client.events({ after: '0.0' })) {
      found.push(event)
      if (event.event === 'job.finished') return found
    }
  }
  await api.scheduler.start()
  await api.operator.jobs.enqueue({ type: 'review' })
  expect(await collect(remote)).toEqual(await collect(inProcess(api)))
})

test('an endpoint that does not exist is not found', async () => {
  const api = await openApi()
  const transport = inProcessTransport(api.scheduler[DOOR], { name: 'cli:ada', role: 'admin' })
  const request = { route: 'GET /api/nothing', params: {}, query: {}, body: undefined, headers: {}, signal: undefined }
  expect(await transport.send(request)).toMatchObject({ status: 404, body: { code: 'not_found' } })
})
