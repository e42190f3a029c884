import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { sqlite } from 'pawl/sqlite'
import { openPlain } from '../driver.mjs'
import { options } from './answering.mjs'
import { servePawl } from './pawl-jobs.mjs'

const path = join(options.files, `${options.store}.db`)

function remaining() {
  if (!existsSync(path)) return 0
  const database = openPlain(path)
  const { jobs } = database.prepare("select count(*) as jobs from pawl_jobs_readable where status <> 'FINISHED'").get()
  database.close()
  return jobs
}

await servePawl(() => sqlite(path), remaining)
