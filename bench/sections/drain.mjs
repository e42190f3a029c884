import { join } from 'node:path'
import { checkpoint, openPlain } from '../driver.mjs'
import { alternate, compareSpeeds, speedOf } from '../figures.mjs'
import { Floor } from '../floor.mjs'
import { drainPortion, fill, inFolder, Noop, openPawl } from '../stage.mjs'

/** Executing no-op Jobs from a full queue. */
export async function drain({ folder, scale }) {
  const { concurrent, oneByOne } = scale.drain
  return [
    ...(await drainAt(folder, { ...concurrent, concurrency: 100, atLeast: 0.6 })),
    ...(await drainAt(folder, { ...oneByOne, concurrency: 1, atLeast: 0.75 })),
  ]
}

async function drainAt(parent, { portions, jobs, concurrency, atLeast }) {
  return inFolder(parent, async (folder) => {
    const noop = new Noop()
    // One portion more warms up, and a portion of ours may take a few Jobs more than it must.
    const queued = (jobs + concurrency * 2) * (portions + 1)
    const filling = await openPawl(folder, [noop.type])
    await fill(filling, noop.type, queued)
    await filling.close()
    checkpoint(join(folder, 'pawl.db'))
    const fused = filledFloor(join(folder, 'fused.db'), queued)
    const plain = filledFloor(join(folder, 'plain.db'), queued)

    const scheduler = await openPawl(folder, [noop.type], { concurrency })
    const speeds = await alternate(portions, {
      ours: () => speedOf(jobs, () => drainPortion(scheduler, noop, jobs)),
      fused: () => speedOf(jobs, () => drainFused(fused, jobs, concurrency)),
      plain: () => speedOf(jobs, () => drainPlain(plain, jobs, concurrency)),
    })
    await scheduler.close()
    fused.close()
    plain.close()
    checkAllFinished(folder, noop.count)
    const name = `drain, concurrency ${concurrency}`
    return [
      compareSpeeds({
        name,
        ours: speeds.ours,
        reference: speeds.fused,
        referenceName: `floor, ${concurrency} per commit`,
        atLeast,
      }),
      compareSpeeds({
        name: `${name}, floor with two commits`,
        ours: speeds.ours,
        reference: speeds.plain,
        referenceName: 'floor, claim and finish apart',
      }),
    ]
  })
}

function filledFloor(path, jobs) {
  const floor = new Floor(path)
  floor.prepareIds(jobs * 2)
  floor.insert(jobs, 500)
  checkpoint(path)
  return floor
}

function drainFused(floor, jobs, perCommit) {
  let held = floor.claim(perCommit)
  for (let done = perCommit; done < jobs; done += perCommit) held = floor.finishAndClaim(held, perCommit)
  floor.finish(held)
}

function drainPlain(floor, jobs, perCommit) {
  for (let done = 0; done < jobs; done += perCommit) floor.finish(floor.claim(perCommit))
}

/** A speed means something only if the work was done. */
function checkAllFinished(folder, bodies) {
  const database = openPlain(join(folder, 'pawl.db'))
  const { jobs } = database.prepare("select count(*) as jobs from pawl_jobs_readable where status = 'FINISHED'").get()
  const { runs } = database.prepare("select count(*) as runs from pawl_runs_readable where status = 'COMPLETED'").get()
  database.close()
  if (jobs !== bodies || runs !== bodies) {
    throw new Error(`${bodies} bodies were executed, but ${jobs} jobs and ${runs} runs are recorded as done.`)
  }
}
