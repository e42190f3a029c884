// Pruning, and making anew what is derived, while others prune, enqueue, retry and execute.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DERIVED } from '../../src/store/checks.ts'
import { createGroup, idsOf } from '../../src/store/conformance/composition-steps.ts'
import { endOf, failed, HOUR, NOW, newId, newJob, newJobs, newRetry } from '../../src/store/conformance/fixtures.ts'
import { assertNoFault } from '../../src/store/conformance/no-fault.ts'
import { type Stage, takeStage } from '../../src/store/conformance/stage.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { giveBackSchema, postgresUrl, takeSchema } from './schemas.ts'

let schema: string
let here: Stage
let there: Stage

beforeEach(async () => {
  schema = takeSchema()
  const open = async () => takeStage(await postgres(postgresUrl(), { schema }).open())
  here = await open()
  there = await open()
})

afterEach(async () => {
  await here.store.close()
  await there.store.close()
  await giveBackSchema(schema)
})

/** Executes everything that can start. Every third Job fails, without a retry. */
async function executeAll(stage: Stage): Promise<void> {
  for (;;) {
    const jobs = await stage.claim({ now: NOW + HOUR })
    if (jobs.length === 0) return
    const ends = jobs.map((job, index) => endOf(job, index % 3 === 0 ? { outcome: failed() } : {}))
    await stage.store.finishRuns(ends, newId)
  }
}

async function pruneAll({ store }: Stage): Promise<{ jobs: number; groups: number }> {
  const removed = { jobs: 0, groups: 0 }
  for (let cursor: string | null = null; ; ) {
    const page = await store.pruneChains({ endedBefore: NOW + 9 * HOUR, limit: 7, cursor })
    removed.jobs += page.jobsRemoved
    removed.groups += page.groupsRemoved
    if (page.nextCursor === null) return removed
    cursor = page.nextCursor
  }
}

test('several prune at once: each chain and each group goes once, and none is left', async () => {
  for (let count = 0; count < 10; count++) await createGroup(here, newJobs(5))
  await here.enqueue(newJobs(50, { tags: ['a', 'b'] }))
  await executeAll(here)
  const pruned = await Promise.all([pruneAll(here), pruneAll(there), pruneAll(here), pruneAll(there)])
  // Who meets a chain that another one is removing passes over it.
  expect(pruned.reduce((sum, { jobs }) => sum + jobs, 0)).toBe(100)
  expect(pruned.reduce((sum, { groups }) => sum + groups, 0)).toBe(10)
  expect((await here.store.listJobs({ limit: 10 }, NOW)).items).toEqual([])
  expect((await here.store.listGroups({ limit: 10 })).items).toEqual([])
  await assertNoFault(here.store)
})

test('whoever is named as a parent, or retried, while others prune, is there or is not: nobody waits for nothing', async () => {
  const parents = newJobs(60)
  await here.enqueue(parents)
  await executeAll(here)
  const children: string[] = []
  const nameParents = async () => {
    for (const parentId of idsOf(parents)) {
      const child = newJob({ dependsOn: [parentId], onParentFailure: 'wait' })
      const result = await there.store.enqueueJobs([child], NOW)
      if (result.kind === 'enqueued') children.push(child.jobId)
    }
  }
  const retryThem = async () => {
    for (const jobId of idsOf(parents).toReversed()) {
      await here.store.retryByHand({ by: { jobId }, newJobId: newId(), priority: null, now: NOW + HOUR })
    }
  }
  const pruned = await Promise.all([nameParents(), retryThem(), pruneAll(here), pruneAll(there)])
  expect(pruned[2].jobs + pruned[3].jobs).toBeGreaterThan(0)
  expect(children.length).toBeGreaterThan(0)
  await assertNoFault(here.store)
  await executeAll(here)
  await assertNoFault(here.store)
})

test('making anew what is derived finds nothing wrong, however much others write meanwhile', async () => {
  let isOver = false
  const write = async (stage: Stage) => {
    for (let count = 0; count < 15; count++) {
      const key = newJob({ businessKey: `${stage.nodeId} ${count}`, tags: ['a', 'b'] })
      const [parent] = await stage.enqueue([key])
      await stage.enqueue([newJob({ dependsOn: [parent] }), newJob({ dependsOn: [parent], onParentFailure: 'run' })])
      await createGroup(stage, newJobs(3), { mode: 'sequential' })
      for (const job of await stage.claim()) {
        const isRetried = count % 2 === 0
        const retry = isRetried ? newRetry({ runAt: NOW }) : null
        await stage.store.finishRuns([endOf(job, { outcome: failed('timeout'), retry, body: 'executing' })], newId)
        await stage.release(job.claim)
      }
      while (await stage.store.hasCascades()) {
        await stage.store.applyCascade({ nodeId: stage.nodeId, now: NOW, newId, limit: 100 })
      }
    }
  }
  const mend = async () => {
    const found: [string, number][] = []
    while (!isOver) {
      for (const what of DERIVED) found.push([what, await here.store.rebuild(what, NOW)])
      await assertNoFault(here.store)
    }
    return found.filter(([, rows]) => rows > 0)
  }
  const mending = mend()
  await Promise.all([write(here), write(there)]).finally(() => {
    isOver = true
  })
  expect(await mending).toEqual([])
  await assertNoFault(here.store)
})
