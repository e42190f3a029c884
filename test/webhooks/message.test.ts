import { resolve } from 'node:path'
import { Webhook as Verifier } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { SettableClock } from '../../src/testing/index.ts'
import { burn, openReceiver, openStage, type Received, write } from './stage.ts'

// Receivers refuse what was signed more than five minutes from their own time, so these tests begin at it.
const startNow = () => new SettableClock(systemClock.now())

test('the message has the run at the top, and the whole job and run', async () => {
  const receiver = await openReceiver()
  const paint = defineJob({
    type: 'paint',
    retry: { maxRetries: 2, backoff: { kind: 'fixed', delayMs: 500 } },
    timeoutMs: 60_000,
    run: ({ addArtifact, progress }) => {
      addArtifact('picture.png', { name: 'The picture' })
      progress(1, 'dry')
      return { colours: 3 }
    },
  })
  await using stage = await openStage({ jobs: [paint], clock: new SettableClock(Date.UTC(2026, 4, 1)) })
  const { scheduler } = stage
  await scheduler.webhooks.create({ url: receiver.url, events: ['job.run.completed'] })
  const { jobId } = await scheduler.enqueue(paint, { size: 'large' }, { name: 'Sunset', tags: ['art'], priority: 3 })
  await stage.runUntilIdle()
  const run = {
    run_id: (await scheduler.findRunOfJob(jobId))?.runId,
    job_id: jobId,
    chain_id: jobId,
    job_type: 'paint',
    attempt: 1,
    status: 'COMPLETED',
    reason: null,
    params_snapshot: { size: 'large' },
    template_id: null,
    started_at: '2026-05-01T00:00:00.000Z',
    finished_at: '2026-05-01T00:00:00.000Z',
    duration_ms: 0,
    node: scheduler.nodeId,
    exit_code: null,
    error: null,
    result: { colours: 3 },
    artifacts: [resolve('picture.png')],
    log_path: null,
    progress: { fraction: 1, message: 'dry' },
  }
  const { position } = await scheduler.getJob(jobId)
  const job = {
    job_id: jobId,
    job_type: 'paint',
    name: 'Sunset',
    status: 'FINISHED',
    hold: null,
    outcome: 'COMPLETED',
    params: { size: 'large' },
    priority: 3,
    position,
    attempt: 1,
    chain_id: jobId,
    retry_of: null,
    error_retries: 0,
    crash_retries: 0,
    template_id: null,
    schedule_id: null,
    slot_at: null,
    group_id: null,
    depends_on: [],
    on_parent_failure: null,
    business_key: null,
    idempotency_key: null,
    timeout_ms: 60_000,
    retry_policy: { max_retries: 2, max_crash_retries: 3, backoff: { kind: 'fixed', delay_ms: 500 } },
    resources: [],
    tags: ['art'],
    created_by: null,
    created_at: '2026-05-01T00:00:00.000Z',
    queued_at: '2026-05-01T00:00:00.000Z',
    run_at: '2026-05-01T00:00:00.000Z',
    started_at: '2026-05-01T00:00:00.000Z',
    finished_at: '2026-05-01T00:00:00.000Z',
    cancel_requested_at: null,
    cancel_reason: null,
  }
  expect(receiver.received.map(({ message }) => message)).toEqual([
    { event: 'job.run.completed', will_retry: false, at: '2026-05-01T00:00:00.000Z', ...run, job, run },
  ])
})

test('a failed run says why', async () => {
  const receiver = await openReceiver()
  await using stage = await openStage()
  await stage.scheduler.webhooks.create({ url: receiver.url, events: ['job.run.failed'] })
  await stage.scheduler.enqueue(burn, null)
  await stage.runUntilIdle()
  const [message] = receiver.about('job.run.failed')
  expect(message).toMatchObject({ status: 'FAILED', reason: 'error', error: 'no paper left', artifacts: [] })
  expect(message?.job.retry_policy.backoff).toEqual({ kind: 'fixed', delay_ms: 10_000 })
})

test('the url of a job is told to nobody else', async () => {
  const receiver = await openReceiver()
  const own = await openReceiver()
  await using stage = await openStage()
  await stage.scheduler.webhooks.create({ url: receiver.url })
  await stage.scheduler.enqueue(write, null, { webhookUrl: own.url })
  await stage.runUntilIdle()
  expect(receiver.received).toHaveLength(2)
  for (const { text } of receiver.received) expect(text).not.toContain(own.url)
})

test('each attempt has the same id and the same text, and a signature of its own time', async () => {
  const receiver = await openReceiver((_one, nth) => (nth === 1 ? 500 : 204))
  await using stage = await openStage({ clock: startNow() })
  const { secret } = await stage.scheduler.webhooks.create({ url: receiver.url, events: ['job.settled'] })
  const { jobId } = await stage.scheduler.enqueue(write, null)
  await stage.advance('5s')
  const [first, second] = receiver.received as [Received, Received]
  expect(second.id).toBe(first.id)
  expect(second.text).toBe(first.text)
  expect(Number(second.headers['webhook-timestamp'])).toBe(Number(first.headers['webhook-timestamp']) + 5)
  expect(second.headers['webhook-signature']).not.toBe(first.headers['webhook-signature'])
  for (const one of [first, second]) expect(verify(secret, one)).toMatchObject({ event: 'job.settled', job_id: jobId })
})

test('a message is signed with the secret of its webhook, and with no other', async () => {
  const [ours, theirs] = [await openReceiver(), await openReceiver()]
  await using stage = await openStage({ clock: startNow() })
  const { secret } = await stage.scheduler.webhooks.create({ url: ours.url })
  const { secret: other } = await stage.scheduler.webhooks.create({ url: theirs.url })
  await stage.scheduler.enqueue(write, null)
  await stage.runUntilIdle()
  expect(secret).toMatch(/^whsec_/)
  expect(other).not.toBe(secret)
  const [one] = ours.received as [Received]
  expect(verify(secret, one)).toBeTruthy()
  expect(() => verify(other, one)).toThrow()
  expect(() => verify(secret, { ...one, text: one.text.replace('false', 'true') })).toThrow()
})

test('during a rotation both secrets sign, after a day only the new one', async () => {
  const receiver = await openReceiver()
  await using stage = await openStage({ clock: startNow() })
  const { scheduler, clock } = stage
  const { webhookId, secret: old } = await scheduler.webhooks.create({ url: receiver.url, events: ['job.settled'] })
  const { secret, previousUntil } = await scheduler.webhooks.rotateSecret(webhookId)
  expect(previousUntil).toBe(clock.now() + 24 * 3_600_000)
  await scheduler.enqueue(write, 1)
  await stage.runUntilIdle()
  const [during] = receiver.received as [Received]
  expect(verify(old, during)).toEqual(verify(secret, during))
  await stage.advance('24h')
  await scheduler.enqueue(write, 2)
  await stage.runUntilIdle()
  const [, after] = receiver.received as [Received, Received]
  expect(after.headers['webhook-signature']?.split(' ')).toHaveLength(1)
  const verifier = (key: string) => () => new Verifier(key).sign(after.id, timeOf(after), after.text)
  expect(verifier(secret)()).toBe(after.headers['webhook-signature'])
  expect(verifier(old)()).not.toBe(after.headers['webhook-signature'])
})

test("a job's own url is signed with the default secret, which can be rotated too", async () => {
  const receiver = await openReceiver()
  await using stage = await openStage({ clock: startNow() })
  const { scheduler } = stage
  await scheduler.enqueue(write, 1, { webhookUrl: receiver.url })
  await stage.runUntilIdle()
  const old = await scheduler.webhooks.defaultSecret()
  expect(old).toMatch(/^whsec_/)
  expect(await scheduler.webhooks.defaultSecret()).toBe(old)
  for (const one of receiver.received) expect(verify(old, one)).toBeTruthy()
  const { secret } = await scheduler.webhooks.rotateDefaultSecret()
  expect(await scheduler.webhooks.defaultSecret()).toBe(secret)
  await scheduler.enqueue(write, 2, { webhookUrl: receiver.url })
  await stage.runUntilIdle()
  const later = receiver.received.slice(2)
  expect(later).toHaveLength(2)
  for (const one of later) expect(verify(old, one)).toEqual(verify(secret, one))
})

function verify(secret: string, { text, headers }: Received): unknown {
  return new Verifier(secret).verify(text, { ...headers })
}

function timeOf({ headers }: Received): Date {
  return new Date(Number(headers['webhook-timestamp']) * 1000)
}
