// A second process on the same file. It handles only `photos`; the demo kills it with SIGKILL in the middle of one.
import { openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { photos } from './job-types.mjs'

// It must not outlive the demo. Ctrl-C reaches it too, but then the demo decides.
process.on('disconnect', () => process.exit(0))
process.on('SIGINT', () => {})

const scheduler = await openScheduler({ store: sqlite(process.argv[2]), jobs: [photos], name: 'photo-worker' })
await scheduler.start()
process.send?.({ nodeId: scheduler.nodeId })
