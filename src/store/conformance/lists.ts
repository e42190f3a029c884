import assert from 'node:assert/strict'
import type { Job } from '../../domain/job.ts'
import type { Run } from '../../domain/run.ts'
import type { JobFilter, Page } from '../jobs.ts'
import type { RunFilter } from '../runs.ts'
import { failed, HOUR, NOW, newJob, newJobs } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

export function testLists({ test }: Kit): void {
  test('an empty store lists nothing', async ({ store }) => {
    assertSame(await store.listJobs({ limit: 10 }, NOW), { items: [], nextCursor: null })
    assertSame(await store.listRuns({ limit: 10 }), { items: [], nextCursor: null })
  })

  test('Jobs are listed newest first, each as it is found alone', async (stage) => {
    const ids = await stage.enqueue([newJob(), newJob({ priority: 5 }), newJob({ priority: -5 })])
    const { items, nextCursor } = await stage.store.listJobs({ limit: 10 }, NOW)
    assertSame(items, await Promise.all(ids.toReversed().map((id) => stage.job(id))))
    assert.equal(nextCursor, null)
  })

  test('pages of Jobs have neither gaps nor doubles, while new Jobs come', async (stage) => {
    const ids = await stage.enqueue(newJobs(7))
    const listed = await readAll(
      (cursor) => jobs(stage, { limit: 3, cursor }),
      async () => {
        await stage.enqueue(newJobs(2))
      },
    )
    assertSame(
      listed.map(({ jobId }) => jobId),
      ids.toReversed(),
    )
  })

  test('a last page that is full ends the list too', async (stage) => {
    const ids = await stage.enqueue(newJobs(4))
    const listed = await readAll((cursor) => jobs(stage, { limit: 2, cursor }))
    assertSame(
      listed.map(({ jobId }) => jobId),
      ids.toReversed(),
    )
  })

  test('Jobs are listed by status and by type, also in pages', async (stage) => {
    const running = await stage.start(newJob({ type: 'poem' }))
    const done = await stage.start(newJob({ type: 'poem' }))
    await stage.finish(done)
    const [a, b, c] = await stage.enqueue([newJob(), newJob({ type: 'poem' }), newJob()])
    const [cancelled] = await stage.enqueue([newJob()])
    await stage.cancel(cancelled)
    const list = async (filter: Partial<JobFilter>) =>
      (await readAll((cursor) => jobs(stage, { limit: 1, ...filter, cursor }))).map(({ jobId }) => jobId)
    assertSame(await list({ status: 'QUEUED' }), [a, b, c])
    assertSame(await list({ status: 'RUNNING' }), [running.claim.jobId])
    assertSame(await list({ status: 'FINISHED' }), [done.claim.jobId])
    assertSame(await list({ status: 'CANCELLED' }), [cancelled])
    assertSame(await list({ type: 'poem' }), [b, done.claim.jobId, running.claim.jobId])
    assertSame(await list({ type: 'poem', status: 'QUEUED' }), [b])
    assertSame(await list({ type: 'song' }), [])
  })

  test('Runs are listed newest first, each as it is found alone', async (stage) => {
    // The first to come is the last to start.
    await stage.enqueue([newJob({ type: 'poem', runAt: NOW + HOUR })])
    const [first, second] = [await stage.start(), await stage.start(newJob(), { now: NOW + 1 })]
    const started = [first, second, await stage.claimOne({ now: NOW + HOUR })]
    const { items, nextCursor } = await stage.store.listRuns({ limit: 10 })
    assertSame(items, await Promise.all(started.toReversed().map(({ claim }) => stage.run(claim.runId))))
    assert.equal(nextCursor, null)
  })

  test('pages of Runs have neither gaps nor doubles, while new Runs start', async (stage) => {
    const started: string[] = []
    for (let count = 0; count < 5; count++) started.push((await stage.start()).claim.runId)
    const listed = await readAll(
      (cursor) => runs(stage, { limit: 2, cursor }),
      async () => {
        await stage.start()
      },
    )
    assertSame(
      listed.map(({ runId }) => runId),
      started.toReversed(),
    )
  })

  test('Runs are listed by Job and by status', async (stage) => {
    const [open, done, broken] = [await stage.start(), await stage.start(), await stage.start()]
    await stage.finish(done)
    await stage.finish(broken, { outcome: failed() })
    const list = async (filter: Partial<RunFilter>) =>
      (await readAll((cursor) => runs(stage, { limit: 1, ...filter, cursor }))).map(({ runId }) => runId)
    assertSame(await list({ jobId: open.claim.jobId }), [open.claim.runId])
    assertSame(await list({ status: 'COMPLETED' }), [done.claim.runId])
    assertSame(await list({ status: 'FAILED' }), [broken.claim.runId])
    assertSame(await list({ status: 'SKIPPED' }), [])
    assertSame(await list({ status: 'FAILED', jobId: done.claim.jobId }), [])
  })
}

function jobs(stage: Stage, filter: JobFilter): Promise<Page<Job>> {
  return stage.store.listJobs(filter, NOW)
}

function runs(stage: Stage, filter: RunFilter): Promise<Page<Run>> {
  return stage.store.listRuns(filter)
}

const PAGES_MAX = 100

/** Follows the cursors to the end, with something happening between the pages. */
export async function readAll<Item>(
  read: (cursor: string | null) => Promise<Page<Item>>,
  between: () => Promise<void> = async () => {},
): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | null = null
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer: Page<Item> = await read(cursor)
    items.push(...answer.items)
    cursor = answer.nextCursor
    if (cursor === null) return items
    await between()
  }
  assert.fail(`the list does not end within ${PAGES_MAX} pages`)
}
