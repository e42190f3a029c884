// Executes Jobs of a database that another process fills, and tells it the instant at which each body began.
import { defineJob } from 'pawl'
import { openAt } from '../place.mjs'

// This clock is the same in all processes of a machine.
const type = defineJob({ type: 'noop', run: () => void process.send(String(process.hrtime.bigint())) })

const scheduler = await openAt(JSON.parse(process.argv[2]), [type])
process.once('disconnect', () => void scheduler.close())
await scheduler.start()
process.send('ready')
