import { postgres } from 'pawl/postgres'
import { withClient } from '../postgres/stage.mjs'
import { options } from './answering.mjs'
import { servePawl } from './pawl-jobs.mjs'

const { url } = options
const schema = `pawl_${options.store}`

async function remaining() {
  const { rows } = await withClient(url, (client) => client.query(COUNT_UNFINISHED)).catch((error) => {
    // Before the first scheduler is open there is no table.
    if (error.code === '42P01') return { rows: [{ jobs: 0 }] }
    throw error
  })
  return rows[0].jobs
}

const COUNT_UNFINISHED = `
select (
  (select count(*) from ${schema}.jobs)
  - (select count(*) from ${schema}.runs where status = 'COMPLETED')
)::integer as jobs`

await servePawl(() => postgres(url, { schema }), remaining)
