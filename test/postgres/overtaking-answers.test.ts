import type { PoolClient } from 'pg'
import { expect, test } from 'vitest'
import { NOW, newJob } from '../../src/store/conformance/fixtures.ts'
import { type PgPool, postgres } from '../../src/stores/postgres/index.ts'
import { newSchema, postgresPool, postgresUrl } from './schemas.ts'
import { type Question, WatchedPool } from './watched-pool.ts'

/** Keeps the answers to some statements back until it is told to hand them over. */
class HoldingPool extends WatchedPool {
  #hold: RegExp | null = null
  readonly #held: (() => void)[] = []

  holdBack(statement: RegExp): void {
    this.#hold = statement
  }

  handOver(): void {
    this.#hold = null
    for (const resolve of this.#held.splice(0)) resolve()
  }

  protected override answering(client: PoolClient): (question: Question) => Promise<unknown> {
    return async (question) => {
      const answer = await client.query(question)
      if (this.#hold?.test(question.text)) await new Promise<void>((resolve) => this.#held.push(resolve))
      return answer
    }
  }
}

test('who begins to listen is told once that something may have happened: its first look may come after it', async () => {
  const store = await postgres(postgresUrl(), { schema: newSchema(), listen: false }).open()
  await store.enqueueJobs([newJob()], NOW)
  const kinds: string[] = []
  store.subscribe(({ kind }) => void kinds.push(kind))
  await expect.poll(() => kinds, { timeout: 20_000 }).toEqual(['changed-elsewhere'])
  await store.close()
})

test('who asks for the newest event has heard of all commits from here, also where their answers are overtaken', async () => {
  const schema = newSchema()
  const pool = new HoldingPool({ connectionString: postgresUrl() })
  const store = await postgres(pool as unknown as PgPool, { schema, listen: false }).open()
  await store.enqueueJobs([newJob()], NOW)
  const order: string[] = []
  const stop = store.subscribe(({ kind }) => void (kind === 'committed' && order.push('heard of the commit')))
  pool.holdBack(/insert into .*\.jobs/s)

  const job = newJob()
  const enqueued = store.enqueueJobs([job], NOW)
  const isCommitted = async () =>
    (await postgresPool().query(`select 1 from "${schema}".jobs where job_id = $1`, [job.jobId])).rowCount
  await expect.poll(isCommitted, { timeout: 20_000 }).toBe(1)
  const asked = store.lastEventSeq().then(() => order.push('told the newest event'))
  // Whatever is asked of the store after that is answered before the commit is.
  for (let read = 0; read < 3; read++) expect(await store.findJob(job.jobId, NOW)).not.toBeNull()
  pool.handOver()
  await Promise.all([enqueued, asked])

  expect(order).toEqual(['heard of the commit', 'told the newest event'])
  stop()
  await store.close()
  await pool.end()
})

test('closing a store waits for the answer to what it was asked before', async () => {
  const schema = newSchema()
  const pool = new HoldingPool({ connectionString: postgresUrl() })
  const store = await postgres(pool as unknown as PgPool, { schema, listen: false }).open()
  await store.enqueueJobs([newJob()], NOW)
  const order: string[] = []
  pool.holdBack(/insert into .*\.jobs/s)

  const job = newJob()
  const enqueued = store.enqueueJobs([job], NOW).then(() => order.push('accepted'))
  const isCommitted = async () =>
    (await postgresPool().query(`select 1 from "${schema}".jobs where job_id = $1`, [job.jobId])).rowCount
  await expect.poll(isCommitted, { timeout: 20_000 }).toBe(1)
  const closed = store.close().then(() => order.push('closed'))
  // Longer than it takes a store to close that has nothing to wait for.
  const other = await postgres(postgresUrl(), { schema, listen: false }).open()
  await other.close()
  pool.handOver()
  await Promise.all([enqueued, closed])

  expect(order).toEqual(['accepted', 'closed'])
  await pool.end()
})
