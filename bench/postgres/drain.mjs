import { alternate, compareSpeeds, speedOf } from '../figures.mjs'
import { drainPortion, fill, Noop } from '../stage.mjs'
import { PostgresFloor } from './floor.mjs'
import { checkAllFinished, openOnPostgres } from './stage.mjs'

/** Executing no-op Jobs from a full queue. */
export async function drain({ url, scale, say }) {
  const lines = []
  for (const { concurrency, atLeast, ...amount } of scale.drain) {
    say(`concurrency ${concurrency}`)
    lines.push(...(await drainAt(url, { ...amount, concurrency, atLeast })))
  }
  return lines
}

async function drainAt(url, { portions, jobs, concurrency, atLeast }) {
  const noop = new Noop()
  const schema = `drain_${concurrency}`
  // One portion more warms up, and a portion of ours may take a few Jobs more than it must.
  const queued = (jobs + concurrency * 2) * (portions + 1)
  const scheduler = await openOnPostgres(url, schema, [noop.type], { concurrency })
  await fill(scheduler, noop.type, queued)
  const fused = await filledFloor(url, `${schema}_fused`, queued)
  const plain = await filledFloor(url, `${schema}_plain`, queued)
  const speeds = await alternate(portions, {
    ours: () => speedOf(jobs, () => drainPortion(scheduler, noop, jobs)),
    fused: () => speedOf(jobs, () => drainFused(fused, jobs, concurrency)),
    plain: () => speedOf(jobs, () => drainPlain(plain, jobs, concurrency)),
  })
  await scheduler.close()
  await fused.close()
  await plain.close()
  await checkAllFinished(url, schema, noop.count)
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
}

async function filledFloor(url, schema, jobs) {
  const floor = await PostgresFloor.open(url, schema)
  floor.prepareIds(jobs * 2)
  await floor.insert(jobs, 500)
  await floor.vacuum()
  return floor
}

async function drainFused(floor, jobs, perCommit) {
  let held = await floor.claim(perCommit)
  for (let done = perCommit; done < jobs; done += perCommit) held = await floor.finishAndClaim(held, perCommit)
  await floor.finish(held)
}

async function drainPlain(floor, jobs, perCommit) {
  for (let done = 0; done < jobs; done += perCommit) await floor.finish(await floor.claim(perCommit))
}
