// What is asked for in one turn of the event loop goes to the server together, and in its order.
import type { PoolClient } from 'pg'
import { expect, test } from 'vitest'
import { NOW, newId, newJob, newJobs, newNode } from '../../src/store/conformance/fixtures.ts'
import { type PgPool, postgres } from '../../src/stores/postgres/index.ts'
import { newSchema, postgresUrl } from './schemas.ts'
import { type Question, WatchedPool } from './watched-pool.ts'

class RecordingPool extends WatchedPool {
  readonly refused: unknown[] = []

  constructor() {
    super({ connectionString: postgresUrl(), max: 5, pipeline: true } as object)
  }

  protected override answering(client: PoolClient): (question: Question) => Promise<unknown> {
    return (question) => {
      const answer = client.query(question)
      answer.catch((error) => this.refused.push(error))
      return answer
    }
  }
}

async function open() {
  const pool = new RecordingPool()
  const store = await postgres(pool as unknown as PgPool, { schema: newSchema(), listen: false }).open()
  const node = newNode({ concurrency: 100 })
  await store.registerNode(node)
  return {
    pool,
    store,
    claim: (limit: number) =>
      store.claimJobs({ nodeId: node.nodeId, now: NOW, limit, types: new Map([['story', limit]]), newRunId: newId }),
    async [Symbol.asyncDispose]() {
      await store.close()
      await pool.end()
    },
  }
}

test('two claims of one turn are both answered, and none is refused by the server', async () => {
  await using stage = await open()
  await stage.store.enqueueJobs(newJobs(8), NOW)
  // The first claim of a store learns what the others know.
  await stage.claim(1)
  const [first, second] = await Promise.all([stage.claim(3), stage.claim(3)])
  expect(new Set([...first.jobs, ...second.jobs].map(({ claim }) => claim.jobId)).size).toBe(6)
  expect(stage.pool.refused).toEqual([])
})

test('a claim of one turn with enqueues and another claim: none is refused by the server', async () => {
  await using stage = await open()
  await stage.store.enqueueJobs(newJobs(8), NOW)
  await stage.claim(1)
  const enqueues = newJobs(30).map((job) => stage.store.enqueueJobs([job], NOW))
  const [first, second] = await Promise.all([stage.claim(3), stage.claim(3), ...enqueues])
  expect([...first.jobs, ...second.jobs]).toHaveLength(6)
  expect(stage.pool.refused).toEqual([])
})

test('jobs that are asked for in one turn stand in the queue in that order', async () => {
  await using stage = await open()
  await stage.store.enqueueJobs([newJob()], NOW)
  for (const count of [19, 20, 120, 700]) {
    const jobs = newJobs(count)
    await Promise.all(jobs.map((job) => stage.store.enqueueJobs([job], NOW)))
    const queue = (await stage.store.listQueue(1_000, NOW)).slice(-count)
    expect(queue.map(({ jobId }) => jobId)).toEqual(jobs.map(({ jobId }) => jobId))
  }
})
