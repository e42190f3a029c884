// Executes the Jobs of a folder's store, as a node beside the server.
import { Noop, openPawl } from '../stage.mjs'

const noop = new Noop()
const scheduler = await openPawl(process.argv[2], [noop.type], { concurrency: 10 })
process.once('disconnect', () => void scheduler.close())
process.on('message', () => process.send({ executed: noop.count }))
await scheduler.start()
process.send('ready')
