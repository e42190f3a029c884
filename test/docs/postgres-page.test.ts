// docs/postgres.md and the examples that need a server: their programs run, and their SQL does what the page says.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { defineJob, openScheduler } from 'pawl'
import { postgres } from 'pawl/postgres'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type PostgresServer, startServer } from '../../torture/servers/server.ts'
import { newSchema, postgresPool, postgresUrl } from '../postgres/schemas.ts'
import { describePrograms } from './code-programs.ts'
import { ROOT, readPage } from './markdown.ts'
import { Workspace } from './workspace.ts'

const page = readPage('docs/postgres.md')
const MODULES = ['pg', 'kysely', 'drizzle-orm']

/** They make tables of their own in it, so it is not the one of the other tests. */
let server: PostgresServer

beforeAll(async () => {
  server = await startServer()
})

afterAll(() => server.remove())

const env = () => ({ DATABASE_URL: server.url })

describePrograms('the code in docs/postgres.md', [page], { modules: MODULES, env, shown: ['shown'] })

describe('the examples on PostgreSQL', () => {
  const folder = join(ROOT, 'examples')
  const examples = readdirSync(folder).filter((name) => name.startsWith('postgres'))
  const workspace = new Workspace(MODULES)
  afterAll(() => workspace.remove())

  it.each(examples)('%s runs to its end', async (name) => {
    workspace.copy(join(folder, name), `examples/${name}`)
    expect(await workspace.run(`examples/${name}`, env())).toMatchObject({ code: 0, stderr: '' })
  })
})

/** A block of SQL by the word behind its language, for another schema and another role. */
function sqlOf(word: string, names: Readonly<Record<string, string>>): string {
  const block = page.blocks.find(({ language, words }) => language === 'sql' && words.includes(word))
  expect(block, `a block \`sql ${word}\` in docs/postgres.md`).toBeDefined()
  return Object.entries(names).reduce(
    (sql, [name, own]) => sql.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), own),
    block?.text ?? '',
  )
}

const greet = defineJob({ type: 'welcome', run: ({ params }) => params })

describe('the SQL in docs/postgres.md', () => {
  it('gives a role the rights to work, but not to change the schema', async () => {
    const schema = newSchema()
    const role = `${schema}_worker`
    await (await openScheduler({ store: postgres(postgresUrl(), { schema }), jobs: [greet] })).close()
    await postgresPool().query(sqlOf('rights', { pawl: schema, worker: role }))
    const url = new URL(postgresUrl())
    url.username = role
    const scheduler = await openScheduler({ store: postgres(url.toString(), { schema }), jobs: [greet] })
    try {
      await scheduler.start()
      const job = await scheduler.enqueue(greet, { name: 'Ada' })
      expect(await job.settled()).toMatchObject({ outcome: 'COMPLETED' })
      const other = await scheduler.enqueue(greet, {}, { delayMs: 60_000, tags: ['a'], idempotencyKey: 'k' })
      await other.cancel()
      await scheduler.prune({ olderThanMs: 0 })
    } finally {
      await scheduler.close()
    }
    const client = new Client({ connectionString: url.toString() })
    await client.connect()
    await expect(client.query(`drop table "${schema}".jobs`)).rejects.toThrow(/must be owner/)
    await client.end()
    await postgresPool().query(`drop owned by ${role}; drop role ${role}`)
  })

  it('enqueues a job', async () => {
    const schema = newSchema()
    const scheduler = await openScheduler({ store: postgres(postgresUrl(), { schema }), jobs: [greet] })
    const { rows } = await postgresPool().query(sqlOf('enqueue', { pawl: schema }))
    expect(await scheduler.getJob(rows[0].job_id)).toMatchObject({ status: 'QUEUED', type: 'welcome' })
    await scheduler.close()
  })
})
