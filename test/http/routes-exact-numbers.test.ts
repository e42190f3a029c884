// A number is stored as it was sent, or not at all.
import { expect, test } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { openApi } from './api-stage.ts'

const HUGE = '12345678901234567890'

async function openRaw() {
  const echo = defineJob({ type: 'echo', run: ({ params }) => params })
  const odd = defineJob({ type: 'odd', run: () => [1e21, -0, 5e-324, 1e23, 123456789012345680000, 0.1 + 0.2] })
  const api = await openApi({ jobs: [echo, odd] })
  const ask = async (method: string, path: string, body?: string) => {
    const headers = {
      authorization: `Bearer ${api.keys.admin}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const response = await fetch(`${api.url}${path}`, { method, headers, ...(body !== undefined && { body }) })
    return { status: response.status, text: await response.text() }
  }
  return { ...api, ask, post: (path: string, body: string) => ask('POST', path, body) }
}

test.each([
  ['/api/jobs', `{"type":"echo","params":{"userId":${HUGE}}}`, 'params.userId'],
  ['/api/jobs', `{"type":"echo","params":${HUGE}}`, 'params'],
  ['/api/jobs', `{"type":"echo","priority":${HUGE}}`, 'priority'],
  ['/api/jobs/bulk', `{"jobs":[{"type":"echo"},{"type":"echo","params":[[${HUGE}]]}]}`, 'jobs.1.params.0.0'],
  ['/api/job-groups', `{"name":"g","jobs":[{"type":"echo","params":{"a":${HUGE}}}]}`, 'jobs.0.params.a'],
  ['/api/job-templates', `{"name":"t","job_type":"echo","default_params":{"aB":${HUGE}}}`, 'default_params.aB'],
  [
    '/api/schedules',
    `{"name":"s","type":"echo","cron":"0 0 1 1 *","param_overrides":{"aB":${HUGE}}}`,
    'param_overrides.aB',
  ],
  ['/api/direct/echo', `{"params":{"a":${HUGE}}}`, 'params.a'],
])('a number that would be changed is refused by POST %s %s', async (path, body, field) => {
  const { post, viewer } = await openRaw()
  const { status, text } = await post(path, body)
  expect(status).toBe(422)
  expect(JSON.parse(text)).toEqual({
    type: 'urn:pawl:problem:inexact_number',
    title: 'Invalid value',
    status: 422,
    code: 'inexact_number',
    detail:
      `Expected \`${field}\` to be a number that a double keeps exactly, got \`${HUGE}\`, which would become ` +
      `\`12345678901234567000\`. Send it as text: \`"${HUGE}"\`.`,
    path: field,
    literal: HUGE,
    becomes: '12345678901234567000',
  })
  expect((await viewer.jobs.list()).items).toEqual([])
})

test('a number that would be changed is refused by an edit, and the job keeps its params', async () => {
  const { ask, post, viewer } = await openRaw()
  const { job_id } = JSON.parse((await post('/api/jobs', '{"type":"echo","params":{"n":1}}')).text) as {
    job_id: string
  }
  const { status, text } = await ask('PATCH', `/api/jobs/${job_id}`, '{"params":{"n":1e400}}')
  expect([status, JSON.parse(text)]).toMatchObject([
    422,
    { code: 'inexact_number', path: 'params.n', becomes: 'Infinity' },
  ])
  expect((await viewer.jobs.get(job_id)).params).toEqual({ n: 1 })
})

test('every other number comes back as JavaScript writes it, from the params and from the result', async () => {
  const { ask, post, scheduler, viewer } = await openRaw()
  await scheduler.start()
  const sent = `{"a":1e21,"b":-0,"c":5e-324,"d":9007199254740991,"e":0.10000000000000001,"f":1E2,"text":"${HUGE}"}`
  const stored = `{"a":1e+21,"b":0,"c":5e-324,"d":9007199254740991,"e":0.1,"f":100,"text":"${HUGE}"}`
  const accepted = await post('/api/jobs', `{"type":"echo","params":${sent}}`)
  expect(accepted.status).toBe(201)
  const { job_id } = JSON.parse(accepted.text) as { job_id: string }
  await scheduler.settled(job_id)
  const [run] = (await viewer.jobs.runs(job_id)).items
  const { text } = await ask('GET', `/api/job-runs/${run?.run_id}`)
  expect(text).toContain(`"params_snapshot":${stored}`)
  expect(text).toContain(`"result":${stored}`)
})

test('the result of a body comes back digit for digit', async () => {
  const { post, scheduler } = await openRaw()
  await scheduler.start()
  const { status, text } = await post('/api/direct/odd', '{}')
  expect(status).toBe(200)
  expect(text).toContain('"result":[1e+21,0,5e-324,1e+23,123456789012345680000,0.30000000000000004]')
})

test('a BigInt is refused by the library, with what to do', async () => {
  const { scheduler } = await openRaw()
  await expect(scheduler.enqueue('echo', { id: 12345678901234567890n })).rejects.toMatchObject({
    code: 'unserialisable_params',
    message: 'Expected params that can be written as JSON, but a BigInt has no JSON form: give it as text.',
  })
})
