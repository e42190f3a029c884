import { postgres } from 'pawl/postgres'
import type { TestScheduler } from 'pawl/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newSchema, postgresPool, postgresUrl } from '../postgres/schemas.ts'
import { readPage } from './markdown.ts'
import { openSample } from './sample-database.ts'

const page = readPage('docs/postgres-schema.md')
const queries = page.blocks.filter(({ language }) => language === 'sql')

let schema: string
let sample: TestScheduler

beforeAll(async () => {
  schema = newSchema()
  sample = await openSample(postgres(postgresUrl(), { schema }))
})

afterAll(() => sample.close())

describe('docs/postgres-schema.md', () => {
  it('describes every table and view with all its columns, and nothing else', async () => {
    const { rows } = await postgresPool().query<{ table: string; columns: string[] }>(SELECT_COLUMNS, [schema])
    expect(described()).toEqual(Object.fromEntries(rows.map(({ table, columns }) => [table, columns])))
  })

  it('names every function', async () => {
    const { rows } = await postgresPool().query<{ name: string }>(SELECT_FUNCTIONS, [schema])
    const section = page.text.split('## Functions')[1] ?? ''
    const named = [...section.matchAll(/`(\w+)\(/g)].map(([, name]) => name)
    expect(new Set(named)).toEqual(new Set(rows.map(({ name }) => name)))
  })

  it.each(queries.map((query) => [query.text.trim().split('\n')[0], query] as const))(
    'has a query that finds something: %s',
    async (_, { text }) => {
      const own = text.replaceAll('pawl.', `"${schema}".`).replaceAll("'pawl'", `'${schema}'`)
      expect((await postgresPool().query(own)).rows.length).toBeGreaterThan(0)
    },
  )
})

const SELECT_COLUMNS = `
select table_name::text as table, array_agg(column_name::text order by ordinal_position) as columns
from information_schema.columns
where table_schema = $1
group by table_name`

const SELECT_FUNCTIONS = `
select proname::text as name
from pg_proc
where pronamespace = (select oid from pg_namespace where nspname = $1)
order by proname collate "C"`

/** What the page says: a heading with the name of each table, and below it rows that begin with the name of a column. */
function described(): Record<string, string[]> {
  const sections = (page.text.split('## Functions')[0] ?? '').split(/^### /m).slice(1)
  return Object.fromEntries(
    sections.flatMap((section) => {
      const name = /^`(\w+)`/.exec(section)?.[1]
      if (name === undefined) return []
      return [[name, [...section.matchAll(/^\| `(\w+)` *\|/gm)].map(([, column = '']) => column)]]
    }),
  )
}
