// Each invariant is broken once by plain SQL, in a schema in which everything is right; and just that is found. What can be
// made anew is made anew. All of it happens in a transaction that is taken back.
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DERIVED, type Derived } from '../../src/store/checks.ts'
import { Connection, TextCache } from '../../src/stores/postgres/connection.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { checkInvariants } from '../../src/stores/postgres/statements/checks/check-invariants.ts'
import { rebuild } from '../../src/stores/postgres/statements/rebuild.ts'
import { Interned, Transaction } from '../../src/stores/postgres/transaction.ts'
import { liveLively } from '../doctor/lively-database.ts'
import { newSchema, postgresUrl } from './schemas.ts'

let client: Client
let connection: Connection
let now: number
let end: () => void
let life: Promise<void>

beforeAll(async () => {
  const schema = newSchema()
  const over = new Promise<void>((resolve) => {
    end = resolve
  })
  await new Promise<void>((resolve, reject) => {
    life = liveLively(postgres(postgresUrl(), { schema }), async (_, at) => {
      now = at
      resolve()
      await over
    })
    life.catch(reject)
  })
  client = new Client({ connectionString: postgresUrl() })
  await client.connect()
  connection = new Connection(client, { schema, prepares: false, pipelines: true, patienceMs: null }, new TextCache())
}, 60_000)

afterAll(async () => {
  end()
  await life
  await client.end()
})

/** Does something, and takes it back. */
async function tryOut(work: () => Promise<void>): Promise<void> {
  await client.query('begin')
  try {
    await work()
  } finally {
    await client.query('rollback')
  }
}

async function findings() {
  const checked = await checkInvariants(connection, now)
  return checked.flatMap(({ invariant, findings: found }) => found.map((finding) => ({ invariant, ...finding })))
}

/** The id of the first Job of this name. */
const jobId = (name: string) => `(select job_id from pawl.jobs where name = '${name}' order by seq limit 1)`
const seq = (name: string) => `(select seq from pawl.jobs where name = '${name}' order by seq limit 1)`
const lastSeq = (name: string) => `(select seq from pawl.jobs where name = '${name}' order by seq desc limit 1)`
const lastId = (name: string) => `(select job_id from pawl.jobs where name = '${name}' order by seq desc limit 1)`
const runId = (name: string) => `(select run_id from pawl.runs where seq = ${seq(name)})`
const groupId = (name: string) => `(select group_id from pawl.groups where name = '${name}')`
const scheduleId = (name: string) => `(select schedule_id from pawl.schedules where name = '${name}')`
const reservation = (status: string) => `(select reservation_id from pawl.reservations where status = '${status}')`

test('in a schema in which everything is right nothing is found, and nothing made anew', () =>
  tryOut(async () => {
    expect(await findings()).toEqual([])
    for (const what of DERIVED) expect([what, await rebuildNow(what)]).toEqual([what, 0])
  }))

function rebuildNow(what: Derived): Promise<number> {
  return rebuild(new Transaction(connection, new Interned()), what, now)
}

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
      sql: [`update pawl.runs set finished_at = null where seq = ${seq('ended')}`],
      rows: [runId('ended')],
    },
    {
      what: 'a completed Run with a reason',
      sql: [`update pawl.runs set reason = 'error' where seq = ${seq('ended')}`],
      rows: [runId('ended')],
    },
    {
      what: 'a completed Run of a cancelled Job',
      sql: [`update pawl.jobs set cancelled_at = 1 where seq = ${seq('ended')}`],
      rows: [runId('ended')],
      also: ['statistics'],
    },
    {
      what: 'a direct execution that is over and executes',
      sql: ["update pawl.reservations set ended_at = 1 where status = 'WAITING'"],
      rows: [reservation('WAITING')],
    },
  ],
  I4: [
    {
      what: 'a gap in the attempts of a chain',
      sql: [`update pawl.jobs set attempt = 9 where seq = ${lastSeq('failed')}`],
      rows: [lastId('failed')],
    },
    {
      what: 'a retry of nothing',
      sql: [`update pawl.jobs set retry_of = 'nothing' where seq = ${lastSeq('failed')}`],
      rows: [
        lastId('failed'),
        `(select job_id from pawl.jobs where name = 'failed' order by seq desc limit 1 offset 1)`,
      ],
      // The Run before it lacks its retry as well.
      remedy: 'of both kinds',
    },
    {
      what: 'a retry of a Run that succeeded',
      sql: [
        `update pawl.runs set status = 'COMPLETED', reason = null, will_retry = false where seq = ${seq('failed')}`,
      ],
      rows: [`(select job_id from pawl.jobs where retry_of = ${jobId('failed')})`],
      also: ['statistics', 'uncompleted-runs'],
    },
    {
      what: 'a retry beyond its budget',
      sql: [`update pawl.jobs set error_retries = 4 where retry_of = ${jobId('failed')}`],
      rows: [`(select job_id from pawl.jobs where retry_of = ${jobId('failed')})`],
    },
    {
      what: 'a retry that was promised and is not there',
      sql: [`update pawl.runs set will_retry = true where seq = ${lastSeq('failed')}`],
      rows: [lastId('failed')],
      remedy: 'recovery',
      also: ['uncompleted-runs'],
    },
  ],
  I5: [
    {
      what: 'a Job in no state at all',
      sql: [`delete from pawl.queue where seq = ${seq('delayed')}`],
      rows: [jobId('delayed')],
      remedy: 'recovery',
    },
    {
      what: 'a Job that is queued though it has ended',
      sql: [
        `insert into pawl.queue (priority, position, created_at, seq, lane_id, ready, awaits_predecessor, run_at)
         select priority, position, created_at, seq, lane_id, false, false, run_at from pawl.jobs where seq = ${seq('ended')}`,
      ],
      rows: [jobId('ended')],
    },
    {
      what: 'a row in the queue for no Job',
      sql: [
        'insert into pawl.queue (seq, position, created_at, run_at, priority, lane_id, ready) values (999999, 1, 1, 1, 0, 1, false)',
      ],
      rows: ['999999'],
    },
    {
      what: 'a Run of no Job',
      sql: [
        "insert into pawl.runs (seq, run_id, node_seq, status, started_at, finished_at) values (999999, 'stray', 1, 'COMPLETED', 1, 1)",
      ],
      rows: ["'stray'"],
      also: ['statistics'],
    },
    {
      what: 'a RUNNING Job without an occupancy',
      sql: [
        `delete from pawl.occupancies where seq = ${seq('parent')}`,
        // So that the missing body is all that is wrong.
        `update pawl.business_keys set chain_id = ${jobId('parent')} where business_key = 'the-model'`,
      ],
      rows: [jobId('parent')],
      remedy: 'recovery',
      also: ['permits'],
    },
    {
      what: 'a direct execution without an occupancy',
      sql: [
        'delete from pawl.direct_occupancies',
        "update pawl.reservations set status = 'RUNNING' where outcome = 'FAILED'",
        "update pawl.reservations set ended_at = null, outcome = null, reason = null where outcome is not null and status = 'RUNNING'",
      ],
      rows: [reservation('RUNNING')],
      also: ['permits'],
    },
  ],
  I7: [
    {
      what: 'params that are no JSON',
      sql: [`update pawl.jobs set params = '{' where seq = ${seq('ended')}`],
      rows: [jobId('ended')],
    },
    {
      what: 'a result that is no JSON',
      sql: [`update pawl.runs set result = '{' where seq = ${seq('ended')}`],
      rows: [runId('ended')],
    },
  ],
  I8: [
    {
      what: 'a place in the queue that is not the one of the Job',
      sql: [`update pawl.queue set position = position + 1 where seq = ${seq('delayed')}`],
      rows: [jobId('delayed')],
      remedy: 'queue',
    },
  ],
  I9: [
    {
      what: 'two Jobs for one slot',
      sql: [
        'drop index pawl.jobs_slot',
        `update pawl.jobs set schedule_id = s.schedule_id, slot_at = s.slot_at, created_at = s.slot_at
         from (select schedule_id, slot_at from pawl.jobs where slot_at is not null limit 1) as s
         where jobs.seq = ${seq('ended')}`,
      ],
      rows: [
        `(select schedule_id || ' at ' || to_char(to_timestamp(slot_at / 1000.0) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') from pawl.jobs where seq = ${seq('ended')})`,
      ],
      also: ['I17'],
    },
    {
      what: 'a Job before its slot',
      sql: ['update pawl.jobs set slot_at = created_at + 1 where slot_at is not null'],
      rows: ['(select job_id from pawl.jobs where slot_at is not null)'],
    },
    {
      what: 'a next slot of a disabled schedule',
      sql: [`update pawl.schedules set enabled = false where schedule_id = ${scheduleId('yearly')}`],
      rows: [scheduleId('yearly')],
    },
    {
      what: 'a chain that counts as live and has settled',
      sql: [
        `update pawl.jobs set schedule_id = ${scheduleId('yearly')} where seq = ${seq('ended')}`,
        `insert into pawl.scheduled_chains values (${scheduleId('yearly')}, ${seq('ended')})`,
      ],
      rows: [scheduleId('yearly')],
      remedy: 'scheduled-chains',
    },
    {
      what: 'a live chain that its schedule does not know',
      sql: ['delete from pawl.scheduled_chains'],
      rows: ['(select job_id from pawl.jobs where slot_at is not null)'],
      remedy: 'scheduled-chains',
    },
  ],
  I10: [
    {
      what: 'a business key of a settled chain',
      sql: [`insert into pawl.business_keys values ('tried', ${jobId('failed')})`],
      rows: ["'tried'"],
      remedy: 'business-keys',
    },
    {
      what: 'a live Job without its business key',
      sql: ["delete from pawl.business_keys where business_key = 'later'"],
      rows: [jobId('delayed')],
      remedy: 'business-keys',
    },
    {
      what: 'an idempotency key that leads to another Job',
      sql: [`insert into pawl.idempotency_keys values ('second', ${jobId('ended')}, 'f', 1)`],
      rows: ["'second'"],
    },
    {
      what: 'an idempotency key that is not known',
      sql: ['delete from pawl.idempotency_keys'],
      rows: [jobId('ended')],
    },
  ],
  I11: [
    {
      what: 'a body that takes other permits than its Job',
      sql: [
        `update pawl.occupancies set lane_id = (select lane_id from pawl.lanes where type = 'quick') where seq = ${seq('parent')}`,
      ],
      rows: [jobId('parent')],
      also: ['permits'],
    },
    {
      what: 'more bodies than a limit allows',
      sql: ["update pawl.limits set max = 1 where name = 'running'"],
      rows: ["'running: 4 of 1'"],
      severity: 'warning',
    },
    {
      what: 'a limit that leaves no permit',
      sql: ["insert into pawl.limits values ('resource:nothing', 0)"],
      rows: ["'resource:nothing'"],
    },
    {
      what: 'more bodies than a node has places',
      sql: ['update pawl.nodes set concurrency = 1'],
      rows: ['(select node_id from pawl.nodes where ended_at is null)'],
      severity: 'warning',
    },
  ],
  I12: [
    {
      what: 'a wrong number of unmet parents',
      sql: [`update pawl.queue set unmet_parents = 2 where seq = ${seq('child')}`],
      rows: [jobId('child')],
      remedy: 'queue',
    },
    {
      what: 'a retry that waits for a body that has ended',
      sql: [`delete from pawl.occupancies where seq = ${seq('timed out')}`],
      rows: [lastId('timed out')],
      remedy: 'queue',
      also: ['permits'],
    },
    {
      what: 'a ready Job that waits for a parent',
      sql: [`update pawl.queue set ready = true where seq = ${seq('child')}`],
      rows: [jobId('child')],
      remedy: 'queue',
    },
    {
      what: 'a ready Job whose time has not come',
      sql: [`update pawl.queue set ready = true where seq = ${seq('delayed')}`],
      rows: [jobId('delayed')],
      severity: 'warning',
    },
    {
      what: 'a wrong number of parents',
      sql: [`update pawl.jobs set parents = 2 where seq = ${seq('child')}`],
      rows: [jobId('child')],
    },
    {
      what: 'an edge of a settled child that still counts',
      sql: [`update pawl.dependencies set met = 1 where child_seq = ${seq('bereft')}`],
      rows: [jobId('bereft')],
    },
    {
      what: 'a child that waits for a parent that has settled',
      sql: [`update pawl.dependencies set on_failure = 'cancel' where child_seq = ${seq('patient')}`],
      rows: [jobId('patient')],
      remedy: 'dependents',
    },
    {
      what: 'a member that waits for one that has settled',
      sql: [
        `update pawl.dependencies set parent_seq = ${seq('order 1')}, parent_id = ${jobId('order 1')} where child_seq = ${seq('order 3')}`,
      ],
      rows: [jobId('order 3')],
      remedy: 'dependents',
    },
    {
      what: 'a child that waits for nobody',
      sql: [`update pawl.dependencies set parent_seq = 999999 where child_seq = ${seq('child')}`],
      rows: [jobId('child')],
    },
    {
      what: 'a parent that does not say that somebody waits for it',
      sql: [`update pawl.jobs set awaited = false where seq = ${seq('parent')}`],
      rows: [jobId('parent')],
      remedy: 'dependents',
    },
    {
      what: 'a child that executes before its parent has settled',
      sql: [
        `insert into pawl.dependencies values (${seq('parent')}, ${jobId('child')}, ${seq('child')}, 0, false, 'cancel', 0)`,
        `update pawl.jobs set parents = 1 where seq = ${seq('parent')}`,
      ],
      rows: [jobId('parent')],
    },
  ],
  I13: [
    {
      what: 'a wrong count',
      sql: ["update pawl.groups set completed = completed + 1 where name = 'in order'"],
      rows: [groupId('in order')],
      remedy: 'groups',
    },
    {
      what: 'a group that has settled too early',
      sql: ["update pawl.groups set finished_at = 1 where name = 'in order'"],
      rows: [groupId('in order')],
      remedy: 'groups',
    },
    {
      what: 'a group that has not settled',
      sql: ["update pawl.groups set finished_at = null where name = 'over'"],
      rows: [groupId('over')],
      remedy: 'groups',
    },
  ],
  I14: [
    {
      what: 'a pending delivery without a next attempt',
      sql: [
        "update pawl.deliveries set status = 'PENDING', next_attempt_at = null where delivery_seq = (select min(delivery_seq) from pawl.deliveries)",
      ],
      rows: ['(select delivery_id from pawl.deliveries order by delivery_seq limit 1)'],
    },
    {
      what: 'a pending delivery to a webhook that was removed',
      sql: [
        "update pawl.deliveries set status = 'PENDING', next_attempt_at = 1 where delivery_seq = (select min(delivery_seq) from pawl.deliveries)",
        'update pawl.webhooks set deleted_at = 1',
      ],
      rows: ['(select delivery_id from pawl.deliveries order by delivery_seq limit 1)'],
    },
    {
      what: 'an end that was not told to the URL of its Job',
      sql: [`delete from pawl.deliveries where job_seq = ${seq('told')} and event = 'job.run.completed'`],
      rows: [jobId('told')],
    },
    {
      what: 'a cancellation that was not told to the URL of its Job',
      sql: [`delete from pawl.deliveries where job_seq = ${seq('unwanted')} and event = 'job.cancelled'`],
      rows: [jobId('unwanted')],
    },
  ],
  I15: [
    {
      what: 'bodies on a node that has left',
      sql: [
        'update pawl.nodes set ended_at = 1',
        `delete from pawl.direct_occupancies where reservation_seq not in (select reservation_seq from pawl.reservations where status = 'RUNNING')`,
        `delete from pawl.occupancies where seq <> ${seq('parent')}`,
        `update pawl.queue set awaits_predecessor = false`,
      ],
      rows: [jobId('parent')],
      remedy: 'nodes',
      also: ['permits'],
    },
    {
      what: 'a body on another node than its Run',
      sql: [
        "insert into pawl.nodes (node_id, name, host, pid, types, concurrency, started_at, claims) values ('other', 'o', 'h', 1, '[]', 9, 1, true)",
        `update pawl.occupancies set node_seq = (select node_seq from pawl.nodes where node_id = 'other') where seq = ${seq('parent')}`,
      ],
      rows: [jobId('parent')],
    },
  ],
  I16: [
    {
      what: 'a failure without a reason',
      sql: [`update pawl.runs set reason = null where seq = ${seq('failed')}`],
      rows: [runId('failed')],
    },
    {
      what: 'a failure with a reason that nobody knows',
      sql: [`update pawl.runs set reason = 'bad luck' where seq = ${seq('failed')}`],
      rows: [runId('failed')],
    },
  ],
  I17: [
    {
      what: 'a row that refers to nothing',
      sql: ["insert into pawl.run_logs (seq, line, at, level, text) values (999999, 1, 1, 'info', 'x')"],
      rows: ["'logs of job number 999999 to a run'"],
    },
    {
      what: 'a missing index',
      sql: ['drop index pawl.jobs_retry_of'],
      rows: ["'unique index jobs_retry_of'"],
    },
    {
      what: 'a table that somebody added',
      sql: ['create table pawl.mine (seq bigint)'],
      rows: ["'table mine'", "'column mine.seq'"],
      severity: 'warning',
    },
  ],
  permits: [
    {
      what: 'a permit of a body that has ended',
      sql: [`insert into pawl.permits (name, slot, job_seq) values ('type:quick', 1, ${seq('ended')})`],
      rows: ["'type:quick 1'"],
      remedy: 'permits',
    },
    {
      what: 'a body that does not say that it has permits',
      sql: [`update pawl.occupancies set has_permits = false where seq = ${seq('parent')}`],
      rows: [jobId('parent')],
      remedy: 'permits',
    },
    {
      what: 'a body without a permit of its resource',
      sql: [`update pawl.permits set job_seq = null where name = 'resource:gpu' and job_seq = ${seq('parent')}`],
      rows: [`'resource:gpu of ' || ${jobId('parent')}`],
    },
    {
      what: 'a body with a permit that it does not need',
      sql: [`insert into pawl.permits (name, slot, job_seq) values ('resource:ink', 1, ${seq('parent')})`],
      rows: [`'resource:ink of ' || ${jobId('parent')}`],
    },
  ],
  'uncompleted-runs': [
    {
      what: 'a Run that failed and is not found by that',
      sql: [`delete from pawl.uncompleted_runs where seq = ${seq('failed')}`],
      rows: [runId('failed')],
      remedy: 'uncompleted-runs',
    },
    {
      what: 'a Run that is found as failed and was completed',
      sql: [
        `insert into pawl.uncompleted_runs select 'FAILED', started_at, seq, false from pawl.runs where seq = ${seq('ended')}`,
      ],
      rows: [`'run of job number ' || ${seq('ended')}`],
      remedy: 'uncompleted-runs',
    },
  ],
  statistics: [
    {
      what: 'statistics that are too low',
      sql: ['update pawl.statistics set skipped = 0'],
      rows: ["'skipped: 0 stored, 1 counted'"],
    },
  ],
  tags: [
    {
      what: 'a Job that is not found by its tag',
      sql: ["delete from pawl.job_tags where tag = 'blue'"],
      rows: [jobId('ended')],
      remedy: 'tags',
    },
    {
      what: 'a Job that is found by a tag it has not',
      sql: [`insert into pawl.job_tags values ('green', ${seq('ended')})`],
      rows: [`'green of job number ' || ${seq('ended')}`],
      remedy: 'tags',
    },
  ],
  policies: [
    {
      what: 'a policy of a type that is no JSON',
      sql: ["update pawl.types set policy = 'not json' where type = 'quick'"],
      rows: ["'quick'"],
    },
    {
      what: 'a policy of a type that is no policy',
      sql: [`update pawl.types set policy = '{"retry":{}}' where type = 'quick'`],
      rows: ["'quick'"],
    },
    {
      what: 'a policy of Jobs that is no JSON',
      sql: ["insert into pawl.policies (policy_id, body, digest) overriding system value values (999, '{', 'x')"],
      rows: ["'policy number 999'"],
    },
    {
      what: 'a policy of Jobs that is no policy',
      sql: ["insert into pawl.policies (policy_id, body, digest) overriding system value values (999, 'null', 'x')"],
      rows: ["'policy number 999'"],
    },
  ],
  'api-keys': [
    {
      what: 'a hash that is none',
      sql: ["update pawl.api_keys set hash = 'secret'"],
      rows: ["'key_1'"],
    },
  ],
}

for (const [invariant, breaks] of Object.entries(BREAKS)) {
  describe(`${invariant} finds`, () => {
    test.each(breaks)('$what', ({ sql, rows, severity = 'fault', remedy = null, also = [] }) =>
      tryOut(async () => {
        for (const statement of sql) await connection.run(statement)
        const found = await findings()
        expect(new Set(found.map((finding) => finding.invariant))).toEqual(new Set([invariant, ...also]))
        const own = found.filter((finding) => finding.invariant === invariant)
        const expected: string[] = []
        for (const row of rows) expected.push(String((await connection.get<{ id: string }>(`select ${row} as id`))?.id))
        expect(own.flatMap((finding) => finding.rows).toSorted()).toEqual(expected.toSorted())
        expect(own.map((finding) => finding.severity)).toEqual(own.map(() => severity))
        if (remedy !== 'of both kinds') expect(own.map((finding) => finding.remedy)).toEqual(own.map(() => remedy))
        if (!isDerived(remedy)) return
        expect(await rebuildNow(remedy)).toBe(expected.length)
        expect((await findings()).filter((finding) => finding.invariant === invariant)).toEqual([])
      }),
    )
  })
}

function isDerived(remedy: string | null): remedy is Derived {
  return DERIVED.some((derived) => derived === remedy)
}

test('a check that the database refuses is told as such, and the others go on', () =>
  tryOut(async () => {
    await connection.run('alter table pawl.api_keys rename column hash to hashes')
    const found = await findings()
    expect(found).toMatchObject([
      { invariant: 'I17', rows: ['column api_keys.hash', 'unique api_keys (hash)'] },
      { invariant: 'I17', severity: 'warning', rows: ['column api_keys.hashes', 'unique api_keys (hashes)'] },
      { invariant: 'api-keys', message: expect.stringMatching(/could not be checked: .*hash/) as string },
    ])
  }))
