// Several nodes claim from one queue at the same time. What must hold whatever they do: each Job starts once, a limit is never
// exceeded, nobody waits for anybody, and what cannot start costs nothing.
import assert from 'node:assert/strict'
import { Client } from 'pg'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { LIMIT_MAX, limitsTaken, RUNNING_LIMIT, resourceLimit, typeLimit } from '../../src/domain/limits.ts'
import { endOf, jobTaking, NOW, newId, newJob, newJobs, newNode } from '../../src/store/conformance/fixtures.ts'
import { assertNoFault } from '../../src/store/conformance/no-fault.ts'
import { NewestRow, Stage } from '../../src/store/conformance/stage.ts'
import { claimBoth, endOfDirect, openTicket, ticketTaking } from '../../src/store/conformance/ticket-fixtures.ts'
import type { NewJob } from '../../src/store/jobs.ts'
import type { ClaimedJob } from '../../src/store/runs.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { giveBackSchema, postgresPool, postgresUrl, takeSchema } from './schemas.ts'
import { statementConstants } from './statement-constants.ts'

let schema: string
let stages: Stage[] = []

/** Each a store object with connections of its own, as another process would have. */
async function openStages(count: number): Promise<Stage[]> {
  while (stages.length < count) {
    const store = await postgres(postgresUrl(), { schema, connections: 3 }).open()
    const node = newNode({ concurrency: 1_000 })
    await store.registerNode(node)
    stages.push(new Stage(store, node.nodeId, new NewestRow()))
  }
  return stages
}

const open = async (): Promise<Stage> => (await openStages(1))[0] as Stage

beforeEach(() => {
  schema = takeSchema()
})

afterEach(async () => {
  for (const { store } of stages) await store.close()
  stages = []
  await giveBackSchema(schema)
})

/** Counts what is held of each limit between the answer to a claim and the finish of what it gave. */
class Held {
  readonly #max: ReadonlyMap<string, number>
  readonly #held = new Map<string, number>()

  constructor(max: Readonly<Record<string, number>>) {
    this.#max = new Map(Object.entries(max))
  }

  add(job: { readonly type: string; readonly policy: ClaimedJob['policy'] }, count: 1 | -1): void {
    for (const name of limitsTaken(job.type, job.policy.resources)) {
      const held = (this.#held.get(name) ?? 0) + count
      this.#held.set(name, held)
      assert.ok(held <= (this.#max.get(name) ?? Number.POSITIVE_INFINITY), `${held} at once of ${name}`)
    }
  }
}

/** A node that claims and finishes until so many have been started by all of them. Returns what it started, in order. */
async function work(stage: Stage, held: Held, limit: number, started: Set<string>, total: number): Promise<string[]> {
  const mine: string[] = []
  while (started.size < total) {
    const { jobs, tickets } = await stage.claimAll({ limit })
    for (const one of [...jobs, ...tickets]) held.add(one, 1)
    for (const id of [...jobs.map(({ claim }) => claim.jobId), ...tickets.map(({ claim }) => claim.reservationId)]) {
      assert.ok(!started.has(id), `${id} was started twice`)
      started.add(id)
      mine.push(id)
    }
    for (const one of [...jobs, ...tickets]) held.add(one, -1)
    if (jobs.length > 0)
      await stage.store.finishRuns(
        jobs.map((job) => endOf(job)),
        newId,
      )
    if (tickets.length > 0) await stage.store.finishDirectRuns(tickets.map((ticket) => endOfDirect(ticket)))
  }
  return mine
}

/** Jobs of several lanes, in turns. */
function mixedJobs(count: number): NewJob[] {
  const kinds = [
    () => newJob(),
    () => jobTaking(['ink']),
    () => newJob({ type: 'poem' }),
    () => jobTaking(['ink', 'paper'], { type: 'song' }),
    () => newJob({ type: 'story', priority: 1 }),
  ]
  return Array.from({ length: count }, (_, index) => (kinds[index % kinds.length] as () => NewJob)())
}

describe.each([2, 4])('%i nodes at once', { timeout: 120_000 }, (count) => {
  test('start each Job once where nothing is limited', async () => {
    const nodes = await openStages(count)
    await nodes[0]?.enqueue(Array.from({ length: 400 }, (_, n) => newJob({ type: n % 3 ? 'story' : 'poem' })))
    const started = new Set<string>()
    await Promise.all(nodes.map((node) => work(node, new Held({}), 7, started, 400)))
    await assertNoFault((nodes[0] as Stage).store)
  })

  test('hold no more than the limits of 1 and 3, and everything is started', async () => {
    const nodes = await openStages(count)
    const [first] = nodes as [Stage]
    await first.store.setLimit(resourceLimit('ink'), 3)
    await first.store.setLimit(typeLimit('poem'), 1)
    await first.enqueue(mixedJobs(300))
    const held = new Held({ [resourceLimit('ink')]: 3, [resourceLimit('paper')]: 1, [typeLimit('poem')]: 1 })
    const started = new Set<string>()
    await Promise.all(nodes.map((node) => work(node, held, 4, started, 300)))
    await assertNoFault(first.store)
  })

  test('hold no more than the limit of all bodies', async () => {
    const nodes = await openStages(count)
    const [first] = nodes as [Stage]
    await first.store.setLimit(RUNNING_LIMIT, 3)
    await first.enqueue(mixedJobs(150))
    const started = new Set<string>()
    await Promise.all(nodes.map((node) => work(node, new Held({ [RUNNING_LIMIT]: 3 }), 5, started, 150)))
    await assertNoFault(first.store)
  })

  test('serve each ticket once, within the limits, while Jobs of the same kind wait', async () => {
    const nodes = await openStages(count)
    const [first] = nodes as [Stage]
    await first.enqueue(Array.from({ length: 60 }, () => jobTaking(['ink'])))
    for (let ticket = 0; ticket < 40; ticket++) await openTicket(first, ticketTaking(first, ['ink']))
    const started = new Set<string>()
    const held = new Held({ [resourceLimit('ink')]: 1 })
    await Promise.all(nodes.map((node) => work(node, held, 3, started, 100)))
    await assertNoFault(first.store)
  })
})

test('alone, a node takes the Jobs of several lanes in the order of the queue', async () => {
  const stage = await open()
  await stage.store.setLimit(resourceLimit('ink'), 100)
  await stage.store.setLimit(resourceLimit('paper'), 100)
  const jobs = mixedJobs(90)
  const ids = await stage.enqueue(jobs)
  const urgent = ids.filter((_, index) => jobs[index]?.priority === 1)
  const inOrder = [...urgent, ...ids.filter((id) => !urgent.includes(id))]
  const claimed: string[] = []
  for (const limit of [7, 40, 100]) claimed.push(...(await stage.claimIds({ limit })))
  assert.deepEqual(claimed, inOrder)
})

describe('what another transaction has locked is passed over', () => {
  let other: Client

  beforeEach(async () => {
    other = new Client({ connectionString: postgresUrl() })
    await other.connect()
    await other.query('begin')
  })

  afterEach(async () => {
    await other.query('rollback')
    await other.end()
  })

  const lock = (sql: string) => other.query(sql.replaceAll('pawl.', `"${schema}".`))

  test('the head of the queue, where nothing is limited', async () => {
    const stage = await open()
    const ids = await stage.enqueue(newJobs(5))
    await lock('select 1 from pawl.queue order by position limit 2 for update')
    assert.deepEqual(await stage.claimIds({ limit: 2 }), ids.slice(2, 4))
  })

  test('the heads of several lanes', async () => {
    const stage = await open()
    const ids = await stage.enqueue([newJob(), newJob({ type: 'poem' }), newJob(), newJob({ type: 'poem' }), newJob()])
    await lock('select 1 from pawl.queue order by position limit 2 for update')
    assert.deepEqual(await stage.claimIds({ limit: 2 }), ids.slice(2, 4))
  })

  test('the head of the queue, where a limit is to be looked at', async () => {
    const stage = await open()
    await stage.store.setLimit(typeLimit('story'), 4)
    const ids = await stage.enqueue(newJobs(5))
    await lock('select 1 from pawl.queue order by position limit 2 for update')
    assert.deepEqual(await stage.claimIds({ limit: 2 }), ids.slice(2, 4))
  })

  test('permits: a node takes those that are left, and another kind of Job meanwhile', async () => {
    const stage = await open()
    await stage.store.setLimit(resourceLimit('ink'), 2)
    const [a, , poem] = await stage.enqueue([jobTaking(['ink']), jobTaking(['ink']), newJob({ type: 'poem' })])
    await lock("select 1 from pawl.permits where name = 'resource:ink' limit 1 for update")
    assert.deepEqual(await stage.claimIds(), [a, poem])
  })

  test('a ticket: those behind it are served', async () => {
    const stage = await open()
    const ids = [await openTicket(stage), await openTicket(stage), await openTicket(stage)]
    await lock('select 1 from pawl.reservations order by reservation_seq limit 1 for update')
    assert.deepEqual((await claimBoth(stage, { limit: 2 })).tickets, ids.slice(1))
  })

  test('delayed Jobs that become due', async () => {
    const stage = await open()
    const ids = await stage.enqueue(newJobs(3, { runAt: NOW + 5 }))
    await lock('select 1 from pawl.queue order by position limit 1 for update')
    assert.deepEqual(await stage.claimIds({ now: NOW + 5 }), ids.slice(1))
  })
})

describe('limits that change while bodies execute', { timeout: 120_000 }, () => {
  test('a new limit counts the bodies that began before it', async () => {
    const [here, there] = (await openStages(2)) as [Stage, Stage]
    const running = [await here.start(), await there.start()]
    await here.store.setLimit(typeLimit('story'), 3)
    await here.enqueue(newJobs(4))
    const claims = await Promise.all([here, there].map((node) => node.claimIds()))
    assert.equal(claims.flat().length, 1)
    for (const job of running) await here.finish(job)
    const more = await Promise.all([here, there].map((node) => node.claimIds()))
    assert.equal(more.flat().length, 2)
    await assertNoFault(here.store)
  })

  test('with more bodies than a lowered limit, as many start as ended below it, whoever asks', async () => {
    const nodes = (await openStages(3)) as [Stage, Stage, Stage]
    const [here] = nodes
    await here.store.setLimit(typeLimit('story'), 6)
    await here.enqueue(newJobs(30))
    const running = [...(await here.claim())]
    assert.equal(running.length, 6)
    await here.store.setLimit(typeLimit('story'), 3)
    // Those of the lowest permits end first: there are free ones then, while others are taken beyond the limit.
    for (const left of [5, 4, 3, 2]) {
      await here.finish(running.shift() as ClaimedJob)
      const started = (await Promise.all(nodes.map((node) => node.claim()))).flat()
      assert.equal(started.length, left < 3 ? 1 : 0, `with ${left} left`)
      running.push(...started)
    }
    await assertNoFault(here.store)
  })

  test('a limit that is set while nodes claim and finish is never exceeded afterwards, and no permit is lost', async () => {
    const nodes = await openStages(3)
    const [here] = nodes as [Stage]
    for (let round = 0; round < 8; round++) {
      const total = 60
      await here.enqueue(newJobs(total))
      const started = new Set<string>()
      const working = Promise.all(nodes.map((node) => work(node, new Held({}), 3, started, total)))
      const max = 1 + (round % 3)
      await here.store.setLimit(typeLimit('story'), max)
      await working
      await here.enqueue(newJobs(10))
      const claims = await Promise.all(nodes.map((node) => node.claim()))
      assert.equal(claims.flat().length, max)
      for (const [index, jobs] of claims.entries()) for (const job of jobs) await nodes[index]?.finish(job)
      await here.store.setLimit(typeLimit('story'), null)
      for (const job of await here.claim()) await here.finish(job)
      await assertNoFault(here.store)
    }
  })

  test('a limit of a million makes no million rows', async () => {
    const stage = await open()
    await stage.store.setLimit(RUNNING_LIMIT, LIMIT_MAX)
    await stage.enqueue(newJobs(700))
    assert.equal((await stage.claim({ limit: 700 })).length, 700)
    const { rows } = await postgresPool().query(`select count(*)::integer as permits from "${schema}".permits`)
    assert.ok(rows[0].permits >= 700 && rows[0].permits < 2_000, `${rows[0].permits} permits`)
    await assertNoFault(stage.store)
  })
})

test('what a claim gives is what the last edit said, whoever was faster', { timeout: 120_000 }, async () => {
  const [here, there] = (await openStages(2)) as [Stage, Stage]
  for (let round = 0; round < 40; round++) {
    const [jobId] = await here.enqueue([newJob({ params: '"old"' })])
    const [edited, claimed] = await Promise.all([
      here.store.editJob({ jobId, edit: { params: '"new"' }, expected: null, now: NOW }),
      there.claim({ limit: 1 }),
    ])
    const job = claimed[0] ?? (await there.claimOne({ limit: 1 }))
    assert.equal(job.params, edited.kind === 'edited' ? '"new"' : '"old"')
    await there.finish(job)
  }
})

test('of two that would rather be rejected than wait, one gets the only permit', async () => {
  const [here, there] = (await openStages(2)) as [Stage, Stage]
  for (let round = 0; round < 20; round++) {
    const ask = (stage: Stage) => stage.store.openTicket(ticketTaking(stage, [`r${round}`], { onBusy: 'reject' }), NOW)
    assert.deepEqual((await Promise.all([ask(here), ask(there)])).sort(), ['busy', 'waiting'])
  }
})

test('any number of Jobs that wait for a busy resource are not read', { timeout: 180_000 }, async () => {
  const stage = await open()
  await stage.start(jobTaking(['ink']))
  await stage.enqueue([jobTaking(['ink'])])
  await postgresPool().query(`
    insert into "${schema}".queue (seq, lane_id, position, created_at, run_at, priority, ready)
    select 1000000000 + n, q.lane_id, n, 0, 0, 9, true
    from "${schema}".queue q, generate_series(1, 300000) n`)
  const [free] = await stage.enqueue([newJob()])
  const texts = new Map((await statementConstants()).map(({ name, sql }) => [name, sql]))
  assert.ok((await rowsOfQueueRead(texts.get('SURVEY') ?? '', [stage.nodeId, ['story', 'poem'], NOW])) < 10)
  assert.deepEqual(await stage.claimIds({ limit: 2 }), [free])
})

interface Step {
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Step[]
}

async function rowsOfQueueRead(sql: string, values: unknown[]): Promise<number> {
  const text = `explain (analyze, format json) ${sql.replaceAll('pawl.', `"${schema}".`)}`
  const { rows } = await postgresPool().query(text, values)
  const count = (step: Step): number => {
    const own = (step['Actual Rows'] + (step['Rows Removed by Filter'] ?? 0)) * step['Actual Loops']
    const below = (step.Plans ?? []).reduce((sum, plan) => sum + count(plan), 0)
    return below + (step['Relation Name'] === 'queue' ? own : 0)
  }
  return count((rows as { 'QUERY PLAN': { Plan: Step }[] }[])[0]?.['QUERY PLAN'][0]?.Plan as Step)
}
