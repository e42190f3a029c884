import { openScheduler } from 'pawl'
import { postgres } from 'pawl/postgres'
import pg from 'pg'

export function openOnPostgres(url, schema, jobs, options = {}) {
  return openScheduler({ store: postgres(url, { schema }), jobs, ...options })
}

/** A speed means something only if the work was done. */
export async function checkAllFinished(url, schema, bodies) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    `select count(*) filter (where status = 'COMPLETED')::integer as done, count(*)::integer as runs from ${schema}.runs`,
  )
  await client.end()
  const [{ done, runs }] = rows
  if (done !== bodies || runs !== bodies) {
    throw new Error(`${bodies} bodies were executed, but of ${runs} runs ${done} are recorded as done.`)
  }
}
