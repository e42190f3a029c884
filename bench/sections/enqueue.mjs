import { join } from 'node:path'
import { alternate, compareSpeeds, speedOf } from '../figures.mjs'
import { Floor } from '../floor.mjs'
import { inFolder, Noop, openPawl } from '../stage.mjs'

const CALLERS = 100
const BULK = 500

/** Accepting Jobs, each acknowledged only once it would survive a power cut. */
export async function enqueue({ folder: parent, scale }) {
  const { concurrent, oneByOne, lists } = scale.enqueue
  return inFolder(parent, async (folder) => {
    const { type } = new Noop()
    const scheduler = await openPawl(folder, [type])
    const floor = new Floor(join(folder, 'floor.db'))
    const measure = async ({ portions, jobs }, perCommit, work) => {
      const speeds = await alternate(portions, {
        ours: () => speedOf(jobs, () => work(scheduler, type, jobs)),
        floor: () => {
          floor.prepareIds(jobs)
          return speedOf(jobs, () => floor.insert(jobs, perCommit))
        },
      })
      return { ours: speeds.ours, reference: speeds.floor, referenceName: `floor, ${perCommit} per commit` }
    }
    const lines = [
      compareSpeeds({
        name: `enqueue, ${CALLERS} concurrent callers`,
        ...(await measure(concurrent, BULK, enqueueConcurrently)),
        atLeast: 0.4,
      }),
      compareSpeeds({
        name: 'enqueue, one by one',
        ...(await measure(oneByOne, 1, enqueueOneByOne)),
        atLeast: 0.8,
      }),
      compareSpeeds({
        name: `enqueueMany, lists of ${BULK}`,
        ...(await measure(lists, BULK, enqueueLists)),
      }),
    ]
    await scheduler.close()
    floor.close()
    return lines
  })
}

export async function enqueueConcurrently(scheduler, type, jobs, callers = CALLERS) {
  const perCaller = Math.ceil(jobs / callers)
  await Promise.all(Array.from({ length: callers }, () => enqueueOneByOne(scheduler, type, perCaller)))
  return perCaller * callers
}

export async function enqueueOneByOne(scheduler, type, jobs) {
  for (let n = 0; n < jobs; n++) await scheduler.enqueue(type, { n })
}

export async function enqueueLists(scheduler, type, jobs) {
  for (let done = 0; done < jobs; done += BULK) {
    await scheduler.enqueueMany(Array.from({ length: BULK }, (_, n) => ({ type, params: { n } })))
  }
}
