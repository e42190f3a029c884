// Executes the Jobs of a folder's store, as a node beside the server: those that the server accepts, and a backlog of its
// own, so that it executes all the time. A body of the backlog takes two milliseconds, as if it asked another machine.
import { setTimeout as pause } from 'node:timers/promises'
import { defineJob } from 'pawl'
import { Noop, openPawl } from '../stage.mjs'

const noop = new Noop()
let executed = 0
const busy = defineJob({
  type: 'busy',
  run: async () => {
    executed++
    await pause(2)
  },
})
const scheduler = await openPawl(process.argv[2], [noop.type, busy], { concurrency: 10 })
process.once('disconnect', () => void scheduler.close())
process.on('message', () => process.send({ executed: executed + noop.count }))
await scheduler.start()
process.send('ready')
