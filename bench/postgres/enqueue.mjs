import { alternate, compareSpeeds, speedOf } from '../figures.mjs'
import { startPeer } from '../peers/peer.mjs'
import { PG_BOSS } from '../peers/systems.mjs'
import { enqueueConcurrently, enqueueLists, enqueueOneByOne } from '../sections/enqueue.mjs'
import { Noop } from '../stage.mjs'
import { PostgresFloor } from './floor.mjs'
import { openOnPostgres } from './stage.mjs'

const CALLERS = 100
const BULK = 500

/** Accepting Jobs, each acknowledged only once it would survive a power cut. */
export async function enqueue({ url, scale, say }) {
  const { concurrent, oneByOne, lists } = scale.enqueue
  const { type } = new Noop()
  const scheduler = await openOnPostgres(url, 'enqueue', [type])
  const floor = await PostgresFloor.open(url, 'enqueue_floor')
  const floorSide = (jobs, perCommit) => () => {
    floor.prepareIds(jobs)
    return speedOf(jobs, () => floor.insert(jobs, perCommit))
  }
  const measure = async ({ name, portions, jobs, work, references }) => {
    const speeds = await alternate(portions, {
      ours: () => speedOf(jobs, () => work(scheduler, type, jobs)),
      ...Object.fromEntries(references.map(({ side }, index) => [index, side])),
    })
    return references.map(({ referenceName, atLeast }, index) =>
      compareSpeeds({ name, ours: speeds.ours, reference: speeds[index], referenceName, atLeast }),
    )
  }

  const boss = await startPeer(PG_BOSS, { url, store: 'enqueue' })
  say(`beside pg-boss ${boss.about.version}`)
  const bossSide = (jobs, callers) => () => boss.ask('enqueue', jobs, callers, {})
  const lines = [
    ...(await measure({
      name: `enqueue, ${CALLERS} concurrent callers`,
      ...concurrent,
      work: enqueueConcurrently,
      references: [
        { side: floorSide(concurrent.jobs, CALLERS), referenceName: `floor, ${CALLERS} per commit` },
        {
          side: bossSide(Math.ceil(concurrent.jobs / 10), CALLERS),
          referenceName: `pg-boss, ${CALLERS} concurrent callers`,
          atLeast: 20,
        },
      ],
    })),
    ...(await measure({
      name: 'enqueue, one by one',
      ...oneByOne,
      work: enqueueOneByOne,
      references: [
        { side: floorSide(oneByOne.jobs, 1), referenceName: 'floor, 1 per commit' },
        { side: bossSide(oneByOne.jobs, 1), referenceName: 'pg-boss, one by one' },
      ],
    })),
    ...(await measure({
      name: `enqueueMany, lists of ${BULK}`,
      ...lists,
      work: enqueueLists,
      references: [{ side: floorSide(lists.jobs, BULK), referenceName: `floor, ${BULK} per commit` }],
    })),
  ]
  await boss.stop()
  await scheduler.close()
  await floor.close()
  return lines
}
