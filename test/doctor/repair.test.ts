// `--fix`: what can be put right with certainty is, what cannot be is told, and a second look finds it so.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { examineStore, repairStore } from '../../src/operations/doctor.ts'
import { SettableClock } from '../../src/testing/index.ts'
import { type LivelyDatabase, makeLivelyDatabase } from './lively-database.ts'
import { contextOn, copyOf, damage, openStore, select } from './stage.ts'

let lively: LivelyDatabase

beforeAll(async () => {
  lively = await makeLivelyDatabase()
})

afterAll(() => lively.remove())

const SILENT = { info() {}, warn() {}, error() {} }

async function contextOf(path: string) {
  return contextOn(await openStore(path), new SettableClock(lively.now))
}

const seq = (name: string) => `(select seq from pawl_jobs where name = '${name}' order by seq limit 1)`
const jobId = (name: string) => `(select job_id from pawl_jobs where name = '${name}' order by seq limit 1)`
const SOME_SCHEDULE = "(select schedule_id from pawl_schedules where name = 'yearly')"

const ROW_OF_DELAYED = `
  insert or replace into pawl_queue (priority, position, created_at, seq, lane_id, ready, awaits_predecessor, run_at, unmet_parents)
  select 9, q.position, q.created_at, q.seq, q.lane_id, q.ready, q.awaits_predecessor, q.run_at, q.unmet_parents
  from pawl_queue q
  where q.seq = ${seq('delayed')}`
interface Fault {
  readonly what: string
  readonly remedy: string
  readonly sql: readonly string[]
  /** A question whose answer is 1 when it was put right. */
  readonly isRight: string
}

const FAULTS: readonly Fault[] = [
  {
    what: 'a wrong number of unmet parents',
    remedy: 'queue',
    sql: [`update pawl_queue set unmet_parents = 0, ready = 1 where seq = ${seq('child')}`],
    isRight: `select unmet_parents = 1 and ready = 0 from pawl_queue where seq = ${seq('child')}`,
  },
  {
    what: 'a place that is not the one of the Job',
    remedy: 'queue',
    sql: [`update pawl_queue set priority = 9, position = 1 where seq = ${seq('delayed')}`],
    isRight: `select q.priority = j.priority and q.position = j.position from pawl_queue q join pawl_jobs j using (seq) where seq = ${seq('delayed')}`,
  },
  {
    what: 'a Job that stands in the queue twice, once at its place',
    remedy: 'queue',
    sql: [ROW_OF_DELAYED],
    isRight: `select count(*) = 1 from pawl_queue where seq = ${seq('delayed')}`,
  },
  {
    what: 'a Job that stands in the queue twice, and nowhere right',
    remedy: 'queue',
    sql: [ROW_OF_DELAYED, `update pawl_queue set position = position + 1 where seq = ${seq('delayed')}`],
    isRight: `select count(*) = 1 from pawl_queue where seq = ${seq('delayed')}`,
  },
  {
    what: 'a Job that has ended, and stands in the queue elsewhere',
    remedy: 'queue',
    sql: [ROW_OF_DELAYED.replace('q.seq', seq('ended'))],
    isRight: `select count(*) = 0 from pawl_queue where seq = ${seq('ended')}`,
  },
  {
    what: 'a wrong count of a group that lives',
    remedy: 'groups',
    sql: ["update pawl_groups set failed = 2, completed = 0 where name = 'in order'"],
    isRight: "select failed = 0 and completed = 1 and finished_at is null from pawl_groups where name = 'in order'",
  },
  {
    what: 'a group that never settled',
    remedy: 'groups',
    sql: ["update pawl_groups set finished_at = null, completed = 0 where name = 'over'"],
    isRight: "select finished_at is not null and completed = 1 from pawl_groups where name = 'over'",
  },
  {
    what: 'a group that settled too early',
    remedy: 'groups',
    sql: ["update pawl_groups set finished_at = 1 where name = 'in order'"],
    isRight: "select finished_at is null from pawl_groups where name = 'in order'",
  },
  {
    what: 'tags that are missing and tags that are too many',
    remedy: 'tags',
    sql: ["delete from pawl_job_tags where tag = 'red'", `insert into pawl_job_tags values ('green', ${seq('ended')})`],
    isRight: "select group_concat(tag) = 'blue,red,red' from (select tag from pawl_job_tags order by tag)",
  },
  {
    what: 'Jobs that are missing in the list of their type, and some that are too many',
    remedy: 'types',
    sql: [
      "delete from pawl_counters where name = 'last_lane_job'",
      'insert into pawl_lane_jobs values (4711, 1), (4711, 471100)',
    ],
    isRight: `select group_concat(lane_id || ' ' || seq) = (
        select group_concat(j.lane_id || ' ' || j.seq)
        from pawl_jobs j
        where j.seq <= (select value from pawl_counters where name = 'last_lane_job')
      )
      from (select lane_id, seq from pawl_lane_jobs order by seq)`,
  },
  {
    what: 'a list of Jobs by type that goes further than there are Jobs',
    remedy: 'types',
    sql: ["update pawl_counters set value = 4711 where name = 'last_lane_job'"],
    isRight: `select count(*) = (select value from pawl_counters where name = 'last_lane_job') from pawl_lane_jobs`,
  },
  {
    what: 'a business key of a chain that has settled',
    remedy: 'business-keys',
    sql: [`insert into pawl_business_keys values ('tried', ${jobId('failed')})`],
    isRight: "select not exists (select 1 from pawl_business_keys where business_key = 'tried')",
  },
  {
    what: 'a live Job without its business key',
    remedy: 'business-keys',
    sql: ["delete from pawl_business_keys where business_key = 'later'"],
    isRight: `select chain_id = ${jobId('delayed')} from pawl_business_keys where business_key = 'later'`,
  },
  {
    what: 'a schedule that takes a settled chain for live',
    remedy: 'scheduled-chains',
    sql: [
      `update pawl_jobs set schedule_id = ${SOME_SCHEDULE} where seq = ${seq('ended')}`,
      `insert into pawl_scheduled_chains values (${SOME_SCHEDULE}, ${seq('ended')})`,
    ],
    isRight: `select not exists (select 1 from pawl_scheduled_chains where chain_seq = ${seq('ended')})`,
  },
  {
    what: 'a child whom nobody told that its parent has settled',
    remedy: 'dependents',
    sql: [`update pawl_dependencies set on_failure = 'run' where child_seq = ${seq('patient')}`],
    isRight: `select kind = 'settled' and subject = ${jobId('lost')} from pawl_cascades`,
  },
  {
    what: 'bodies on a node that has left',
    remedy: 'nodes',
    sql: ['update pawl_nodes set ended_at = 1'],
    isRight:
      'select not exists (select 1 from pawl_occupancies) and not exists (select 1 from pawl_direct_occupancies)',
  },
  {
    what: 'a RUNNING Job of which nothing is left',
    remedy: 'recovery',
    sql: [
      `delete from pawl_occupancies where seq = ${seq('parent')}`,
      `delete from pawl_runs where seq = ${seq('parent')}`,
    ],
    isRight: `select status = 'FAILED' and reason = 'crash' from pawl_runs where seq = ${seq('parent')}`,
  },
]

describe('is put right:', () => {
  test.each(FAULTS)('$what', async ({ remedy, sql, isRight }) => {
    const path = copyOf(lively.path)
    damage(path, ...sql)
    const { before, repairs, after } = await repairStore(await contextOf(path), { logger: SILENT })
    expect(before.ok).toBe(false)
    expect(repairs.map((repair) => repair.remedy)).toContain(remedy)
    expect(after.checks.filter(({ status }) => status === 'fault')).toEqual([])
    expect(after.ok).toBe(true)
    const [row] = select(path, isRight)
    expect(Object.values(row ?? {})).toEqual([1])
  })
})

test('what dead nodes left is recovered, and nothing of the doctor itself stays', async () => {
  const path = copyOf(lively.path)
  const context = await contextOf(path)
  const { repairs, after } = await repairStore(context, { logger: SILENT })
  expect(repairs).toMatchObject([{ remedy: 'recovery' }])
  expect(repairs[0]?.message).toMatch(/^Recovery ended .* 1 nodes, /)
  expect(after.checks.find(({ id }) => id === 'nodes')).toMatchObject({ status: 'ok' })
  expect(after.ok).toBe(true)
  expect(select(path, 'select name from pawl_nodes where ended_at is null')).toEqual([])
  const again = await repairStore(context, { logger: SILENT })
  expect(again.repairs).toEqual([])
  expect(again.after).toBe(again.before)
})

test('a remedy that fails is told, and the others are tried', async () => {
  const path = copyOf(lively.path)
  damage(
    path,
    "update pawl_job_tags set tag = 'green' where tag = 'red'",
    "update pawl_groups set failed = 2, completed = 0 where name = 'in order'",
    "create trigger broken before update on pawl_groups begin select raise(abort, 'not today'); end",
  )
  const { repairs, after } = await repairStore(await contextOf(path), { logger: SILENT })
  expect(repairs.map(({ remedy }) => remedy)).toContain('tags')
  expect(after.ok).toBe(false)
  expect(after.checks.find(({ id }) => id === 'repair')).toMatchObject({
    status: 'fault',
    findings: [{ message: 'The remedy `groups` failed, and changed nothing: not today.' }],
  })
})

test('a remedy that changes nothing is told as no repair', async () => {
  const path = copyOf(lively.path)
  await repairStore(await contextOf(path), { logger: SILENT })
  damage(
    path,
    "update pawl_groups set failed = 2, completed = 0 where name = 'over'",
    'create trigger deaf before update on pawl_groups begin select raise(ignore); end',
  )
  const { before, repairs, after } = await repairStore(await contextOf(path), { logger: SILENT })
  expect(before.checks.flatMap(({ findings }) => findings.map(({ remedy }) => remedy))).toContain('groups')
  expect(repairs).toEqual([])
  expect(after).toBe(before)
})

test('what cannot be put right is left as it is, and told', async () => {
  const path = copyOf(lively.path)
  await repairStore(await contextOf(path), { logger: SILENT })
  damage(path, `update pawl_runs set reason = null where seq = ${seq('failed')}`)
  const { repairs, after } = await repairStore(await contextOf(path), { logger: SILENT })
  expect(repairs).toEqual([])
  expect(after.checks.filter(({ status }) => status === 'fault')).toMatchObject([
    { id: 'I16', findings: [{ remedy: null }] },
  ])
})

test('looking changes nothing, whatever is wrong', async () => {
  const path = copyOf(lively.path)
  damage(path, ...FAULTS.filter(({ remedy }) => remedy !== 'nodes').flatMap(({ sql }) => sql))
  const context = await contextOf(path)
  const dump = () => JSON.stringify(select(path, 'select * from pawl_jobs join pawl_queue using (seq)'))
  const [before, rows] = [select(path, 'pragma data_version'), dump()]
  await examineStore(context)
  expect(select(path, 'pragma data_version')).toEqual(before)
  expect(dump()).toEqual(rows)
})
