import { describe, expect, it, vi } from 'vitest'
import type { Role } from '../../src/domain/role.ts'
import { defineJob } from '../../src/library/define-job.ts'
import { EventReader } from './server-events.ts'
import { asProblem, openStage, PATIENCE, problemOf, type Stage } from './server-stage.ts'

const SECRET = 'hunter2'

/** A Job that tells its secret in every way there is, and one that fails with it. */
const telling = defineJob({
  type: 'telling',
  run({ log, progress }) {
    log.info(`the word is ${SECRET}`, { word: SECRET })
    progress(0.5, SECRET)
    return { word: SECRET }
  },
})
const failing = defineJob({
  type: 'failing',
  retry: { maxRetries: 0 },
  run: () => Promise.reject(new Error(`wrong: ${SECRET}`)),
})
const skipping = defineJob({ type: 'skipping', run: ({ skip }) => skip(SECRET) })

async function openSecretive(
  redact: 'viewer' | 'operator' | false,
): Promise<Stage & Record<Role, Record<string, string>>> {
  const stage = await openStage({ redact, scheduler: { jobs: [telling, failing, skipping] } })
  const as = async (role: Role) => ({ authorization: `Bearer ${(await stage.newKey(role)).key}` })
  return { ...stage, viewer: await as('viewer'), operator: await as('operator'), admin: await as('admin') }
}

/** Everything that can be read of what happened. */
async function readEverything({ get, viewer, admin }: Awaited<ReturnType<typeof openSecretive>>, headers = viewer) {
  const jobs = (await get('/api/jobs', admin)).body['items'] as { job_id: string }[]
  const runs = (await get('/api/job-runs', admin)).body['items'] as { run_id: string }[]
  const paths = [
    '/api/jobs',
    '/api/job-runs',
    '/api/job-templates',
    '/api/schedules',
    '/api/reservations',
    '/api/audit',
    ...jobs.flatMap(({ job_id }) =>
      ['', '/runs', '/chain', '/why', '/logs', '/output', '/children'].map((rest) => `/api/jobs/${job_id}${rest}`),
    ),
    ...runs.flatMap(({ run_id }) => ['', '/logs', '/output'].map((rest) => `/api/job-runs/${run_id}${rest}`)),
  ]
  const answers = []
  for (const path of paths) answers.push({ path, ...(await get(path, headers)) })
  return answers
}

async function makeThingsHappen(stage: Awaited<ReturnType<typeof openSecretive>>): Promise<void> {
  const { post, admin, scheduler } = stage
  const params = { word: SECRET }
  await post('/api/job-templates', { name: 'told', job_type: 'telling', default_params: params }, admin)
  await post('/api/schedules', { name: 'daily', type: 'telling', cron: '@daily', param_overrides: params }, admin)
  for (const type of ['telling', 'failing', 'skipping']) await post('/api/jobs', { type, params }, admin)
  await scheduler.start()
  await post('/api/direct/telling', { params }, admin)
  await vi.waitFor(async () => {
    expect((await stage.get('/api/jobs?status=FINISHED', admin)).body['items']).toHaveLength(3)
  }, PATIENCE)
}

describe('what a key may not see', () => {
  it('is in no answer, and everything else is', async () => {
    const stage = await openSecretive('viewer')
    await makeThingsHappen(stage)
    for (const { path, status, text } of await readEverything(stage)) {
      expect({ path, status }).toEqual({ path, status: 200 })
      expect({ path, tells: text.includes(SECRET) }).toEqual({ path, tells: false })
    }
    const [job] = (await stage.get('/api/jobs?type=failing', stage.viewer)).body['items'] as { job_id: string }[]
    expect(job).toMatchObject({ params: null, redacted: true, job_type: 'failing', outcome: 'FAILED' })
    const run = (await stage.get(`/api/jobs/${job?.job_id}/runs`, stage.viewer)).body['items']
    expect(run).toMatchObject([{ error: '[redacted]', params_snapshot: null, reason: 'error', redacted: true }])
    expect((await stage.get('/api/session', stage.viewer)).body['rights']).toMatchObject({ see_payloads: false })
    // Who may see it does.
    const seen = (await readEverything(stage, stage.operator)).filter(({ text }) => text.includes(SECRET))
    expect(seen.length).toBeGreaterThan(15)
    expect((await stage.get('/api/session', stage.operator)).body['rights']).toMatchObject({ see_payloads: true })
  })

  it('may be what an operator may not either', async () => {
    const stage = await openSecretive('operator')
    await makeThingsHappen(stage)
    for (const { path, text } of await readEverything(stage, stage.operator)) {
      expect({ path, tells: text.includes(SECRET) }).toEqual({ path, tells: false })
    }
    for (const type of ['telling', 'failing', 'skipping']) {
      const { text } = await stage.post(`/api/direct/${type}`, {}, stage.operator)
      expect({ type, tells: text.includes(SECRET) }).toEqual({ type, tells: false })
    }
    expect((await stage.get('/api/jobs', stage.admin)).text).toContain(SECRET)
  })

  it('is in no event', async () => {
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const long = defineJob({
      type: 'long',
      async run({ progress }) {
        progress(0.5, SECRET)
        await released
      },
    })
    const stage = await openStage({ redact: 'viewer', scheduler: { jobs: [long] } })
    const open = async (role: Role) => {
      const { key } = await stage.newKey(role)
      return new EventReader(stage.port, '/api/events', { 'x-api-key': key }).opened()
    }
    const [viewer, admin] = [await open('viewer'), await open('admin')]
    await stage.scheduler.enqueue('long', {})
    await stage.scheduler.start()
    const messageIn = (reader: EventReader) =>
      reader.events.find(({ event }) => event === 'run.progress')?.data['message']
    await vi.waitFor(() => expect([messageIn(viewer), messageIn(admin)]).toEqual(['[redacted]', SECRET]), PATIENCE)
    release()
  })

  it('cannot be found out by searching for it', async () => {
    const { get, viewer, operator } = await openSecretive('viewer')
    for (const query of ['params_path=word', 'params_path=word&params_value=h', 'error=h']) {
      expect(problemOf(await get(`/api/jobs?${query}`, viewer)), query).toEqual(asProblem(403, 'forbidden'))
      expect((await get(`/api/jobs?${query}`, operator)).status).toBe(200)
    }
  })

  it('cannot be found out by a bulk operation either, nor is it in the filter of one', async () => {
    const { get, post, operator, admin } = await openSecretive('operator')
    for (const filter of [{ params_path: 'word', params_value: SECRET }, { error: SECRET }]) {
      for (const dry_run of [true, false]) {
        const asked = { kind: 'retry', filter, dry_run }
        expect(problemOf(await post('/api/operations', asked, operator))).toEqual(asProblem(403, 'forbidden'))
      }
      expect((await post('/api/operations', { kind: 'retry', filter }, admin)).status).toBe(201)
    }
    expect((await get('/api/operations', admin)).text).toContain(SECRET)
    const { status, text } = await get('/api/operations', operator)
    expect([status, text.includes(SECRET)]).toEqual([200, false])
    expect((await get('/api/audit', admin)).text).not.toContain(SECRET)
  })

  it('is seen by all unless somebody said otherwise', async () => {
    const stage = await openSecretive(false)
    await makeThingsHappen(stage)
    expect((await stage.get('/api/jobs', stage.viewer)).text).toContain(SECRET)
    expect((await stage.get('/api/jobs', stage.viewer)).text).not.toContain('redacted')
  })
})
