import { describe, it } from 'vitest'
import { describeStore, type StoreFactory } from '../../src/store/conformance/index.ts'
import type { Damage } from '../../src/store/maintenance.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { keepConnections } from '../postgres/kept-connections.ts'
import { giveBackSchema, postgresPool, postgresUrl, takeSchema } from '../postgres/schemas.ts'

keepConnections()

const open = (schema: string) => postgres(postgresUrl(), { schema }).open()

/** Each database of the kit is a schema. There is no backup: PostgreSQL has its own tools for that. */
const inSchema: StoreFactory<string> = {
  create: async () => takeSchema(),
  open,
  openAnother: open,
  remove: giveBackSchema,
  async withTransaction(_, work, end) {
    const client = await postgresPool().connect()
    try {
      await client.query('begin')
      await work(client)
      await client.query(end)
    } finally {
      client.release(true)
    }
  },
  async damage(schema, kind, jobId) {
    for (const sql of DAMAGE[kind]) await postgresPool().query(sql.replaceAll('pawl.', `${schema}.`), [jobId])
  },
}

const THE_JOB = 'seq = (select seq from pawl.jobs where job_id = $1)'

/** What makes each kind of damage, one statement after the other, each with the id of the Job. */
const DAMAGE: Readonly<Record<Damage['kind'], readonly string[]>> = {
  'run-missing': [`delete from pawl.occupancies where ${THE_JOB}`, `delete from pawl.runs where ${THE_JOB}`],
  'occupancy-missing': [`delete from pawl.occupancies where ${THE_JOB}`],
  'retry-missing': [
    'delete from pawl.queue where seq in (select seq from pawl.jobs where retry_of = $1)',
    'delete from pawl.jobs where retry_of = $1',
  ],
}

describeStore('postgres', inSchema, { runner: { describe, it } })
