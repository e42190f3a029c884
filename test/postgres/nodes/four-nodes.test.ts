import { expect, test, vi } from 'vitest'
import { Chance } from '../../http/fuzz-values.ts'
import { findContradictions } from './checker.ts'
import { Crew } from './crew.ts'
import { Driver } from './driver.ts'
import { LONG_PATIENCE, Stage } from './stage.ts'
import { LIMITS, makeWaves, WAVE_SIZE } from './workload.ts'

const SEED = Number(process.env['PAWL_NODES_SEED'] ?? Date.now() % 1_000_000_000)
const JOBS = Number(process.env['PAWL_NODES_JOBS'] ?? 50_000)
const AGAIN = `Again with: PAWL_NODES_SEED=${SEED} PAWL_NODES_JOBS=${JOBS}`

const NODES = 4
const CONCURRENCY = 50
/** After each so many a node is killed, which is every few seconds; the last ones are left to those who remain. */
const JOBS_PER_KILL = 5_000
const KILLS = Math.floor((JOBS * 0.8) / JOBS_PER_KILL)
/** No more are asked for while so many wait, so that nodes are killed all along, and not after all was accepted. */
const BACKLOG_MAX = 4_000

test(`four nodes, of which one is killed every few seconds, execute ${JOBS} Jobs, and nothing contradicts what was seen from outside (seed ${SEED})`, {
  timeout: 300_000,
}, async () => {
  const stage = new Stage()
  const waves = makeWaves(Math.ceil(JOBS / WAVE_SIZE), SEED)
  const crew = new Crew(stage, { concurrency: CONCURRENCY })
  await crew.start(NODES)
  await using scheduler = await stage.open()
  const driver = new Driver(scheduler, stage.recorder)

  const asking = async () => {
    for (const wave of waves) {
      await driver.ask(wave)
      await hasRoom(stage)
    }
  }
  const killing = async () => {
    const chance = new Chance(SEED)
    for (let kill = 1; kill <= KILLS; kill++) {
      await vi.waitFor(() => expect(driver.acknowledged).toBeGreaterThanOrEqual(kill * JOBS_PER_KILL), LONG_PATIENCE)
      await crew.replaceOne((names) => chance.of(names))
    }
  }
  await Promise.all([asking(), killing()])
  await stage.drains()
  await stage.hasOnly(crew.names)
  expect(await crew.close(), AGAIN).toEqual([0, 0, 0, 0])

  const recorded = stage.recorder.read()
  const history = await stage.history()
  const asked = { calls: waves.flat(), limits: LIMITS, concurrency: CONCURRENCY }
  expect(findContradictions({ ...asked, recorded, history }), AGAIN).toEqual([])
  expect(await stage.findings(), AGAIN).toEqual([])
  expect(crew.told('error'), AGAIN).toEqual([])

  // What was to be survived has happened.
  expect(driver.acknowledged).toBe(JOBS)
  expect(recorded.kills).toHaveLength(KILLS)
  expect(history.jobs.some(({ run }) => run?.reason === 'crash')).toBe(true)
})

/** Waits until the nodes have caught up. */
async function hasRoom(stage: Stage): Promise<void> {
  await vi.waitFor(async () => {
    const [queue] = await stage.select<{ queued: number }>('select count(*)::int as queued from pawl.queue')
    expect(queue?.queued).toBeLessThan(BACKLOG_MAX)
  }, LONG_PATIENCE)
}
