// Enqueues and executes Jobs on a store that is full already, and tells the most memory that its process needed.
import { readFileSync } from 'node:fs'
import { defineJob } from 'pawl'
import { openAt } from '../place.mjs'
import { enqueueConcurrently } from '../sections/enqueue.mjs'
import { drainPortion, Noop } from '../stage.mjs'

const [place, jobs] = [JSON.parse(process.argv[2]), Number(process.argv[3])]
const noop = new Noop()
// What waits for the resource ends at once when it gets it.
const busy = defineJob({ type: 'busy', resources: ['gpu'], run: () => {} })
const scheduler = await openAt(place, [noop.type, busy], { concurrency: 100, resources: { gpu: 1 } })
await enqueueConcurrently(scheduler, noop.type, jobs)
await drainPortion(scheduler, noop, jobs)
const bytes = mostMemory()
await scheduler.close()
process.send({ bytes })
process.disconnect()

/** Of this program: on Linux, what `resourceUsage` tells is at least as much as the process had that started this one. */
function mostMemory() {
  try {
    const [, kilobytes] = readFileSync('/proc/self/status', 'utf8').match(/^VmHWM:\s+(\d+) kB$/m)
    return Number(kilobytes) * 1_024
  } catch {
    return process.resourceUsage().maxRSS * 1_024
  }
}
