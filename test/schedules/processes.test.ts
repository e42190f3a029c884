// Real processes on one database, killed by SIGKILL: every slot makes one Job. None is lost, and none comes twice.
import { expect, test, vi } from 'vitest'
import { startScript } from '../recovery/processes.ts'
import { SharedDatabase } from '../stores/shared-database.ts'

const NODE = new URL('./fixtures/node.mjs', import.meta.url)
const PATIENCE = { timeout: 30_000, interval: 20 }

const SELECT_SLOTS = `
select s.name, (j.slot_at - s.anchor_at) / 1000 as slot, count(*) as jobs
from pawl_schedules s
join pawl_jobs j using (schedule_id)
where j.retry_of is null
group by 1, 2
order by 1, 2`

/** The slots of each schedule that made a Job, in order. A slot with several Jobs appears as often. */
async function slotsIn(database: SharedDatabase): Promise<Map<string, number[]>> {
  const slots = new Map<string, number[]>()
  for (const row of await database.select(SELECT_SLOTS)) {
    const name = String(row['name'])
    const times = Array.from({ length: Number(row['jobs']) }, () => Number(row['slot']))
    slots.set(name, [...(slots.get(name) ?? []), ...times])
  }
  return slots
}

/** All slots from the first on, without a gap and each once. */
function isWhole(slots: readonly number[]): void {
  expect(slots).toEqual(Array.from({ length: slots.length }, (_, index) => index + 1))
}

/** Waits until every schedule has made this many Jobs. */
async function untilSlots(database: SharedDatabase, schedules: number, count: number): Promise<void> {
  await vi.waitFor(async () => {
    const lengths = [...(await slotsIn(database)).values()].map((slots) => slots.length)
    expect(lengths).toHaveLength(schedules)
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(count)
  }, PATIENCE)
}

const SELECT_LIVE_CHAINS = `
select f.seq
from pawl_jobs f
where f.schedule_id is not null and f.retry_of is null and exists (
    select 1
    from pawl_jobs_readable j
    where j.chain_id = f.job_id and j.status in ('QUEUED', 'RUNNING')
  )
order by 1`

/** What overlap is decided by is kept in step with the Jobs, whatever was killed. */
async function knowsItsLiveChains(database: SharedDatabase): Promise<void> {
  const known = await database.select('select chain_seq as seq from pawl_scheduled_chains order by 1')
  expect(known).toEqual(await database.select(SELECT_LIVE_CHAINS))
}

const PLACES = [
  { when: 'before', sql: 'insert into pawl_jobs', made: 0 },
  { when: 'after', sql: 'insert into pawl_jobs', made: 0 },
  { when: 'before', sql: 'insert into pawl_queue', made: 0 },
  { when: 'before', sql: 'insert into pawl_scheduled_chains', made: 0 },
  { when: 'before', sql: 'update pawl_schedules', made: 0 },
  { when: 'after', sql: 'update pawl_schedules', made: 0 },
  { when: 'before', sql: 'insert into pawl_events', made: 0 },
  { when: 'before', sql: 'commit', made: 0 },
  { when: 'after', sql: 'commit', made: 1 },
] as const

// All at once: each waits for two real seconds.
test.concurrent.for(PLACES)(
  'killed $when `$sql` of its first slot: the slot makes one Job, here or elsewhere',
  { timeout: 60_000 },
  async ({ made, ...die }) => {
    const database = new SharedDatabase()
    const store = database.address
    const victim = startScript(NODE, { store, name: 'victim', create: 1, die })
    expect(await victim.exited).toBe('SIGKILL')
    await database.outlives()
    expect((await slotsIn(database)).get('0') ?? []).toHaveLength(made)
    const [schedule] = await database.select('select revision, last_slot_at - anchor_at as slot from pawl_schedules')
    expect(schedule).toEqual({ revision: 1 + made, slot: made * 1_000 })
    await database.isSound()

    const heir = startScript(NODE, { store, name: 'heir' })
    await untilSlots(database, 1, 2)
    heir.kill('SIGTERM')
    expect(await heir.exited).toBe(0)
    isWhole((await slotsIn(database)).get('0') ?? [])
    await database.isSound()
  },
)

test('three processes race for the slots of twenty schedules, and two are killed', { timeout: 60_000 }, async () => {
  const database = new SharedDatabase()
  const store = database.address
  const maker = startScript(NODE, { store, name: 'maker', create: 20 })
  await maker.tells('started')
  const others = ['second', 'third'].map((name) => startScript(NODE, { store, name }))
  for (const node of others) await node.tells('started')
  await untilSlots(database, 20, 3)
  maker.kill('SIGKILL')
  await untilSlots(database, 20, 5)
  others[0]?.kill('SIGKILL')
  await untilSlots(database, 20, 8)
  others[1]?.kill('SIGTERM')
  expect(await Promise.all([maker, ...others].map(({ exited }) => exited))).toEqual(['SIGKILL', 'SIGKILL', 0])
  const slots = await slotsIn(database)
  expect(slots.size).toBe(20)
  for (const ofOne of slots.values()) isWhole(ofOne)
  expect(await database.select('select * from pawl_skipped_slots')).toEqual([])
  await knowsItsLiveChains(database)
  await database.isSound()
})
