// What is asked for in one turn of the event loop goes to the server together, and in its order.
import { Client, type PoolClient } from 'pg'
import { expect, test } from 'vitest'
import { endOf, NOW, newId, newJob, newJobs, newNode } from '../../src/store/conformance/fixtures.ts'
import type { ClaimedJob } from '../../src/store/runs.ts'
import { type PgPool, postgres } from '../../src/stores/postgres/index.ts'
import { newSchema, postgresUrl } from './schemas.ts'
import { type Question, WatchedPool } from './watched-pool.ts'

class RecordingPool extends WatchedPool {
  readonly refused: unknown[] = []
  /** How many statements that accept Jobs each connection was sent. */
  readonly accepting = new Map<PoolClient, number>()

  constructor() {
    super({ connectionString: postgresUrl(), max: 5, pipeline: true } as object)
  }

  protected override answering(client: PoolClient): (question: Question) => Promise<unknown> {
    return (question) => {
      if (question.text.includes('.jobs (')) this.accepting.set(client, (this.accepting.get(client) ?? 0) + 1)
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

/** How many connections wait for a lock on the table of Runs. */
async function waitingFor(client: Client, schema: string): Promise<number> {
  const { rows } = await client.query(
    `select count(distinct pid)::integer as waiting from pg_locks where not granted and relation = '"${schema}".runs'::regclass`,
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
  await stage.store.enqueueJobs(newJobs(3), NOW)
  const [first, ...others] = (await stage.claim(3)).jobs
  // The first end of a node learns what the others know.
  await stage.store.finishRuns([endOf(first as ClaimedJob)], newId)
  const holder = new Client({ connectionString: postgresUrl() })
  await holder.connect()
  await holder.query('begin')
  await holder.query(`lock table "${schema}".runs in exclusive mode`)
  // Together they have taken longer than can be counted, which the server sees when it has written all else. In the same transaction:
  // a Job with a name, by a statement that the connection does not know yet.
  const refused = stage.store
    .finishRuns(
      others.map((job) => endOf(job, { finishedAt: 9e18 })),
      newId,
    )
    .catch((error: unknown) => error)
  const alongside = stage.store.enqueueJobs([newJob({ name: 'first' })], NOW)
  await expect.poll(() => waitingFor(holder, schema)).toBe(1)
  const behind = stage.store.enqueueJobs([newJob({ name: 'second' })], NOW)
  await turn()
  await turn()
  await holder.query('rollback')
  await holder.end()
  expect(await Promise.all([alongside, behind])).toMatchObject([{ kind: 'enqueued' }, { kind: 'enqueued' }])
  expect(await refused).toBeInstanceOf(Error)
})

test('those who ask together go through one connection, also when a claim comes between their halves', async () => {
  await using stage = await open()
  await stage.store.enqueueJobs([newJob()], NOW)
  await stage.claim(1)
  stage.pool.accepting.clear()
  const accepted = Promise.all(newJobs(40).map((job) => stage.store.enqueueJobs([job], NOW)))
  await turn()
  // More places than the halves share their connection with.
  const claimed = stage.claim(290)
  await accepted
  await claimed
  expect([...stage.pool.accepting.values()]).toEqual([2])
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
