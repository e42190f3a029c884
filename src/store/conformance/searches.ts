import assert from 'node:assert/strict'
import type { Job } from '../../domain/job.ts'
import type { JobFilter } from '../jobs.ts'
import { failed, HOUR, NOW, newJob, newJobs, newRetry, SECOND, skipped } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { readAll } from './lists.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

type Search = Omit<JobFilter, 'limit' | 'cursor'>

/** So many Jobs that a page cannot look at all of them. */
const MANY = 2_200

export function testSearches({ test }: Kit): void {
  test('ended Jobs are found by what came of them, with and without everything else', async (stage) => {
    const all = await jobsOfEveryOutcome(stage)
    for (const outcome of ['COMPLETED', 'FAILED', 'SKIPPED'] as const) {
      for (const rest of [
        {},
        { type: 'poem' },
        { tag: 'red' },
        { type: 'poem', tag: 'red' },
        { createdBefore: NOW + HOUR },
      ]) {
        for (const status of [{}, { status: 'FINISHED' as const }, { status: 'CANCELLED' as const }]) {
          const wanted = all.filter(
            (job) =>
              job.outcome === outcome &&
              (!('type' in rest) || job.type === rest.type) &&
              (!('tag' in rest) || job.tags.includes('red')) &&
              (!('status' in status) || job.status === status.status),
          )
          const found = await search(stage, { outcome, ...rest, ...status })
          assertSame(
            found.toSorted(),
            wanted.map(({ jobId }) => jobId).toSorted(),
            JSON.stringify({ outcome, rest, status }),
          )
        }
      }
    }
  })

  test('with an outcome alone the latest start comes first', async (stage) => {
    const ids: string[] = []
    for (let index = 0; index < 4; index++) {
      const job = await stage.start(newJob(), { now: NOW + (4 - index) * SECOND })
      await stage.finish(job, { outcome: failed(), finishedAt: NOW + HOUR })
      ids.push(job.claim.jobId)
    }
    assertSame(await search(stage, { outcome: 'FAILED' }), ids)
  })

  test('Jobs are found by what their params have at a path', async (stage) => {
    const texts = [
      '{"user":{"id":42,"name":"Ada"}}',
      '{"user":{"id":"42"}}',
      '{"user":null,"list":[true,{"x":1.5}]}',
      '"user"',
      'null',
    ]
    const [number, text, list] = await stage.enqueue(texts.map((params) => newJob({ params })))
    const at = (path: string, value?: string) =>
      search(stage, { paramsPath: path.split('.'), ...(value !== undefined && { paramsValue: value }) })
    assertSame(await at('user.id'), [text, number])
    assertSame(await at('user.id', '42'), [text, number])
    assertSame(await at('user.id', '42.0'), [number])
    assertSame(await at('user.name', 'Ada'), [number])
    assertSame(await at('user.name', 'ada'), [])
    assertSame(await at('user', 'null'), [list])
    assertSame(await at('list.0', 'true'), [list])
    assertSame(await at('list.1.x', '1.5'), [list])
    assertSame(await at('length'), [])
    assertSame(await at('__proto__'), [])
    assertSame(await search(stage, { status: 'QUEUED', paramsPath: ['user', 'id'] }), [number, text])
    assertSame(await search(stage, { status: 'RUNNING', paramsPath: ['user', 'id'] }), [])
  })

  test('Jobs are found by a text in the error of their Run', async (stage) => {
    const refused = await stage.start(newJob())
    await stage.finish(refused, { outcome: { ...failed(), error: 'ECONNREFUSED at 10.0.0.7 (50%)' } })
    const other = await stage.start(newJob())
    await stage.finish(other, { outcome: { ...failed(), error: 'no luck' } })
    await stage.finish(await stage.start(newJob()))
    await stage.enqueue([newJob()])
    assertSame(await search(stage, { error: 'econnrefused' }), [refused.claim.jobId])
    assertSame(await search(stage, { error: '(50%)', outcome: 'FAILED' }), [refused.claim.jobId])
    assertSame(await search(stage, { error: '%' }), [refused.claim.jobId])
    assertSame(await search(stage, { error: 'luck', type: 'story' }), [other.claim.jobId])
    assertSame(await search(stage, { error: 'luck', paramsPath: ['nothing'] }), [])
  })

  test('Jobs are found by when they were accepted, wherever that is', async (stage) => {
    const ids: string[] = []
    for (let hour = 0; hour < 30; hour++) ids.push(...(await stage.enqueue([newJob()], NOW + hour * HOUR)))
    const between = (from: number, before: number) => ids.slice(from, before).toReversed()
    const at = (hour: number) => NOW + hour * HOUR
    assertSame(await search(stage, { createdFrom: at(10) }), between(10, 30))
    assertSame(await search(stage, { createdBefore: at(10) }), between(0, 10))
    assertSame(await search(stage, { createdFrom: at(10), createdBefore: at(20) }), between(10, 20))
    assertSame(await search(stage, { createdFrom: at(29) + 1 }), [])
    assertSame(await search(stage, { createdBefore: at(0) }), [])
    assertSame(
      await search(stage, { status: 'QUEUED', createdFrom: at(10), createdBefore: at(12) }),
      between(10, 12).toReversed(),
    )
  })

  test('a page looks at a bounded number of Jobs, and the next ones find the rest', async (stage) => {
    const [oldest] = await stage.enqueue([newJob({ params: '{"rare":1}' })])
    await stage.enqueue(newJobs(MANY))
    const filter = { paramsPath: ['rare'], limit: 10 }
    const first = await stage.store.listJobs(filter, NOW)
    assertSame(first.items, [])
    assert.notEqual(first.nextCursor, null, 'more may follow')
    const second = await stage.store.listJobs({ ...filter, cursor: first.nextCursor }, NOW)
    assertSame([second.items.map(({ jobId }) => jobId), second.nextCursor], [[oldest], null])
    // What is older than asked for is not looked at.
    const ended = await stage.store.listJobs({ ...filter, createdFrom: NOW + HOUR }, NOW)
    assertSame(ended, { items: [], nextCursor: null })
  })

  test('a Job tells the latest Jobs of the chains that depend on its chain', async (stage) => {
    const parent = newJob()
    const [first, second, third] = [
      newJob({ dependsOn: [parent.jobId] }),
      newJob({ dependsOn: [parent.jobId] }),
      newJob(),
    ]
    await stage.enqueue([parent, first, second, third])
    const children = async (jobId: string, limit = 10, cursor: string | null = null) => {
      const page = await stage.store.listChildren(jobId, { limit, cursor }, NOW)
      return { ids: page?.items.map((job) => job.jobId), next: page?.nextCursor }
    }
    assertSame(await children(parent.jobId), { ids: [first.jobId, second.jobId], next: null })
    assertSame(await children(third.jobId), { ids: [], next: null })
    assertSame(await stage.store.listChildren('none', { limit: 1, cursor: null }, NOW), null)
    const page = await children(parent.jobId, 1)
    assertSame(page.ids, [first.jobId])
    assertSame(await children(parent.jobId, 1, page.next), { ids: [second.jobId], next: null })
    const job = await stage.claimOne({ limit: 1 })
    const retry = newRetry()
    await stage.finish(job, { outcome: failed(), retry })
    const again = await stage
      .claimOne({ limit: 1, types: new Map([['story', 1]]), now: NOW + SECOND })
      .catch(() => null)
    assertSame(await children(again?.claim.jobId ?? retry.jobId), { ids: [first.jobId, second.jobId], next: null })
  })

  test('failed Runs are listed without what they hold, the latest start first', async (stage) => {
    const ids: string[] = []
    for (let index = 0; index < 3; index++) {
      const now = NOW + index * SECOND
      const job = await stage.start(newJob({ type: 'poem' }), { now })
      const error = index === 1 ? 'x'.repeat(3_000) : `no ink ${index}`
      await stage.finish(job, { outcome: { ...failed(), error }, finishedAt: now + 1 })
      ids.push(job.claim.jobId)
    }
    await stage.finish(await stage.start(newJob()))
    const found = await stage.store.listFailedRuns(0, 10)
    assertSame(
      found.map(({ jobId }) => jobId),
      ids.toReversed(),
    )
    const [latest, long] = found
    assertSame([latest?.type, latest?.reason, latest?.error], ['poem', 'error', 'no ink 2'])
    assertSame([latest?.startedAt, latest?.finishedAt], [NOW + 2 * SECOND, NOW + 2 * SECOND + 1])
    assert.equal(long?.error.length, 2_000)
    assertSame((await stage.store.listFailedRuns(NOW + SECOND, 10)).length, 2)
    assertSame((await stage.store.listFailedRuns(0, 1)).length, 1)
  })

  test('the times of Runs are told of those that have ended, the latest start first', async (stage) => {
    const early = await stage.start(newJob(), { now: NOW + SECOND })
    await stage.finish(early, { finishedAt: NOW + HOUR })
    const late = await stage.start(newJob(), { now: NOW + 2 * SECOND })
    await stage.finish(late, { outcome: failed(), finishedAt: NOW + 3 * SECOND })
    await stage.start(newJob(), { now: NOW + 4 * SECOND })
    const times = await stage.store.listRunTimes(0, 10)
    assertSame(times, [
      { status: 'FAILED', runAt: NOW, startedAt: NOW + 2 * SECOND, finishedAt: NOW + 3 * SECOND },
      { status: 'COMPLETED', runAt: NOW, startedAt: NOW + SECOND, finishedAt: NOW + HOUR },
    ])
    assertSame((await stage.store.listRunTimes(NOW + 2 * SECOND, 10)).length, 1)
    assertSame((await stage.store.listRunTimes(0, 1)).length, 1)
  })

  test('what has ended is counted up to a number', async (stage) => {
    assertSame(await stage.store.countEnded(10), { finished: 0, cancelled: 0 })
    for (let index = 0; index < 3; index++) await stage.finish(await stage.start(newJob()))
    const [cancelled] = await stage.enqueue([newJob()])
    await stage.cancel(cancelled)
    await stage.start(newJob({ type: 'poem' }))
    assertSame(await stage.store.countEnded(10), { finished: 3, cancelled: 1 })
    assertSame(await stage.store.countEnded(2), { finished: 2, cancelled: 1 })
  })
}

async function jobsOfEveryOutcome(stage: Stage): Promise<readonly Job[]> {
  for (const type of ['story', 'poem']) {
    for (const tags of [[], ['red']]) {
      for (const outcome of [undefined, failed(), skipped(), failed('cancelled')]) {
        const job = await stage.start(newJob({ type, tags }))
        await stage.finish(job, outcome === undefined ? {} : { outcome })
      }
      await stage.start(newJob({ type, tags }))
    }
  }
  await stage.enqueue([newJob({ tags: ['red'], runAt: NOW + HOUR })])
  return readAll((cursor) => stage.store.listJobs({ limit: 50, cursor }, NOW))
}

/** All that is found, read in small pages. */
async function search(stage: Stage, filter: Search): Promise<string[]> {
  const jobs = await readAll((cursor) => stage.store.listJobs({ ...filter, limit: 3, cursor }, NOW))
  return jobs.map(({ jobId }) => jobId)
}
