// A schema that an earlier version made is brought up to date with everything in it.
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { failed, NOW, newId, newJob } from '../../src/store/conformance/fixtures.ts'
import { takeStage } from '../../src/store/conformance/stage.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { schema as first } from '../../src/stores/postgres/migrations/0001-schema.ts'
import { enqueueFunction } from '../../src/stores/postgres/migrations/0002-enqueue-function.ts'
import { readableViews } from '../../src/stores/postgres/migrations/0003-readable-views.ts'
import { waitingInLanes } from '../../src/stores/postgres/migrations/0004-waiting-in-lanes.ts'
import { newSchema, postgresPool, postgresUrl } from './schemas.ts'

/** Takes back what migrations from the fifth on made, so that the schema and the rows in it are as version 4 left them. */
async function makeVersion4(schema: string): Promise<void> {
  await postgresPool().query(`
    drop view "${schema}".operations_readable;
    drop table "${schema}".operations;
    drop index "${schema}".uncompleted_runs_newest;
    drop function "${schema}".changed_number;
    drop view "${schema}".statistics_readable;
    alter table "${schema}".statistics rename column began_at to hour_at;
    create view "${schema}".statistics_readable as select hour_at from "${schema}".statistics;
    drop index "${schema}".deliveries_status;
    drop index "${schema}".deliveries_webhook_status;
    create index deliveries_failed on "${schema}".deliveries (webhook_seq, delivery_seq) where status = 'FAILED';
    delete from "${schema}".migrations where version > 4`)
}

test('a schema of version 4 is upgraded when it is opened; what failed before is found and retried by one order', async () => {
  const schema = newSchema()
  const source = postgres(postgresUrl(), { schema })
  const stage = await takeStage(await source.open())
  const job = await stage.start(newJob())
  await stage.finish(job, { outcome: failed() })
  const hours = await stage.store.listHours(0, 10)
  await stage.store.close()
  await makeVersion4(schema)
  expect(await source.inspect()).toMatchObject({
    kind: 'older',
    version: 4,
    latest: 9,
    pending: ['bulk-operations', 'fewest-digits', 'exact-numbers', 'minutes', 'deliveries-by-status'],
  })

  const store = await source.open()
  expect(hours).toMatchObject([{ executed: 1, failed: 1 }])
  expect(await store.listHours(0, 10)).toEqual(hours)
  const filter = { status: 'FINISHED', outcome: 'FAILED', limit: 10 } as const
  const { items } = await store.matchJobs({ kind: 'retry', mode: null, filter, lastSeq: null })
  expect(items).toEqual([job.claim.jobId])
  const order = { operationId: newId(), kind: 'retry', filter: {}, jobIds: null, mode: null, reason: null } as const
  await store.startOperation({ ...order, createdBy: null, matched: { matched: 1, isMatchedCapped: false } }, NOW)
  const page = { operationId: order.operationId, pages: 0, jobIds: items, failed: 0, next: null, newId, now: NOW }
  expect(await store.applyOperationPage(page)).toBe('applied')
  expect((await store.findChain(job.claim.jobId, NOW))?.items).toHaveLength(2)
  expect(await source.inspect()).toMatchObject({ kind: 'current', version: 9 })
  await store.close()
})

test('the migrations before it are as they were published', () => {
  const checksums = [first, enqueueFunction, readableViews, waitingInLanes].map(({ version, name, sql }) =>
    createHash('sha256').update(`${version} ${name}\n${sql}`).digest('hex').slice(0, 12),
  )
  expect(checksums).toMatchInlineSnapshot(`
    [
      "912016439e84",
      "84f8491cb612",
      "ce4bae84139f",
      "6b6db6430f6f",
    ]
  `)
})
