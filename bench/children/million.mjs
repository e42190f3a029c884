// Enqueues and executes many Jobs, and tells its memory now and then.
import { openAt } from '../place.mjs'
import { fill, Noop } from '../stage.mjs'

const [place, jobs, sampleEvery] = [JSON.parse(process.argv[2]), Number(process.argv[3]), Number(process.argv[4])]
const PART = 5_000

const noop = new Noop()
const scheduler = await openAt(place, [noop.type], { concurrency: 100 })
await scheduler.start()
const startedAt = performance.now()
for (let done = 0, nextSample = sampleEvery; done < jobs; ) {
  const count = Math.min(PART, jobs - done, nextSample - done)
  const allBegun = noop.whenMore(count)
  await fill(scheduler, noop.type, count)
  await allBegun
  done += count
  if (done < nextSample) continue
  nextSample += sampleEvery
  globalThis.gc()
  process.send({ kind: 'sample', rss: process.memoryUsage.rss() })
}
process.send({ kind: 'end', seconds: (performance.now() - startedAt) / 1_000 })
await scheduler.close()
process.disconnect()
