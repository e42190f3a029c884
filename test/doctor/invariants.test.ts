// Each invariant is broken once by plain SQL, in a copy of a database in which everything is right; and just that is found.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROWS_LISTED_MAX } from '../../src/store/checks.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { type LivelyDatabase, makeLivelyDatabase } from './lively-database.ts'
import { copyOf, damage, openStore, select } from './stage.ts'

let lively: LivelyDatabase

beforeAll(async () => {
  lively = await makeLivelyDatabase()
})

afterAll(() => lively.remove())

async function findings(path: string) {
  const store = await openStore(path)
  const checked = await store.checkInvariants(lively.now)
  return checked.flatMap(({ invariant, findings: found }) => found.map((finding) => ({ invariant, ...finding })))
}

/** The id of the first Job of this name. */
const jobId = (name: string) => `(select job_id from pawl_jobs where name = '${name}' order by seq limit 1)`
const seq = (name: string) => `(select seq from pawl_jobs where name = '${name}' order by seq limit 1)`
const lastSeq = (name: string) => `(select seq from pawl_jobs where name = '${name}' order by seq desc limit 1)`
const lastId = (name: string) => `(select job_id from pawl_jobs where name = '${name}' order by seq desc limit 1)`
const runId = (name: string) => `(select run_id from pawl_runs where seq = ${seq(name)})`
const groupId = (name: string) => `(select group_id from pawl_groups where name = '${name}')`
const scheduleId = (name: string) => `(select schedule_id from pawl_schedules where name = '${name}')`
const reservation = (status: string) => `(select reservation_id from pawl_reservations where status = '${status}')`

/** As if there were so many Jobs that they had been listed by type. */
const listAll = `
insert into pawl_lane_jobs select lane_id, seq from pawl_jobs;
update pawl_counters set value = (select max(seq) from pawl_jobs) where name = 'last_lane_job'`

describe('a database in which everything is right', () => {
  test('has rows of every kind', () => {
    const tables = select(lively.path, "select name from sqlite_schema where type = 'table' and name like 'pawl_%'")
    const empty = tables
      .map(({ name }) => String(name))
      .filter((name) => select(lively.path, `select 1 from ${name} limit 1`).length === 0)
    // Small things happen at once, history is short, and nobody has pruned or asked through a door.
    expect(empty.toSorted()).toEqual([
      'pawl_audit',
      'pawl_cascades',
      'pawl_lane_jobs',
      'pawl_run_logs',
      'pawl_templates',
    ])
  })

  test('has neither a fault nor a warning, and every invariant that a database can show was looked at', async () => {
    const store = await openStore(copyOf(lively.path))
    const checked = await store.checkInvariants(lively.now)
    expect(checked.flatMap(({ findings: found }) => found)).toEqual([])
    const invariants = checked.map(({ invariant }) => invariant)
    const seen = ['I3', 'I4', 'I5', 'I7', 'I8', 'I9', 'I10', 'I11', 'I12', 'I13', 'I14', 'I15', 'I16', 'I17']
    expect(invariants).toEqual([...seen, 'statistics', 'tags', 'types', 'policies', 'api-keys'])
  })

  test('is left as it is', async () => {
    const path = copyOf(lively.path)
    const store = await openStore(path)
    const [before] = select(path, 'pragma data_version')
    await store.checkInvariants(lively.now)
    await store.readVitals(lively.now)
    expect(select(path, 'pragma data_version')).toEqual([before])
  })

  test('has none in memory either', async () => {
    const store = await sqlite(':memory:').open()
    const checked = await store.checkInvariants(Date.now())
    expect(checked.flatMap(({ findings: found }) => found)).toEqual([])
    await store.close()
  })
})

interface Break {
  readonly what: string
  readonly sql: readonly string[]
  /** SQL expressions of the ids that are named. */
  readonly rows: readonly string[]
  readonly severity?: 'warning'
  readonly remedy?: string
  /** Invariants that are contradicted as well, by the nature of the damage. */
  readonly also?: readonly string[]
}

const BREAKS: Readonly<Record<string, readonly Break[]>> = {
  I3: [
    {
      what: 'a Run with a status and without an end',
      sql: [`update pawl_runs set finished_at = null where seq = ${seq('ended')}`],
      rows: [runId('ended')],
    },
    {
      what: 'a completed Run with a reason',
      sql: [`update pawl_runs set reason = 'error' where seq = ${seq('ended')}`],
      rows: [runId('ended')],
    },
    {
      what: 'a completed Run of a cancelled Job',
      sql: [`update pawl_jobs set cancelled_at = 1 where seq = ${seq('ended')}`],
      rows: [runId('ended')],
      also: ['statistics'],
    },
    {
      what: 'a direct execution that is over and executes',
      sql: ["update pawl_reservations set ended_at = 1 where status = 'WAITING'"],
      rows: [reservation('WAITING')],
    },
  ],
  I4: [
    {
      what: 'a gap in the attempts of a chain',
      sql: [`update pawl_jobs set attempt = 9 where seq = ${lastSeq('failed')}`],
      rows: [lastId('failed')],
    },
    {
      what: 'a retry of nothing',
      sql: [`update pawl_jobs set retry_of = 'nothing' where seq = ${lastSeq('failed')}`],
      rows: [
        lastId('failed'),
        `(select job_id from pawl_jobs where name = 'failed' order by seq desc limit 1 offset 1)`,
      ],
      // The Run before it lacks its retry as well.
      remedy: 'of both kinds',
    },
    {
      what: 'a retry of a Run that succeeded',
      sql: [`update pawl_runs set status = 'COMPLETED', reason = null, will_retry = 0 where seq = ${seq('failed')}`],
      rows: [`(select job_id from pawl_jobs where retry_of = ${jobId('failed')})`],
      also: ['statistics'],
    },
    {
      what: 'a retry beyond its budget',
      sql: [`update pawl_jobs set error_retries = 4 where retry_of = ${jobId('failed')}`],
      rows: [`(select job_id from pawl_jobs where retry_of = ${jobId('failed')})`],
    },
    {
      what: 'a retry that was promised and is not there',
      sql: [`update pawl_runs set will_retry = 1 where seq = ${lastSeq('failed')}`],
      rows: [lastId('failed')],
      remedy: 'recovery',
    },
  ],
  I5: [
    {
      what: 'a Job in no state at all',
      sql: [`delete from pawl_queue where seq = ${seq('delayed')}`],
      rows: [jobId('delayed')],
      remedy: 'recovery',
    },
    {
      what: 'a Job that is queued though it has ended',
      sql: [
        `insert into pawl_queue (priority, position, created_at, seq, lane_id, ready, awaits_predecessor, run_at)
         select priority, position, created_at, seq, lane_id, 0, 0, run_at from pawl_jobs where seq = ${seq('ended')}`,
      ],
      rows: [jobId('ended')],
    },
    {
      what: 'a row in the queue for no Job',
      sql: ['insert into pawl_queue values (0, 1, 1, 999999, 1, 0, 0, 0, 0)'],
      rows: ['999999'],
    },
    {
      what: 'a Run of no Job',
      sql: [
        "insert into pawl_runs (seq, run_id, node_seq, status, started_at, finished_at) values (999999, 'stray', 1, 'COMPLETED', 1, 1)",
      ],
      rows: ["'stray'"],
      also: ['I17', 'statistics'],
    },
    {
      what: 'a RUNNING Job without an occupancy',
      sql: [
        `delete from pawl_occupancies where seq = ${seq('parent')}`,
        // So that the missing body is all that is wrong.
        `update pawl_business_keys set chain_id = ${jobId('parent')} where business_key = 'the-model'`,
      ],
      rows: [jobId('parent')],
      remedy: 'recovery',
    },
    {
      what: 'a direct execution without an occupancy',
      sql: [
        'delete from pawl_direct_occupancies',
        "update pawl_reservations set status = 'RUNNING' where outcome = 'FAILED'",
        "update pawl_reservations set ended_at = null, outcome = null, reason = null where outcome is not null and status = 'RUNNING'",
      ],
      rows: [reservation('RUNNING')],
    },
  ],
  I7: [
    {
      what: 'params that are no JSON',
      sql: [`update pawl_jobs set params = '{' where seq = ${seq('ended')}`],
      rows: [jobId('ended')],
    },
    {
      what: 'a result that is no JSON',
      sql: [`update pawl_runs set result = '{' where seq = ${seq('ended')}`],
      rows: [runId('ended')],
    },
  ],
  I8: [
    {
      what: 'a place in the queue that is not the one of the Job',
      sql: [`update pawl_queue set position = position + 1 where seq = ${seq('delayed')}`],
      rows: [jobId('delayed')],
      remedy: 'queue',
    },
  ],
  I9: [
    {
      what: 'two Jobs for one slot',
      sql: [
        'drop index pawl_jobs_slot',
        `update pawl_jobs set schedule_id = s.schedule_id, slot_at = s.slot_at, created_at = s.slot_at
         from (select schedule_id, slot_at from pawl_jobs where slot_at is not null limit 1) as s
         where pawl_jobs.seq = ${seq('ended')}`,
      ],
      rows: [
        `(select schedule_id || ' at ' || strftime('%Y-%m-%dT%H:%M:%fZ', slot_at / 1000.0, 'unixepoch') from pawl_jobs where seq = ${seq('ended')})`,
      ],
      also: ['I17'],
    },
    {
      what: 'a Job before its slot',
      sql: ['update pawl_jobs set slot_at = created_at + 1 where slot_at is not null'],
      rows: ['(select job_id from pawl_jobs where slot_at is not null)'],
    },
    {
      what: 'a next slot of a disabled schedule',
      sql: [`update pawl_schedules set enabled = 0 where schedule_id = ${scheduleId('yearly')}`],
      rows: [scheduleId('yearly')],
    },
    {
      what: 'a chain that counts as live and has settled',
      sql: [
        `update pawl_jobs set schedule_id = ${scheduleId('yearly')} where seq = ${seq('ended')}`,
        `insert into pawl_scheduled_chains values (${scheduleId('yearly')}, ${seq('ended')})`,
      ],
      rows: [scheduleId('yearly')],
      remedy: 'scheduled-chains',
    },
    {
      what: 'a live chain that its schedule does not know',
      sql: ['delete from pawl_scheduled_chains'],
      rows: ['(select job_id from pawl_jobs where slot_at is not null)'],
      remedy: 'scheduled-chains',
    },
  ],
  I10: [
    {
      what: 'a business key of a settled chain',
      sql: [`insert into pawl_business_keys values ('tried', ${jobId('failed')})`],
      rows: ["'tried'"],
      remedy: 'business-keys',
    },
    {
      what: 'a live Job without its business key',
      sql: ["delete from pawl_business_keys where business_key = 'later'"],
      rows: [jobId('delayed')],
      remedy: 'business-keys',
    },
    {
      what: 'an idempotency key that leads to another Job',
      sql: [`insert into pawl_idempotency_keys values ('second', ${jobId('ended')}, 'f', 1)`],
      rows: ["'second'"],
    },
    {
      what: 'an idempotency key that is not known',
      sql: ['delete from pawl_idempotency_keys'],
      rows: [jobId('ended')],
    },
  ],
  I11: [
    {
      what: 'a body that takes other permits than its Job',
      sql: [
        `update pawl_occupancies set lane_id = (select lane_id from pawl_lanes where type = 'quick') where seq = ${seq('parent')}`,
      ],
      rows: [jobId('parent')],
    },
    {
      what: 'more bodies than a limit allows',
      sql: ["insert or replace into pawl_limits values ('running', 1)"],
      rows: ["'running: 4 of 1'"],
      severity: 'warning',
    },
    {
      what: 'a limit that leaves no permit',
      sql: ["insert or replace into pawl_limits values ('resource:nothing', 0)"],
      rows: ["'resource:nothing'"],
    },
    {
      what: 'more bodies than a node has places',
      sql: ['update pawl_nodes set concurrency = 1'],
      rows: ['(select node_id from pawl_nodes)'],
      severity: 'warning',
    },
  ],
  I12: [
    {
      what: 'a wrong number of unmet parents',
      sql: [`update pawl_queue set unmet_parents = 2 where seq = ${seq('child')}`],
      rows: [jobId('child')],
      remedy: 'queue',
    },
    {
      what: 'a retry that waits for a body that has ended',
      sql: [`delete from pawl_occupancies where seq = ${seq('timed out')}`],
      rows: [lastId('timed out')],
      remedy: 'queue',
    },
    {
      what: 'a ready Job that waits for a parent',
      sql: [`update pawl_queue set ready = 1 where seq = ${seq('child')}`],
      rows: [jobId('child')],
      remedy: 'queue',
    },
    {
      what: 'a ready Job whose time has not come',
      sql: [`update pawl_queue set ready = 1 where seq = ${seq('delayed')}`],
      rows: [jobId('delayed')],
      severity: 'warning',
    },
    {
      what: 'a wrong number of parents',
      sql: [`update pawl_jobs set parents = 2 where seq = ${seq('child')}`],
      rows: [jobId('child')],
    },
    {
      what: 'an edge of a settled child that still counts',
      sql: [`update pawl_dependencies set met = 1 where child_seq = ${seq('bereft')}`],
      rows: [jobId('bereft')],
    },
    {
      what: 'a child that waits for a parent that has settled',
      sql: [`update pawl_dependencies set on_failure = 'cancel' where child_seq = ${seq('patient')}`],
      rows: [jobId('patient')],
      remedy: 'dependents',
    },
    {
      what: 'a member that waits for one that has settled',
      sql: [
        `update pawl_dependencies set parent_seq = ${seq('order 1')}, parent_id = ${jobId('order 1')} where child_seq = ${seq('order 3')}`,
      ],
      rows: [jobId('order 3')],
      remedy: 'dependents',
    },
    {
      what: 'a child that waits for nobody',
      sql: [`update pawl_dependencies set parent_seq = 999999 where child_seq = ${seq('child')}`],
      rows: [jobId('child')],
    },
    {
      what: 'a child that executes before its parent has settled',
      sql: [
        `insert into pawl_dependencies values (${seq('parent')}, ${jobId('child')}, ${seq('child')}, 0, 0, 'cancel', 0)`,
        `update pawl_jobs set parents = 1 where seq = ${seq('parent')}`,
      ],
      rows: [jobId('parent')],
    },
  ],
  I13: [
    {
      what: 'a wrong count',
      sql: ["update pawl_groups set completed = completed + 1 where name = 'in order'"],
      rows: [groupId('in order')],
      remedy: 'groups',
    },
    {
      what: 'a group that has settled too early',
      sql: ["update pawl_groups set finished_at = 1 where name = 'in order'"],
      rows: [groupId('in order')],
      remedy: 'groups',
    },
    {
      what: 'a group that has not settled',
      sql: ["update pawl_groups set finished_at = null where name = 'over'"],
      rows: [groupId('over')],
      remedy: 'groups',
    },
  ],
  I14: [
    {
      what: 'a pending delivery without a next attempt',
      sql: ["update pawl_deliveries set status = 'PENDING', next_attempt_at = null where delivery_seq = 1"],
      rows: ['(select delivery_id from pawl_deliveries where delivery_seq = 1)'],
    },
    {
      what: 'a pending delivery to a webhook that was removed',
      sql: [
        "update pawl_deliveries set status = 'PENDING', next_attempt_at = 1 where delivery_seq = 1",
        'update pawl_webhooks set deleted_at = 1',
      ],
      rows: ['(select delivery_id from pawl_deliveries where delivery_seq = 1)'],
    },
    {
      what: 'an end that was not told to the URL of its Job',
      sql: [`delete from pawl_deliveries where job_seq = ${seq('told')} and event = 'job.run.completed'`],
      rows: [jobId('told')],
    },
    {
      what: 'a cancellation that was not told to the URL of its Job',
      sql: [`delete from pawl_deliveries where job_seq = ${seq('unwanted')} and event = 'job.cancelled'`],
      rows: [jobId('unwanted')],
    },
  ],
  I15: [
    {
      what: 'bodies on a node that has left',
      sql: [
        'update pawl_nodes set ended_at = 1',
        `delete from pawl_direct_occupancies where reservation_seq not in (select reservation_seq from pawl_reservations where status = 'RUNNING')`,
        `delete from pawl_occupancies where seq <> ${seq('parent')}`,
        `update pawl_queue set awaits_predecessor = 0`,
      ],
      rows: [jobId('parent')],
      remedy: 'nodes',
    },
    {
      what: 'a body on another node than its Run',
      sql: [
        "insert into pawl_nodes (node_id, name, host, pid, types, concurrency, started_at) values ('other', 'o', 'h', 1, '[]', 9, 1)",
        `update pawl_occupancies set node_seq = (select node_seq from pawl_nodes where node_id = 'other') where seq = ${seq('parent')}`,
      ],
      rows: [jobId('parent')],
    },
  ],
  I16: [
    {
      what: 'a failure without a reason',
      sql: [`update pawl_runs set reason = null where seq = ${seq('failed')}`],
      rows: [runId('failed')],
    },
    {
      what: 'a failure with a reason that nobody knows',
      sql: [`update pawl_runs set reason = 'bad luck' where seq = ${seq('failed')}`],
      rows: [runId('failed')],
    },
  ],
  I17: [
    {
      what: 'a row that refers to nothing',
      sql: ["insert into pawl_run_logs (seq, line, at, level, text) values (999999, 1, 1, 'info', 'x')"],
      rows: ["'pawl_run_logs  to pawl_runs'"],
    },
    {
      what: 'a missing index',
      sql: ['drop index pawl_jobs_retry_of'],
      rows: ["'index pawl_jobs_retry_of'"],
    },
    {
      what: 'a trigger that somebody added',
      sql: ['create trigger mine after insert on pawl_jobs begin select 1; end'],
      rows: ["'trigger mine'"],
      severity: 'warning',
    },
  ],
  statistics: [
    {
      what: 'statistics that are too low',
      sql: ['update pawl_statistics set skipped = 0'],
      rows: ["'skipped: 0 stored, 1 counted'"],
    },
  ],
  tags: [
    {
      what: 'a Job that is not found by its tag',
      sql: ["delete from pawl_job_tags where tag = 'blue'"],
      rows: [jobId('ended')],
      remedy: 'tags',
    },
    {
      what: 'a Job that is found by a tag it has not',
      sql: [`insert into pawl_job_tags values ('green', ${seq('ended')})`],
      rows: [`'green of job number ' || ${seq('ended')}`],
      remedy: 'tags',
    },
  ],
  types: [
    {
      what: 'a Job that is not found by its type',
      sql: [listAll, `delete from pawl_lane_jobs where seq = ${seq('ended')}`],
      rows: [jobId('ended')],
      remedy: 'types',
    },
    {
      what: 'a Job that is found by a type it has not',
      sql: [listAll, 'insert into pawl_lane_jobs values (4711, 1)'],
      rows: ["'job number 1'"],
      remedy: 'types',
    },
    {
      what: 'a Job that is found twice by its type',
      sql: ['insert into pawl_lane_jobs select lane_id, seq from pawl_jobs where seq = 1'],
      rows: ["'job number 1'"],
      remedy: 'types',
    },
    {
      what: 'a list of Jobs by type that goes further than there are Jobs',
      sql: [listAll, "update pawl_counters set value = value + 10 where name = 'last_lane_job'"],
      rows: ["'last_lane_job is ' || (select max(seq) + 10 from pawl_jobs)"],
      remedy: 'types',
    },
    {
      what: 'a list of Jobs by type that ends nowhere',
      sql: ["delete from pawl_counters where name = 'last_lane_job'"],
      rows: ["'last_lane_job'"],
      remedy: 'types',
    },
  ],
  policies: [
    {
      what: 'a policy of a type that is no JSON',
      sql: ["update pawl_types set policy = 'not json' where type = 'quick'"],
      rows: ["'quick'"],
    },
    {
      what: 'a policy of a type that is no policy',
      sql: [`update pawl_types set policy = '{"retry":{}}' where type = 'quick'`],
      rows: ["'quick'"],
    },
    {
      what: 'a policy of Jobs that is no JSON',
      sql: ["insert into pawl_policies (policy_id, body) values (999, '{')"],
      rows: ["'policy number 999'"],
    },
    {
      what: 'a policy of Jobs that is no policy',
      sql: ["insert into pawl_policies (policy_id, body) values (999, 'null')"],
      rows: ["'policy number 999'"],
    },
  ],
  'api-keys': [
    {
      what: 'a hash that is none',
      sql: ["update pawl_api_keys set hash = 'secret'"],
      rows: ["'key_1'"],
    },
  ],
}

for (const [invariant, breaks] of Object.entries(BREAKS)) {
  describe(`${invariant} finds`, () => {
    test.each(breaks)('$what', async ({ sql, rows, severity = 'fault', remedy = null, also = [] }) => {
      const path = copyOf(lively.path)
      damage(path, ...sql)
      const found = await findings(path)
      expect(new Set(found.map((finding) => finding.invariant))).toEqual(new Set([invariant, ...also]))
      const own = found.filter((finding) => finding.invariant === invariant)
      const expected = rows.map((row) => String(select(path, `select ${row} as id`)[0]?.['id']))
      expect(own.flatMap((finding) => finding.rows).toSorted()).toEqual(expected.toSorted())
      expect(own.map((finding) => finding.severity)).toEqual(own.map(() => severity))
      if (remedy !== 'of both kinds') expect(own.map((finding) => finding.remedy)).toEqual(own.map(() => remedy))
      for (const { message, advice, count, rows: listed } of own) {
        expect(message).toMatch(/^[A-Z].*\.$/)
        expect(advice).toMatch(/^[A-Z].*\.$/)
        expect(count).toBe(listed.length)
      }
    })
  })
}

test('of many rows some are listed and all are counted, up to a limit', async () => {
  const path = copyOf(lively.path)
  damage(
    path,
    `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 1500)
     insert into pawl_job_tags select 'tag ' || n, n + 100000 from numbers`,
  )
  const [found] = await findings(path)
  expect(found).toMatchObject({ invariant: 'tags', count: 1_000 })
  expect(found?.rows).toHaveLength(ROWS_LISTED_MAX)
})
