import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readPage } from './markdown.ts'
import { openSampleDatabase, type SampleDatabase } from './sample-database.ts'

const page = readPage('docs/sqlite-schema.md')
const queries = page.blocks.filter(({ language }) => language === 'sql')

let sample: SampleDatabase

beforeAll(async () => {
  sample = await openSampleDatabase()
})

afterAll(() => sample.close())

describe('docs/sqlite-schema.md', () => {
  it('describes every table and view with all its columns, and nothing else', () => {
    const tables = sample.query("select name from sqlite_schema where type in ('table', 'view') and name like 'pawl_%'")
    const stored = tables.map(({ name }) => [name, columnsOf(String(name))] as const)
    expect(described()).toEqual(Object.fromEntries(stored))
  })

  it.each(queries.map((query) => [query.text.trim().split('\n')[0], query] as const))(
    'has a query that finds something: %s',
    (_, { text }) => {
      expect(sample.query(text).length).toBeGreaterThan(0)
    },
  )
})

function columnsOf(table: string): string[] {
  return sample.query(`select name from pragma_table_info('${table}') order by cid`).map(({ name }) => String(name))
}

/** What the page says: a heading with the name of each table, and below it rows that begin with the name of a column. */
function described(): Record<string, string[]> {
  const sections = page.text.split(/^### /m).slice(1)
  return Object.fromEntries(
    sections.flatMap((section) => {
      const name = /^`(pawl_\w+)`/.exec(section)?.[1]
      if (name === undefined) return []
      return [[name, [...section.matchAll(/^\| `(\w+)` *\|/gm)].map(([, column = '']) => column)]]
    }),
  )
}
