// Executes Jobs of a database that another process fills, and tells it the instant at which each body began.
import { defineJob } from 'pawl'
import { openPawl } from '../stage.mjs'

// This clock is the same in all processes of a machine.
const type = defineJob({ type: 'noop', run: () => void process.send(String(process.hrtime.bigint())) })

const scheduler = await openPawl(process.argv[2], [type])
process.once('disconnect', () => void scheduler.close())
await scheduler.start()
process.send('ready')
