import assert from 'node:assert/strict'
import { PawlError } from '../../domain/errors.ts'
import type { Job } from '../../domain/job.ts'
import type { Run } from '../../domain/run.ts'
import type { JobFilter, Page } from '../jobs.ts'
import type { RunFilter } from '../runs.ts'
import { createGroup } from './composition-steps.ts'
import { failed, HOUR, jobTaking, NOW, newJob, newJobs, newRetry, SECOND, skipped } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { readAll } from './lists.ts'
import { assertSame } from './same.ts'
import { newTemplate } from './schedule-fixtures.ts'
import type { Stage } from './stage.ts'

type JobFilters = Omit<JobFilter, 'limit' | 'cursor'>
type RunFilters = Omit<RunFilter, 'limit' | 'cursor'>

/** So many Jobs that a page cannot look at all of them. */
const MANY = 2_200

export function testListFilters({ test }: Kit): void {
  test('a Job is found by each of its tags, and so are its retries', async (stage) => {
    const job = await stage.start(newJob({ tags: ['red', 'no. 1 "ünique"'] }))
    const [other] = await stage.enqueue([newJob({ tags: ['red', 'red'], type: 'poem' })])
    await stage.enqueue([newJob({ type: 'poem' })])
    const retry = newRetry({ runAt: NOW + HOUR })
    await stage.finish(job, { outcome: failed(), retry })
    assertSame(await jobIds(stage, { tag: 'red' }), [retry.jobId, other, job.claim.jobId])
    assertSame(await jobIds(stage, { tag: 'no. 1 "ünique"' }), [retry.jobId, job.claim.jobId])
    assertSame(await jobIds(stage, { tag: 'RED' }), [])
    await stage.cancel(retry.jobId)
    const byHand = newJob().jobId
    await stage.store.retryByHand({ by: { jobId: retry.jobId }, newJobId: byHand, priority: null, now: NOW + 2 })
    assertSame(await jobIds(stage, { tag: 'red' }), [byHand, retry.jobId, other, job.claim.jobId])
  })

  test('a pruned Job is not found by its tags', async (stage) => {
    const job = await stage.start(newJob({ tags: ['red', 'blue'] }))
    await stage.finish(job, { outcome: failed(), retry: newRetry() })
    await stage.finish(await stage.claimOne({ now: NOW + SECOND }))
    const kept = await stage.start(newJob({ tags: ['red'] }))
    await stage.store.pruneChains({ endedBefore: NOW + HOUR, limit: 10, cursor: null })
    assertSame(await jobIds(stage, { tag: 'red' }), [kept.claim.jobId])
    assertSame(await jobIds(stage, { tag: 'blue' }), [])
  })

  test('Jobs of a type are listed in one order, whatever resources they take', async (stage) => {
    const takes = [[], ['ink'], ['gpu'], [], ['gpu', 'ink'], ['ink'], []]
    const ids = await stage.enqueue(takes.map((resources) => jobTaking(resources)))
    await stage.enqueue([newJob({ type: 'poem' }), jobTaking(['ink'], { type: 'poem' })])
    assertSame(await jobIds(stage, { type: 'story' }), ids.toReversed())
    assertSame(await jobIds(stage, { type: 'story', status: 'QUEUED' }), ids)
  })

  test('the QUEUED Jobs of a type are listed in the order of the queue, also those that wait', async (stage) => {
    const parent = newJob({ type: 'poem' })
    const delayed = newJob({ runAt: NOW + HOUR, priority: 5 })
    const waiting = newJob({ dependsOn: [parent.jobId], priority: 1 })
    const urgent = newJob({ priority: 9 })
    const taking = jobTaking(['ink'], { priority: 5 })
    const last = newJob({ priority: -1, runAt: NOW + HOUR })
    await stage.enqueue([parent, last, delayed, waiting, urgent, taking])
    const expected = [urgent, delayed, taking, waiting, last].map(({ jobId }) => jobId)
    for (const limit of [1, 2, 10]) {
      assertSame(await jobIds(stage, { type: 'story', status: 'QUEUED' }, limit), expected)
    }
  })

  test('any filters together find what all of them find, in pages of any size', async (stage) => {
    const { all, filters } = await jobsOfEveryKind(stage)
    const queue = await stage.queue()
    for (const filter of filters) {
      const expected = all.filter((job) => matches(job, filter)).map(({ jobId }) => jobId)
      if (filter.status === 'QUEUED') expected.sort((a, b) => queue.indexOf(a) - queue.indexOf(b))
      for (const limit of [1, 3, 50]) {
        assertSame(await jobIds(stage, filter, limit), expected, `${JSON.stringify(filter)} in pages of ${limit}`)
      }
    }
  })

  test('what two filters share is found among many that only one of them finds', async (stage) => {
    const [first, second] = await stage.enqueue([newJob({ tags: ['red'] }), newJob({ tags: ['red'] })])
    for (let made = 0; made < MANY; made += 200) {
      await stage.enqueue([...newJobs(200), ...newJobs(200, { type: 'poem', tags: ['red'] })])
    }
    const [last] = await stage.enqueue([newJob({ tags: ['red', 'blue'], priority: -9 })])
    for (const limit of [2, 200]) {
      assertSame(await jobIds(stage, { type: 'story', tag: 'red' }, limit), [last, second, first])
      assertSame(await jobIds(stage, { type: 'story', tag: 'red', status: 'QUEUED' }, limit), [first, second, last])
      assertSame(await jobIds(stage, { type: 'poem', tag: 'blue' }, limit), [])
    }
  })

  test('what has ended is found behind many that still wait', async (stage) => {
    const done = await stage.start(newJob({ tags: ['red'] }))
    const aborted = await stage.start(newJob({ tags: ['red'] }))
    await stage.finish(done)
    await stage.finish(aborted, { outcome: failed('cancelled') })
    await stage.enqueue(newJobs(MANY, { tags: ['red'] }))
    const running = await stage.claimOne({ limit: 1 })
    for (const filter of [{}, { type: 'story' }, { tag: 'red' }]) {
      assertSame(await jobIds(stage, { ...filter, status: 'FINISHED' }), [done.claim.jobId])
      assertSame(await jobIds(stage, { ...filter, status: 'CANCELLED' }), [aborted.claim.jobId])
      assertSame(await jobIds(stage, { ...filter, status: 'RUNNING' }), [running.claim.jobId])
    }
    assertSame(await runIds(stage, { type: 'story', status: 'COMPLETED' }), [done.claim.runId])
  })

  test('Runs are listed by type, newest Job first, and by type and status', async (stage) => {
    const { runs } = await runsOfEveryKind(stage)
    for (const type of ['story', 'poem', 'song']) {
      for (const status of [undefined, 'COMPLETED', 'FAILED', 'SKIPPED'] as const) {
        const expected = runs.filter((run) => run.type === type && (status === undefined || run.status === status))
        const filter = status === undefined ? { type } : { type, status }
        for (const limit of [1, 2, 50]) assertSame(await runIds(stage, filter, limit), expected.map(idOf))
      }
    }
  })

  test('Runs are listed by status, the latest start first', async (stage) => {
    const { runs } = await runsOfEveryKind(stage)
    const byStart = runs.toSorted((a, b) => b.startedAt - a.startedAt)
    for (const status of ['COMPLETED', 'FAILED', 'SKIPPED'] as const) {
      const expected = byStart.filter((run) => run.status === status).map(idOf)
      for (const limit of [1, 2, 50]) assertSame(await runIds(stage, { status }, limit), expected)
    }
  })

  test('the Run of a Job is listed alone, if it is as asked for', async (stage) => {
    const job = await stage.start()
    await stage.finish(job)
    const { jobId, runId } = job.claim
    assertSame(await runIds(stage, { jobId, type: 'story', status: 'COMPLETED' }), [runId])
    assertSame(await runIds(stage, { jobId, type: 'poem' }), [])
    assertSame(await runIds(stage, { jobId, status: 'FAILED' }), [])
  })

  test('a cursor of another list is refused or does no harm', async (stage) => {
    await runsOfEveryKind(stage)
    await stage.enqueue(newJobs(3, { tags: ['red'] }))
    const jobFilters: JobFilters[] = [{}, { status: 'QUEUED' }, { type: 'story', status: 'QUEUED' }, { tag: 'red' }]
    const runFilters: RunFilters[] = [{}, { type: 'story' }, { status: 'FAILED' }, { jobId: 'none' }]
    const lists = [
      ...jobFilters.map((filter) => (cursor: string | null) => listJobs(stage, { ...filter, limit: 1, cursor })),
      ...runFilters.map((filter) => (cursor: string | null) => listRuns(stage, { ...filter, limit: 1, cursor })),
    ]
    const cursors = await Promise.all(lists.map(async (list) => (await list(null)).nextCursor))
    const odd = ['', ':', '1:', 'x', '-1', '1:2:3', '9'.repeat(16), '01900000-0000-7000-8000-000000000001', '1 ', '1e3']
    for (const cursor of [...cursors, ...odd]) {
      for (const list of lists) await answersOrRefuses(() => list(cursor))
    }
  })
}

async function answersOrRefuses(list: () => Promise<Page<unknown>>): Promise<void> {
  try {
    const { items } = await list()
    assert.ok(items.length <= 1)
  } catch (error) {
    assert.ok(error instanceof PawlError && error.code === 'invalid_option', String(error))
  }
}

function listJobs(stage: Stage, filter: JobFilter): Promise<Page<Job>> {
  return stage.store.listJobs(filter, NOW)
}

function listRuns(stage: Stage, filter: RunFilter): Promise<Page<Run>> {
  return stage.store.listRuns(filter)
}

async function jobIds(stage: Stage, filter: JobFilters, limit = 2): Promise<string[]> {
  const jobs = await readAll((cursor) => listJobs(stage, { ...filter, limit, cursor }))
  return jobs.map(({ jobId }) => jobId)
}

async function runIds(stage: Stage, filter: RunFilters, limit = 2): Promise<string[]> {
  return (await readAll((cursor) => listRuns(stage, { ...filter, limit, cursor }))).map(idOf)
}

function idOf({ runId }: Run): string {
  return runId
}

function matches(job: Job, filter: JobFilters): boolean {
  const { status, type, tag, templateId, scheduleId, groupId } = filter
  return (
    (status === undefined || job.status === status) &&
    (type === undefined || job.type === type) &&
    (tag === undefined || job.tags.includes(tag)) &&
    (templateId === undefined || job.templateId === templateId) &&
    (scheduleId === undefined || job.scheduleId === scheduleId) &&
    (groupId === undefined || job.groupId === groupId)
  )
}

/** Jobs in every status with and without everything that can be asked for, newest first, and all ways to ask. */
async function jobsOfEveryKind(stage: Stage): Promise<{ all: readonly Job[]; filters: readonly JobFilters[] }> {
  const template = newTemplate()
  await stage.store.createTemplate(template)
  const { templateId } = template
  const kinds = [{}, { templateId }, { scheduleId: 'nightly' }, { templateId, scheduleId: 'nightly' }]
  const marked = (type: string) =>
    kinds.flatMap((kind) => [newJob({ ...kind, type }), newJob({ ...kind, type, tags: ['red'] })])
  const batch = () => [...marked('story'), ...marked('poem'), jobTaking(['ink'], { tags: ['red', 'blue'] })]
  const groupId = await createGroup(stage, batch(), { onFailure: 'continue' })
  await stage.enqueue(batch())
  const claimed = await stage.claim({ limit: 24 })
  for (const [index, job] of claimed.entries()) {
    if (index % 3 === 0) await stage.finish(job)
    else if (index % 3 === 1) await stage.finish(job, { outcome: failed('cancelled') })
  }
  const queued = await stage.enqueue(batch())
  for (const jobId of queued.filter((_, index) => index % 4 === 0)) await stage.cancel(jobId)
  const all = await readAll((cursor) => listJobs(stage, { limit: 50, cursor }))
  const either = <Value>(value: Value) => [undefined, value]
  const filters: JobFilters[] = []
  for (const status of [undefined, 'QUEUED', 'RUNNING', 'FINISHED', 'CANCELLED'] as const)
    for (const type of either('story'))
      for (const tag of either('red'))
        for (const template of either(templateId))
          for (const scheduleId of either('nightly'))
            for (const group of either(groupId)) {
              const asked = { status, type, tag, templateId: template, scheduleId, groupId: group }
              filters.push(Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined)))
            }
  return { all, filters }
}

/** Runs of two types with every outcome, newest Job first. Later Jobs started earlier. */
async function runsOfEveryKind(stage: Stage): Promise<{ runs: readonly Run[] }> {
  const ids: string[] = []
  const make = [newJob, () => newJob({ type: 'poem' }), () => jobTaking(['ink'])]
  for (let index = 0; index < 12; index++) {
    const job = (make[index % make.length] as typeof newJob)()
    const now = NOW + (12 - index) * SECOND
    const claimed = await stage.start(job, { now })
    const outcomes = [{}, { outcome: failed() }, { outcome: skipped() }]
    const outcome = outcomes[(index + Math.floor(index / 3)) % 4]
    if (outcome !== undefined) await stage.finish(claimed, { ...outcome, finishedAt: now })
    ids.push(claimed.claim.runId)
    await stage.enqueue([newJob({ runAt: NOW + HOUR })])
  }
  return { runs: await Promise.all(ids.toReversed().map((runId) => stage.run(runId))) }
}
