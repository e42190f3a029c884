import { openScheduler } from 'pawl'
import { postgres } from 'pawl/postgres'
import pg from 'pg'

export function openOnPostgres(url, schema, jobs, options = {}) {
  return openScheduler({ store: postgres(url, { schema }), jobs, ...options })
}

/** A connection for the time of the work. */
export async function withClient(url, work) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** A speed means something only if the work was done. */
export async function checkAllFinished(url, schema, bodies) {
  const { rows } = await withClient(url, (client) =>
    client.query(
      `select count(*) filter (where status = 'COMPLETED')::integer as done, count(*)::integer as runs from ${schema}.runs`,
    ),
  )
  const [{ done, runs }] = rows
  if (done !== bodies || runs !== bodies) {
    throw new Error(`${bodies} bodies were executed, but of ${runs} runs ${done} are recorded as done.`)
  }
}
