import { expect, test, vi } from 'vitest'
import { Chance } from '../../../torture/chance.ts'
import { examine } from '../../../torture/outside/check.ts'
import { LARGE, makeActs } from '../../../torture/outside/make-acts.ts'
import { readRecord } from '../../../torture/outside/record.ts'
import { isCall, LIMITS } from '../../../torture/outside/workload.ts'
import { Crew } from './crew.ts'
import { LONG_PATIENCE, Stage } from './stage.ts'

const SEED = Number(process.env['PAWL_NODES_SEED'] ?? Date.now() % 1_000_000_000)
const JOBS = Number(process.env['PAWL_NODES_JOBS'] ?? 50_000)
const AGAIN = `Again with: PAWL_NODES_SEED=${SEED} PAWL_NODES_JOBS=${JOBS}`

const NODES = 4
const CONCURRENCY = 50
/** After each so many a node is killed, which is every few seconds; the last ones are left to those who remain. */
const JOBS_PER_KILL = 4_000
const KILLS = Math.floor((JOBS * 0.8) / JOBS_PER_KILL)
/** No more are asked for while so many wait, so that nodes are killed all along, and not after all was accepted. */
const BACKLOG_MAX = 4_000

test(`four nodes, of which one is killed every few seconds, execute ${JOBS} Jobs, and nothing contradicts what was seen from outside (seed ${SEED})`, {
  timeout: 900_000,
}, async () => {
  const stage = new Stage()
  const chance = new Chance(SEED)
  const acts = makeActs(Math.ceil(JOBS / LARGE.waveSize), chance, LARGE)
  const crew = new Crew(stage, { concurrency: CONCURRENCY })
  await crew.start(NODES)
  const client = stage.startClient(acts, BACKLOG_MAX)

  for (let kill = 1; kill <= KILLS; kill++) {
    await vi.waitFor(() => expect(acknowledged(stage).size).toBeGreaterThanOrEqual(kill * JOBS_PER_KILL), SLOW_LOOK)
    await crew.replaceOne((names) => chance.of(names))
  }
  expect(await client.exited, AGAIN).toBe(0)
  await stage.drains()
  await stage.hasOnly(crew.names)
  expect(await crew.close(), AGAIN).toEqual([0, 0, 0, 0])

  const asked = { acts: { client: acts }, limits: LIMITS, concurrency: CONCURRENCY, toldTypes: [] }
  const { violations, recorded, history } = await examine(stage.place, stage.folder, asked)
  expect(violations, AGAIN).toEqual([])
  expect(crew.told('error'), AGAIN).toEqual([])

  // What was to be survived has happened.
  const numbers = new Set(acts.filter(isCall).flatMap(({ requests }) => requests.map(({ order }) => order.n)))
  expect(numbers.size).toBeGreaterThanOrEqual(JOBS)
  expect(acknowledged(stage)).toEqual(numbers)
  expect(recorded.kills).toHaveLength(KILLS)
  expect(history.jobs.some(({ run }) => run?.reason === 'crash')).toBe(true)
})

const SLOW_LOOK = { ...LONG_PATIENCE, interval: 250 }

function acknowledged({ folder }: Stage): Set<number> {
  return new Set(readRecord(folder).acks.map(({ n }) => n))
}
