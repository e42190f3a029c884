// What is asked for in one turn of the event loop goes to the server together, and in its order.
import { Client, type PoolClient } from 'pg'
import { expect, test } from 'vitest'
import { RUNNING_LIMIT } from '../../src/domain/limits.ts'
import { NOW, newId, newJob, newJobs, newNode } from '../../src/store/conformance/fixtures.ts'
import type { NewJob } from '../../src/store/jobs.ts'
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

/** The same on connections of Pawl's own, which prepare statements. */
async function openPrepared(schema: string) {
  const store = await postgres(postgresUrl(), { schema, listen: false }).open()
  const node = newNode({ concurrency: 100 })
  await store.registerNode(node)
  return {
    store,
    claim: (limit: number) =>
      store.claimJobs({ nodeId: node.nodeId, now: NOW, limit, types: new Map([['story', limit]]), newRunId: newId }),
    [Symbol.asyncDispose]: () => store.close(),
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** How many connections wait for a lock on the table of Jobs. */
async function waitingFor(client: Client, schema: string): Promise<number> {
  const { rows } = await client.query(
    `select count(distinct pid)::integer as waiting from pg_locks where not granted and relation = '"${schema}".jobs'::regclass`,
  )
  return rows[0].waiting
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

test('a transaction that the server refuses takes none along that was sent behind it on the same connection', async () => {
  const schema = newSchema()
  await using stage = await openPrepared(schema)
  const [taken] = newJobs(1)
  await stage.store.enqueueJobs([taken as NewJob, ...newJobs(8)], NOW)
  const holder = new Client({ connectionString: postgresUrl() })
  await holder.connect()
  await holder.query('begin')
  await holder.query(`lock table "${schema}".jobs in exclusive mode`)
  // Accepted and claimed in one transaction, as two statements that the connection does not know yet. The first cannot be written.
  const refused = expect(stage.store.enqueueJobs([taken as NewJob], NOW)).rejects.toThrow()
  const alongside = stage.claim(3)
  await expect.poll(() => waitingFor(holder, schema)).toBe(1)
  const behind = stage.store.enqueueJobs(newJobs(1), NOW)
  const claimedBehind = stage.claim(3)
  await turn()
  await turn()
  await holder.query('rollback')
  await holder.end()
  await refused
  expect((await behind).kind).toBe('enqueued')
  expect(new Set([...(await alongside).jobs, ...(await claimedBehind).jobs].map(({ claim }) => claim.jobId)).size).toBe(
    6,
  )
})

test('a claim that comes between the halves of those who ask together changes nothing in their order', async () => {
  await using stage = await open()
  await stage.store.enqueueJobs([newJob()], NOW)
  await stage.claim(1)
  for (let round = 0; round < 10; round++) {
    const jobs = newJobs(40)
    const accepted = Promise.all(jobs.map((job) => stage.store.enqueueJobs([job], NOW)))
    await turn()
    // Too many places for the connection that the halves share.
    const claimed = stage.claim(290)
    await accepted
    const started = (await claimed).jobs.map(({ claim }) => claim.jobId)
    const queue = await stage.store.listQueue(1_000, NOW)
    const inOrder = [...started, ...queue.map(({ jobId }) => jobId)]
    expect(inOrder).toEqual(jobs.map(({ jobId }) => jobId))
    await stage.claim(290)
  }
})

test('two claims of one turn under a limit take from the head of the queue one after the other', async () => {
  await using stage = await open()
  await stage.store.setLimit(RUNNING_LIMIT, 100)
  const jobs = newJobs(40)
  await stage.store.enqueueJobs(jobs, NOW)
  const [first, second] = await Promise.all([stage.claim(20), stage.claim(20)])
  expect([...first.jobs, ...second.jobs].map(({ claim }) => claim.jobId)).toEqual(jobs.map(({ jobId }) => jobId))
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
