// A worker process: `node worker.mjs <database>`. It says when a job has begun.
import { openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { copy } from './copy-job.mjs'

const scheduler = await openScheduler({ store: sqlite(process.argv[2]), jobs: [copy] })
scheduler.on('job.started', ({ attempt }) => process.send({ attempt }))
await scheduler.start()
