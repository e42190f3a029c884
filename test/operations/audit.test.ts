// Who asked for which change is written in the transaction of the change.
import { describe, expect, test } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { DOOR } from '../../src/library/door.ts'
import { createKey, revokeKey } from '../../src/operations/api-keys.ts'
import { auditedContext, listAudit, recordAudit } from '../../src/operations/audit.ts'
import { cancelJob } from '../../src/operations/cancel-job.ts'
import type { OperationContext } from '../../src/operations/context.ts'
import { createSchedule } from '../../src/operations/create-schedule.ts'
import { createTemplate } from '../../src/operations/create-template.ts'
import { runDirect } from '../../src/operations/direct.ts'
import { editJob } from '../../src/operations/edit-job.ts'
import { enqueueJobs } from '../../src/operations/enqueue-jobs.ts'
import { readEnqueueOptions } from '../../src/operations/enqueue-options.ts'
import { createGroup } from '../../src/operations/groups.ts'
import { moveJob } from '../../src/operations/move-job.ts'
import { pruneHistory } from '../../src/operations/prune-history.ts'
import { retryJob } from '../../src/operations/retry-job.ts'
import { triggerSchedule } from '../../src/operations/trigger-schedule.ts'
import { openTestScheduler } from '../../src/testing/test-scheduler.ts'
import { openStage, refusalOf, type Stage } from './stage.ts'

const asked = { actor: 'key:ada', action: 'job.enqueue', subject: null } as const

function listed(stage: Stage, count: number, options: Parameters<typeof readEnqueueOptions>[2] = {}) {
  const request = readEnqueueOptions('note', null, options, stage.clock.now())
  return Array.from({ length: count }, () => ({ ...request, ref: null }))
}

/** The newest entry, as far as it says what was done. */
async function newest(stage: Stage): Promise<readonly [string | null, number, unknown]> {
  const [entry] = (await listAudit(stage.context, { limit: 1 })).items
  const { subject = null, others = 0, details = null } = entry ?? {}
  return [subject, others, details === null ? null : JSON.parse(details)]
}

async function count(stage: Stage): Promise<number> {
  return (await listAudit(stage.context, { limit: 200 })).items.length
}

describe('an audited request', () => {
  test('says who, what, when and of what', async () => {
    await using stage = await openStage()
    const [job] = await enqueueJobs(auditedContext(stage.context, asked), listed(stage, 1))
    const jobId = job?.jobId ?? ''
    const cancel = { actor: 'cli:bob', action: 'job.cancel', subject: jobId, details: { mode: 'graceful' } }
    await cancelJob(auditedContext(stage.context, cancel), jobId)
    const at = stage.clock.now()
    expect((await listAudit(stage.context)).items).toEqual([
      {
        auditId: '2',
        at,
        actor: 'cli:bob',
        action: 'job.cancel',
        subject: jobId,
        others: 0,
        details: '{"mode":"graceful"}',
      },
      { auditId: '1', at, actor: 'key:ada', action: 'job.enqueue', subject: jobId, others: 0, details: null },
    ])
  })

  test('names the first of what it made and lists the others', async () => {
    await using stage = await openStage()
    const jobs = await enqueueJobs(auditedContext(stage.context, asked), listed(stage, 3))
    const ids = jobs.map(({ jobId }) => jobId)
    expect(await newest(stage)).toEqual([ids[0], 2, { made: ids.slice(1) }])
    await enqueueJobs(auditedContext(stage.context, asked), listed(stage, 100))
    const [, others, details] = await newest(stage)
    expect([others, (details as { made: unknown[] }).made.length]).toEqual([99, 19])
  })

  test('names the group, not its members', async () => {
    await using stage = await openStage()
    const group = await createGroup(auditedContext(stage.context, asked), {}, listed(stage, 2))
    expect(await newest(stage)).toEqual([group.groupId, 2, { made: group.items.map(({ jobId }) => jobId) }])
  })

  test('names whatever else it makes', async () => {
    await using stage = await openStage()
    const context = () => auditedContext(stage.context, asked)
    const template = await createTemplate(context(), { name: 't', type: 'note', defaultParams: {} })
    expect(await newest(stage)).toEqual([template.templateId, 0, null])
    const schedule = await createSchedule(context(), { name: 's', type: 'note', everyMs: 60_000 })
    expect(await newest(stage)).toEqual([schedule.scheduleId, 0, null])
    const { apiKey } = await createKey(context(), { name: 'ci', role: 'admin' })
    expect(await newest(stage)).toEqual([apiKey.keyId, 0, null])
  })

  test('of a schedule or of a Job that makes a Job names both', async () => {
    await using stage = await openStage()
    const { scheduleId } = await createSchedule(stage.context, { name: 's', type: 'note', everyMs: 60_000 })
    const triggered = await triggerSchedule(
      auditedContext(stage.context, { ...asked, subject: scheduleId }),
      scheduleId,
    )
    expect(await newest(stage)).toEqual([scheduleId, 1, { made: [triggered.jobId] }])
    await cancelJob(stage.context, triggered.jobId)
    const subject = triggered.jobId
    const retried = await retryJob(auditedContext(stage.context, { ...asked, subject }), { jobId: subject })
    expect(await newest(stage)).toEqual([subject, 1, { made: [retried.jobId] }])
  })

  test('that changes nothing leaves nothing: refused, too late, or answered before', async () => {
    await using stage = await openStage()
    const jobId = await stage.enqueue('note', null, { idempotencyKey: 'k' })
    const context = () => auditedContext(stage.context, { ...asked, subject: jobId })
    await enqueueJobs(context(), listed(stage, 1, { idempotencyKey: 'k' }))
    expect((await refusalOf(() => editJob(context(), jobId, {}))).code).toBe('invalid_option')
    expect((await refusalOf(() => editJob(context(), jobId, { priority: 1, version: 'old' }))).code).toBe('conflict')
    expect((await refusalOf(() => cancelJob(context(), 'nobody'))).code).toBe('job_not_found')
    expect((await refusalOf(() => retryJob(context(), { jobId }))).code).toBe('not_retryable')
    await stage.claim(['note'])
    expect((await refusalOf(() => editJob(context(), jobId, { priority: 1 }))).code).toBe('job_not_queued')
    expect(await count(stage)).toBe(0)
  })

  test('that cancels a Job which runs leaves its note too', async () => {
    await using stage = await openStage()
    const jobId = await stage.enqueue('note', null)
    await stage.claim(['note'])
    const { kind } = await cancelJob(
      auditedContext(stage.context, { ...asked, action: 'job.cancel', subject: jobId }),
      jobId,
    )
    expect(kind).toBe('requested')
    expect(await newest(stage)).toEqual([jobId, 0, null])
  })

  test('that needs two transactions leaves a note in each that changed something', async () => {
    await using stage = await openStage()
    const [first, ...others] = await enqueueJobs(stage.context, listed(stage, 4))
    const target = { after: first?.jobId ?? '' }
    const move = (context: OperationContext, index: number) => moveJob(context, others[index]?.jobId ?? '', target)
    for (let round = 0; round < 20; round++) await move(stage.context, round % 3)
    await move(auditedContext(stage.context, { ...asked, action: 'job.move', subject: others[2]?.jobId ?? '' }), 2)
    const { items } = await listAudit(stage.context)
    expect(items.length).toBeGreaterThan(0)
    expect(new Set(items.map(({ subject, action }) => `${action} ${subject}`))).toEqual(
      new Set([`job.move ${others[2]?.jobId}`]),
    )
  })
})

test('a direct execution is noted with its reservation, and only when it was taken', async () => {
  const echo = defineJob({ type: 'echo', run: ({ params }) => params })
  await using stage = await openTestScheduler({ jobs: [echo] })
  const { context, directs } = stage.scheduler[DOOR]
  const audited = () => auditedContext(context, { ...asked, action: 'direct.run' })
  const { reservationId, result } = await runDirect(audited(), directs, 'echo', 'hello')
  expect(result).toBe('hello')
  await stage.scheduler.stop()
  expect((await refusalOf(() => runDirect(audited(), directs, 'echo', null))).code).toBe('no_node')
  const { items } = await listAudit(context)
  expect(items.map(({ action, subject, others }) => [action, subject, others])).toEqual([
    ['direct.run', reservationId, 0],
  ])
})

test('what changes nothing in the store can be noted too', async () => {
  await using stage = await openStage()
  await recordAudit(stage.context, {
    actor: 'key:ada',
    action: 'scheduler.stop',
    subject: 'node-1',
    details: { timeout: 3 },
  })
  const [entry] = (await listAudit(stage.context)).items
  expect(entry).toMatchObject({ action: 'scheduler.stop', subject: 'node-1', others: 0, details: '{"timeout":3}' })
})

test('entries are found by what they concern and by who asked', async () => {
  await using stage = await openStage()
  const jobId = await stage.enqueue('note', null)
  const by = (actor: string, action: string) => auditedContext(stage.context, { actor, action, subject: jobId })
  await editJob(by('key:ada', 'job.edit'), jobId, { priority: 1 })
  await editJob(by('key:bob', 'job.edit'), jobId, { priority: 2 })
  await cancelJob(by('key:ada', 'job.cancel'), jobId)
  await enqueueJobs(auditedContext(stage.context, asked), listed(stage, 1))
  const actions = async (options: Parameters<typeof listAudit>[1]) =>
    (await listAudit(stage.context, options)).items.map(({ actor, action }) => `${actor} ${action}`)
  expect(await actions({ subject: jobId })).toEqual(['key:ada job.cancel', 'key:bob job.edit', 'key:ada job.edit'])
  expect(await actions({ actor: 'key:bob' })).toEqual(['key:bob job.edit'])
  expect(await actions({ subject: jobId, actor: 'key:ada' })).toEqual(['key:ada job.cancel', 'key:ada job.edit'])
  expect((await refusalOf(() => listAudit(stage.context, { subject: '' }))).path).toBe('subject')
  expect((await refusalOf(() => listAudit(stage.context, { cursor: 'x' }))).path).toBe('cursor')
})

test('a secret of a key is in no entry', async () => {
  await using stage = await openStage()
  const { key, apiKey } = await createKey(auditedContext(stage.context, asked), { name: 'ci', role: 'admin' })
  await revokeKey(auditedContext(stage.context, { ...asked, subject: apiKey.keyId }), apiKey.keyId)
  const text = JSON.stringify((await listAudit(stage.context)).items)
  expect(text).not.toContain(key.slice(5))
})

describe('pruning', () => {
  test('removes entries as old as the history it removes', async () => {
    await using stage = await openStage()
    for (let index = 0; index < 450; index++) await recordAudit(stage.context, { ...asked, subject: `${index}` })
    stage.clock.set(stage.clock.now() + 1_000)
    await recordAudit(stage.context, { ...asked, subject: 'new' })
    expect(await pruneHistory(stage.context, { olderThanMs: 1_000 })).toMatchObject({ auditRemoved: 0 })
    expect(await pruneHistory(stage.context, { olderThanMs: 999 })).toMatchObject({ auditRemoved: 450 })
    expect((await listAudit(stage.context)).items.map(({ subject }) => subject)).toEqual(['new'])
  })

  test('that is noted itself comes to an end', async () => {
    await using stage = await openStage()
    for (let index = 0; index < 450; index++) await recordAudit(stage.context, { ...asked, subject: `${index}` })
    const context = auditedContext(stage.context, { ...asked, action: 'history.prune' })
    stage.clock.set(stage.clock.now() + 1)
    const { auditRemoved } = await pruneHistory(context, { olderThanMs: 0 })
    expect(auditRemoved).toBeGreaterThanOrEqual(450)
    expect((await listAudit(stage.context)).items.map(({ action }) => action)).toContain('history.prune')
  })
})
