// The list of the Jobs of a type is written many Jobs at a time. Nobody who reads it can tell.
import { describe, expect, test } from 'vitest'
import { newJob, newJobs } from '../../src/store/conformance/fixtures.ts'
import type { Store } from '../../src/store/store.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { newDatabasePath, withHandle } from './stage.ts'

const NOW = 1_000
/** More than are entered at once, and no multiple of it. */
const MANY = 1_300

function countEntered(path: string): { entered: number; upTo: number } {
  return withHandle(path, (handle) => ({
    ...(handle.prepare('select count(*) as entered from pawl_lane_jobs').get() as { entered: number }),
    ...(handle.prepare("select value as upTo from pawl_counters where name = 'last_lane_job'").get() as {
      upTo: number
    }),
  }))
}

async function listed(store: Store, type: string, limit: number): Promise<string[]> {
  const ids: string[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await store.listJobs({ type, limit, ...(cursor === undefined ? {} : { cursor }) }, NOW)
    ids.push(...page.items.map(({ jobId }) => jobId))
    if (page.nextCursor === null) return ids
    cursor = page.nextCursor
  }
}

describe('Jobs that are accepted one by one', () => {
  test('are found by their type at every moment, newest first and once each, in whatever pages', async () => {
    const path = newDatabasePath()
    const [store, other] = [await sqlite(path).open(), await sqlite(path).open()]
    const ids = { story: [] as string[], poem: [] as string[] }
    for (let n = 0; n < MANY; n++) {
      const type = n % 7 === 0 ? 'poem' : 'story'
      const job = newJob({ type })
      // Two processes take turns, and each knows what the other has entered.
      await (n % 2 === 0 ? store : other).enqueueJobs([job], NOW)
      ids[type].unshift(job.jobId)
      if (n % 250 === 249) expect(await listed(other, 'poem', 20)).toEqual(ids.poem)
    }
    expect(await listed(store, 'story', 200)).toEqual(ids.story)
    expect(await listed(store, 'poem', 3)).toEqual(ids.poem)
    expect(countEntered(path)).toEqual({ entered: 1_024, upTo: 1_024 })
    await Promise.all([store.close(), other.close()])
  })

  test('are not entered when their transaction is taken back', async () => {
    const path = newDatabasePath()
    const store = await sqlite(path).open()
    withHandle(path, (handle) => {
      handle.exec('begin immediate')
      expect(store.enqueueJobsWithin(handle, newJobs(MANY), NOW)).toMatchObject({ kind: 'enqueued' })
      handle.exec('rollback')
    })
    expect(countEntered(path)).toEqual({ entered: 0, upTo: 0 })
    const jobs = newJobs(MANY)
    withHandle(path, (handle) => {
      handle.exec('begin immediate')
      expect(store.enqueueJobsWithin(handle, jobs, NOW)).toMatchObject({ kind: 'enqueued' })
      handle.exec('commit')
    })
    expect(countEntered(path)).toEqual({ entered: MANY, upTo: MANY })
    expect(await listed(store, 'story', 200)).toEqual(jobs.map(({ jobId }) => jobId).toReversed())
    await store.close()
  })

  test('are found though one before them was refused, and its number was given to them', async () => {
    const path = newDatabasePath()
    const store = await sqlite(path).open()
    const jobs = newJobs(511)
    await store.enqueueJobs(jobs, NOW)
    const refused = newJobs(700, { dependsOn: ['nobody'] })
    expect(await store.enqueueJobs(refused, NOW)).toMatchObject({ kind: 'refused' })
    withHandle(path, (handle) => {
      handle.exec('begin immediate')
      expect(store.enqueueJobsWithin(handle, refused, NOW)).toMatchObject({ kind: 'refused' })
      handle.exec('commit')
    })
    expect(countEntered(path)).toEqual({ entered: 0, upTo: 0 })
    const next = newJobs(1)
    await store.enqueueJobs(next, NOW)
    expect(await listed(store, 'story', 200)).toEqual([...jobs, ...next].map(({ jobId }) => jobId).toReversed())
    expect(countEntered(path)).toEqual({ entered: 512, upTo: 512 })
    await store.close()
  })

  test('are accepted also where the list is damaged, and are found', async () => {
    const path = newDatabasePath()
    const store = await sqlite(path).open()
    withHandle(path, (handle) => handle.exec('insert into pawl_lane_jobs values (1, 100)'))
    const jobs = newJobs(600)
    await store.enqueueJobs(jobs, NOW)
    expect(await listed(store, 'story', 200)).toHaveLength(600)
    withHandle(path, (handle) => handle.exec("delete from pawl_counters where name = 'last_lane_job'"))
    await store.enqueueJobs(newJobs(600), NOW)
    expect(withHandle(path, (handle) => handle.prepare('select * from pawl_counters').all())).toEqual([])
    await store.close()
  })

  test('leave the list when they are pruned, entered or not', async () => {
    const path = newDatabasePath()
    const store = await sqlite(path).open()
    const jobs = newJobs(MANY)
    await store.enqueueJobs(jobs, NOW)
    const late = newJobs(10)
    await store.enqueueJobs(late, NOW)
    const gone = [...jobs.slice(0, 5), ...late.slice(0, 5)]
    for (const { jobId } of gone) await store.cancelJob({ jobId, mode: 'graceful', reason: null, now: NOW })
    for (let cursor: string | null = null; ; ) {
      const page = await store.pruneChains({ endedBefore: NOW + 1, limit: 1_000, cursor })
      if (page.nextCursor === null) break
      cursor = page.nextCursor
    }
    const kept = [...jobs.slice(5), ...late.slice(5)].map(({ jobId }) => jobId)
    expect(await listed(store, 'story', 200)).toEqual(kept.toReversed())
    expect(countEntered(path)).toEqual({ entered: MANY - 5, upTo: MANY })
    await store.close()
  })
})
