import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import type { Outcome } from '../../src/domain/run.ts'
import {
  cancelGroup,
  childOf,
  childrenOf,
  counts,
  createGroup,
  groupOf,
  idsOf,
  LATER,
  lastOf,
  settle,
  statesOf,
} from '../../src/store/conformance/composition-steps.ts'
import {
  completed,
  endOf,
  failed,
  NOW,
  newId,
  newJob,
  newJobs,
  newRetry,
  skipped,
} from '../../src/store/conformance/fixtures.ts'
import { assertNoFault } from '../../src/store/conformance/no-fault.ts'
import { type Stage, takeStage } from '../../src/store/conformance/stage.ts'
import { newWebhook, SECRET } from '../../src/store/conformance/webhook-fixtures.ts'
import type { NewJob } from '../../src/store/jobs.ts'
import type { ClaimedJob, FinishResult } from '../../src/store/runs.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { giveBackSchema, postgresPool, postgresUrl, takeSchema } from './schemas.ts'

/** Each race is run so often, with this one and that one first. */
const ROUNDS = 12

/** So many that no store deals with all of them in the transaction that concerns them. */
const MANY = 300

let schema: string
let here: Stage
let there: Stage

beforeAll(async () => {
  schema = takeSchema()
  const url = new URL(postgresUrl())
  url.searchParams.set('application_name', schema)
  const open = async () => takeStage(await postgres(url.href, { schema }).open())
  here = await open()
  there = await open()
})

afterAll(async () => {
  await here.store.close()
  await there.store.close()
  await giveBackSchema(schema)
})

/** A race of two nodes on one database: many rounds, and afterwards nothing contradicts an invariant. */
function race(sentence: string, round: (index: number) => Promise<void>, rounds = ROUNDS): void {
  test(sentence, { timeout: 120_000 }, async () => {
    for (let index = 0; index < rounds; index++) await round(index)
    await assertNoFault(here.store)
  })
}

/** Both are asked at once; which of them is first alternates, so that neither always wins. */
async function atOnce<A, B>(index: number, one: () => Promise<A>, other: () => Promise<B>): Promise<[A, B]> {
  if (index % 2 === 0) return (await allAtOnce<A | B>([one, other])) as [A, B]
  return (await allAtOnce<A | B>([other, one])).toReversed() as [A, B]
}

/**
 * Each transaction does all it can before the first of them commits: that is where it matters who has locked what. Commits
 * are held back by a lock on the table of the events, into which each of them writes last of all.
 */
async function allAtOnce<T>(calls: readonly (() => Promise<T>)[]): Promise<T[]> {
  const holder = await postgresPool().connect()
  try {
    await holder.query(`begin; lock table ${schema}.events in share mode`)
    let ended = 0
    const answers: Promise<T>[] = []
    for (const call of calls) {
      const answer = call()
      answers.push(answer)
      const count = () => ended++
      answer.then(count, count)
      await until(async () => ended + (await countHeld()) >= answers.length)
    }
    await holder.query('commit')
    return await Promise.all(answers)
  } finally {
    holder.release(true)
  }
}

const COUNT_HELD = `
select count(*)::integer as held
from pg_stat_activity
where application_name = $1 and wait_event_type = 'Lock'`

async function countHeld(): Promise<number> {
  return (await postgresPool().query<{ held: number }>(COUNT_HELD, [schema])).rows[0]?.held ?? 0
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!(await holds())) assert.ok(performance.now() < deadline, 'a transaction neither ends nor waits')
}

/** Executing Jobs of a type of their own, so that nothing that another round left is claimed with them. */
async function start(stage: Stage, jobs: readonly NewJob[]): Promise<ClaimedJob[]> {
  await stage.enqueue(jobs)
  return claimAll(stage, idsOf(jobs))
}

async function claimAll(stage: Stage, jobIds: readonly string[]): Promise<ClaimedJob[]> {
  const claimed = await stage.claim({ now: LATER })
  const byId = new Map(claimed.map((job) => [job.claim.jobId, job]))
  return jobIds.map((jobId) => {
    const job = byId.get(jobId)
    assert.ok(job, `Job ${jobId} can start`)
    return job
  })
}

/** Ends whatever executes, and carries out and starts what follows, until nothing is left to do. */
async function drain(outcome: Outcome = completed()): Promise<void> {
  for (let turn = 0; turn < 200; turn++) {
    while ((await here.store.applyCascade({ nodeId: here.nodeId, newId, limit: 200, now: LATER })) === 'applied');
    for (const stage of [here, there]) {
      const occupied = await stage.store.listOccupancies(stage.nodeId, 1_000)
      const ends = occupied.map(({ job }) => endOf(job, { outcome, finishedAt: LATER }))
      if (ends.length > 0) await stage.store.finishRuns(ends, newId)
    }
    const jobs = await here.claim({ now: LATER * 2, limit: 1_000 })
    if (jobs.length === 0 && !(await here.store.hasCascades())) return
  }
  assert.fail('the queue does not drain')
}

const kindOf = (result: FinishResult): string => result.kind

const applyAt = (stage: Stage, limit = 50): Promise<'applied' | 'idle'> =>
  stage.store.applyCascade({ nodeId: stage.nodeId, newId, limit, now: LATER })

describe('one chain', () => {
  race('a node ends a Run while another one recovers it: one word stands, and one retry follows', async (index) => {
    const [job] = await start(here, [newJob()])
    assert.ok(job)
    const [own, recovered] = await atOnce(
      index,
      () => here.finishAs(endOf(job, { outcome: failed(), retry: newRetry() })),
      () => there.finishAs(endOf(job, { by: there.nodeId, outcome: failed('crash'), retry: newRetry() })),
    )
    assert.deepEqual([own, recovered].map(kindOf).sort(), ['already-finished', 'finished'])
    const chain = await here.store.findChain(job.claim.jobId, NOW)
    assert.equal(chain?.items.length, 2)
    const winner = own.kind === 'finished' ? own : recovered
    assert.equal(winner.kind === 'finished' && winner.retryJobId, chain.items[1]?.jobId)
    await there.cancel(job.claim.jobId)
  })

  race('a finish that orders a retry meets a cancellation: no retry stays', async (index) => {
    const [job] = await start(here, [newJob({ businessKey: 'only-one' })])
    assert.ok(job)
    const { jobId } = job.claim
    const [end, answer] = await atOnce(
      index,
      () => here.finish(job, { outcome: failed(), retry: newRetry() }),
      () => there.cancel(jobId),
    )
    assert.ok(end.kind === 'finished')
    // The finish came first: its retry was cancelled. Or the wish came first: no retry followed.
    assert.equal(answer.kind, end.retryJobId === null ? 'requested' : 'cancelled')
    assert.deepEqual(await statesOf(here, [jobId]), [end.retryJobId === null ? 'FINISHED FAILED' : 'CANCELLED'])
  })

  race('an abort meets the end by itself: the chain has settled once', async (index) => {
    const [job] = await start(here, [newJob()])
    assert.ok(job)
    const [one, other] = await atOnce(
      index,
      () => here.finish(job, { outcome: failed('cancelled') }),
      () => there.finishAs(endOf(job, { by: there.nodeId })),
    )
    assert.deepEqual([one, other].map(kindOf).sort(), ['already-finished', 'finished'])
  })

  race('lists of both nodes name the same Runs in another order: each Run is ended once', async (index) => {
    const jobs = await start(here, newJobs(8))
    const ends = jobs.map((job) => endOf(job, { outcome: failed(), retry: newRetry() }))
    const theirs = jobs.map((job) => endOf(job, { by: there.nodeId, outcome: failed('crash'), retry: newRetry() }))
    const [own, recovered] = await atOnce(
      index,
      () => here.store.finishRuns(ends, newId),
      () => there.store.finishRuns(theirs.toReversed(), newId),
    )
    const winners = [...own, ...recovered].filter(({ kind }) => kind === 'finished')
    assert.equal(winners.length, jobs.length)
    for (const job of jobs) {
      assert.equal((await here.store.findChain(job.claim.jobId, NOW))?.items.length, 2)
      await here.cancel(job.claim.jobId)
    }
  })

  race('a report meets the end of its Run: an ended Run is not written any more', async (index) => {
    const jobs = await start(here, newJobs(4))
    const report = { progress: { fraction: 0.5, message: 'half' }, logs: [], artifacts: [], logsDropped: 0 }
    const [answers] = await atOnce(
      index,
      () =>
        there.store.recordReports(
          jobs.map(({ claim }) => ({ claim, report })),
          NOW,
        ),
      () =>
        here.store.finishRuns(
          jobs.toReversed().map((job) => endOf(job, { outcome: failed() })),
          newId,
        ),
    )
    const isFirst = index % 2 === 0
    assert.deepEqual([...answers], Array(4).fill(isFirst ? 'recorded' : 'late'))
    for (const { claim } of jobs) {
      const { progress, status } = await here.run(claim.runId)
      assert.deepEqual([status, progress?.fraction ?? null], ['FAILED', isFirst ? 0.5 : null])
    }
  })

  race('two people retry the same Job by hand: one Job is made, and the other answer names it', async (index) => {
    const [job] = await start(here, [newJob({ businessKey: 'mine' })])
    assert.ok(job)
    await settle(here, job, 'FAILED')
    const by = { jobId: job.claim.jobId }
    const retry = (stage: Stage) => stage.store.retryByHand({ by, newJobId: newId(), priority: null, now: LATER })
    const answers = await atOnce(
      index,
      () => retry(here),
      () => retry(there),
    )
    assert.deepEqual(answers.map(({ kind }) => kind).sort(), ['created', 'made-due'])
    const chain = await here.store.findChain(job.claim.jobId, NOW)
    assert.deepEqual(
      answers.map((answer) => ('jobId' in answer ? answer.jobId : null)),
      [chain?.items[1]?.jobId, chain?.items[1]?.jobId],
    )
    await drain()
  })

  race('a body ends while its waiting retry is cancelled: the key is free afterwards', async (index) => {
    const [job] = await start(here, [newJob({ businessKey: 'free-me' })])
    assert.ok(job)
    const end = { outcome: failed('timeout'), retry: newRetry(), body: 'executing' } as const
    assert.equal((await here.finish(job, end)).kind, 'finished')
    await atOnce(
      index,
      () => here.release(job.claim),
      () => there.cancel(job.claim.jobId),
    )
    const [next] = await start(here, [newJob({ businessKey: 'free-me' })])
    assert.ok(next)
    await settle(here, next, 'COMPLETED')
  })

  race('a body ends while somebody retries its chain by hand: the retry can start, and has the key', async (index) => {
    const [job] = await start(here, [newJob({ businessKey: 'kept' })])
    assert.ok(job)
    assert.equal((await here.finish(job, { outcome: failed('timeout'), body: 'executing' })).kind, 'finished')
    const by = { jobId: job.claim.jobId }
    await atOnce(
      index,
      () => here.release(job.claim),
      () => there.store.retryByHand({ by, newJobId: newId(), priority: null, now: LATER }),
    )
    assert.equal((await here.store.enqueueJobs([newJob({ businessKey: 'kept' })], NOW)).kind, 'refused')
    await drain()
    assert.deepEqual(await statesOf(here, [job.claim.jobId]), ['FINISHED COMPLETED'])
  })

  race('a chain that settles gives its key to whoever comes, or he is told who has it', async (index) => {
    const [job] = await start(here, [newJob({ businessKey: 'shared' })])
    assert.ok(job)
    const next = newJob({ businessKey: 'shared' })
    const [, answer] = await atOnce(
      index,
      () => here.finish(job),
      () => there.store.enqueueJobs([next], NOW),
    )
    if (answer.kind === 'refused') {
      assert.deepEqual(answer.conflict, { kind: 'business-key-taken', index: 0, jobId: job.claim.jobId })
    } else await drain()
  })
})

describe('dependents', () => {
  const OUTCOMES = ['COMPLETED', 'FAILED', 'SKIPPED', 'CANCELLED'] as const

  race('two parents of one child settle at once: it is released by the last, or cancelled once', async (index) => {
    const [one, other] = [OUTCOMES[index % 4] as 'COMPLETED', OUTCOMES[Math.floor(index / 4) % 4] as 'COMPLETED']
    const [a, b] = await start(here, newJobs(2))
    assert.ok(a && b)
    const children = [childOf([a.claim.jobId, b.claim.jobId]), childOf([b.claim.jobId, a.claim.jobId])]
    const patient = childOf([a.claim.jobId, b.claim.jobId], 'run')
    await here.enqueue([...children, patient])
    const released: string[] = []
    const stop = [here, there].map(({ store }) =>
      store.subscribe((signal) => {
        if (signal.kind !== 'committed') return
        const { transitions } = signal.row
        released.push(...transitions.filter(({ kind }) => kind === 'job.released').map(({ jobId }) => jobId))
      }),
    )
    await atOnce(
      index,
      () => settle(here, a, one),
      () => settle(there, b, other),
    )
    for (const end of stop) end()
    const isMet = [one, other].every((outcome) => ['COMPLETED', 'SKIPPED'].includes(outcome))
    assert.deepEqual(await statesOf(here, idsOf([...children, patient])), [
      ...children.map(() => (isMet ? 'QUEUED' : 'CANCELLED')),
      'QUEUED',
    ])
    assert.deepEqual(released.toSorted(), idsOf(isMet ? [...children, patient] : [patient]).toSorted())
    await drain()
  })

  race('lists of parents that share children, in another order', async (index) => {
    const parents = await start(here, newJobs(6))
    const parentIds = parents.map(({ claim }) => claim.jobId)
    const children = [childOf(parentIds), childOf(parentIds.toReversed()), childOf(parentIds.slice(1, 5))]
    await there.enqueue(children)
    const end = (job: ClaimedJob) => endOf(job)
    const half = (odd: number) => parents.filter((_, place) => place % 2 === odd)
    await atOnce(
      index,
      () => here.store.finishRuns(half(0).map(end), newId),
      () => there.store.finishRuns(half(1).toReversed().map(end), newId),
    )
    assert.deepEqual(await statesOf(here, idsOf(children)), ['QUEUED', 'QUEUED', 'QUEUED'])
    await drain()
  })

  race('a child is accepted while its parent settles: it never waits for ever', async (index) => {
    const outcome = OUTCOMES[index % 4] as 'COMPLETED'
    const [parent] = await start(here, [newJob()])
    assert.ok(parent)
    const children = childrenOf(parent.claim.jobId, 3)
    await atOnce(
      index,
      () => settle(here, parent, outcome),
      () => there.enqueue(children),
    )
    const expected = outcome === 'COMPLETED' || outcome === 'SKIPPED' ? 'QUEUED' : 'CANCELLED'
    assert.deepEqual(
      await statesOf(here, idsOf(children)),
      children.map(() => expected),
    )
    await drain()
  })

  race('a child is cancelled while its parent settles', async (index) => {
    const [parent] = await start(here, [newJob()])
    assert.ok(parent)
    const child = childOf([parent.claim.jobId])
    await here.enqueue([child])
    const [, answer] = await atOnce(
      index,
      () => settle(here, parent, index % 4 < 2 ? 'COMPLETED' : 'FAILED'),
      () => there.cancel(child.jobId),
    )
    assert.ok(['cancelled', 'already-cancelled'].includes(answer.kind))
    assert.deepEqual(await statesOf(here, [child.jobId]), ['CANCELLED'])
  })

  race('a parent is retried by hand with its dependents while its retry’s fate is told', async (index) => {
    const parent = newJob()
    const [job] = await start(here, [parent])
    assert.ok(job)
    const children = childrenOf(parent.jobId, 5)
    await here.enqueue(children)
    const dependents = { newId }
    const retry = (stage: Stage) =>
      stage.store.retryByHand({
        by: { jobId: parent.jobId },
        newJobId: newId(),
        priority: null,
        dependents,
        now: LATER,
      })
    await atOnce(
      index,
      () => settle(here, job, 'FAILED'),
      () => retry(there),
    )
    await retry(there)
    await drain()
    assert.deepEqual(await statesOf(here, [parent.jobId, ...idsOf(children)]), Array(6).fill('FINISHED COMPLETED'))
  })

  race(
    'both carry out what is stored: each of many dependents is released once',
    async (index) => {
      const [parent] = await start(here, [newJob()])
      assert.ok(parent)
      const children = childrenOf(parent.claim.jobId, MANY)
      await here.enqueue(children)
      await settle(here, parent, index % 2 === 0 ? 'COMPLETED' : 'FAILED')
      while (await here.store.hasCascades()) await Promise.all([applyAt(here), applyAt(there), applyAt(there, 7)])
      const states = new Set(await statesOf(here, idsOf(children)))
      assert.deepEqual([...states], [index % 2 === 0 ? 'QUEUED' : 'CANCELLED'])
      await drain()
    },
    4,
  )

  race(
    'what is ordered for the dependents of one chain is carried out in order, whoever does it',
    async () => {
      const [parent] = await start(here, [newJob()])
      assert.ok(parent)
      const { jobId } = parent.claim
      const children = childrenOf(jobId, MANY)
      await here.enqueue(children)
      await settle(here, parent, 'FAILED')
      const retry = there.store.retryByHand({
        by: { jobId },
        newJobId: newId(),
        priority: null,
        dependents: { newId },
        now: LATER,
      })
      await Promise.all([retry, applyAt(here), applyAt(there)])
      while (await here.store.hasCascades()) await Promise.all([applyAt(here), applyAt(there)])
      const states = new Set(await statesOf(here, idsOf(children)))
      assert.deepEqual([...states], ['QUEUED dependencies'])
      await drain()
      assert.deepEqual([...new Set(await statesOf(here, idsOf(children)))], ['FINISHED COMPLETED'])
    },
    2,
  )
})

describe('a group', () => {
  race('all members end at once on both nodes: it settles once, with the right counts', async (index) => {
    const members = newJobs(8)
    const groupId = await createGroup(here, members)
    const jobs = await claimAll(here, idsOf(members))
    const settledGroups: string[] = []
    const stop = [here, there].map(({ store }) =>
      store.subscribe((signal) => signal.kind === 'stirred' && settledGroups.push(...(signal.groupIds ?? []))),
    )
    const finishOn = (stage: Stage, odd: number) => {
      const ends = jobs.filter((_, place) => place % 2 === odd).map((job) => endOf(job))
      return stage.store.finishRuns(ends, newId)
    }
    await atOnce(
      index,
      () => finishOn(here, 0),
      () => finishOn(there, 1),
    )
    for (const end of stop) end()
    assert.deepEqual(settledGroups, [groupId])
    const { status, counts: seen, finishedAt } = await groupOf(here, groupId)
    assert.deepEqual([status, seen], ['COMPLETED', counts({ completed: 8 })])
    assert.ok(finishedAt)
  })

  for (const onFailure of ['stop', 'skip'] as const) {
    race(`two members fail at once: the others are ended once (${onFailure})`, async (index) => {
      const members = newJobs(12)
      const groupId = await createGroup(here, members, { onFailure })
      const [a, b] = (await here.claim({ limit: 2, now: LATER })) as [ClaimedJob, ClaimedJob]
      await atOnce(
        index,
        () => settle(here, a, 'FAILED'),
        () => settle(there, b, 'FAILED'),
      )
      const { status, counts: seen } = await groupOf(here, groupId)
      const others = onFailure === 'stop' ? { cancelled: 10 } : { skipped: 10 }
      assert.deepEqual([status, seen], ['PARTIAL', counts({ failed: 2, ...others })])
      assert.equal(await here.store.hasCascades(), false)
    })
  }

  race('members are claimed while another one fails: each has started, or was stopped', async (index) => {
    const members = newJobs(20)
    const groupId = await createGroup(here, members)
    const [failing] = await here.claim({ limit: 1, now: LATER })
    assert.ok(failing)
    const [, claimed] = await atOnce(
      index,
      () => settle(here, failing, 'FAILED'),
      () => there.claim({ limit: 8, now: LATER }),
    )
    const started = new Set(claimed.map(({ claim }) => claim.jobId))
    for (const { jobId } of members.slice(1)) {
      assert.deepEqual(await statesOf(here, [jobId]), [started.has(jobId) ? 'RUNNING' : 'CANCELLED'])
    }
    await Promise.all(claimed.map((job) => there.finish(job)))
    const { status, counts: seen } = await groupOf(here, groupId)
    assert.deepEqual(
      [status, seen],
      ['PARTIAL', counts({ failed: 1, completed: started.size, cancelled: 19 - started.size })],
    )
  })

  race('it is cancelled while members end, fail with a retry, and start: nothing of it lives on', async (index) => {
    const members = newJobs(16)
    const groupId = await createGroup(here, members, { onFailure: index % 3 === 0 ? 'stop' : 'continue' })
    const running = await here.claim({ limit: 6, now: LATER })
    const ends = running.map((job, place) =>
      endOf(job, place % 2 === 0 ? {} : { outcome: failed(), retry: newRetry({ runAt: LATER }) }),
    )
    const claimed: ClaimedJob[] = []
    const calls = [
      async () => assert.equal(await cancelGroup(there, groupId), 'requested'),
      async () => here.store.finishRuns(ends, newId),
      async () => claimed.push(...(await there.claim({ limit: 4, now: LATER }))),
    ]
    await allAtOnce<unknown>([...calls.slice(index % 3), ...calls.slice(0, index % 3)])
    // Who started before the order came is asked to end, and gets no retry.
    await Promise.all(claimed.map((job) => there.finish(job, { outcome: failed(), retry: newRetry() })))
    const { counts: seen, finishedAt } = await groupOf(here, groupId)
    assert.deepEqual([seen.queued, seen.running], [0, 0])
    assert.ok(finishedAt)
  })

  race(
    'many members: cancelled while some end with a retry, whoever carries it out',
    async () => {
      const members = newJobs(MANY)
      const groupId = await createGroup(here, members, { onFailure: 'continue' })
      const running = await here.claim({ limit: 60, now: LATER })
      const ends = running.map((job) => endOf(job, { outcome: failed(), retry: newRetry({ runAt: LATER }) }))
      await Promise.all([
        cancelGroup(there, groupId),
        ...[0, 1, 2, 3].map((part) => here.store.finishRuns(ends.slice(part * 15, part * 15 + 15), newId)),
      ])
      while (await here.store.hasCascades()) await Promise.all([applyAt(here), applyAt(there)])
      const { counts: seen, finishedAt } = await groupOf(here, groupId)
      assert.deepEqual([seen.queued, seen.running], [0, 0])
      assert.ok(finishedAt)
    },
    5,
  )

  race('a sequential one is cancelled while a member completes', async (index) => {
    const members = newJobs(4)
    const groupId = await createGroup(here, members, { mode: 'sequential' })
    const [first] = await claimAll(here, [members[0]?.jobId as string])
    assert.ok(first)
    await atOnce(
      index,
      () => settle(here, first, 'COMPLETED'),
      () => cancelGroup(there, groupId),
    )
    const { status, counts: seen } = await groupOf(here, groupId)
    assert.deepEqual([status, seen], ['CANCELLED', counts({ completed: 1, cancelled: 3 })])
  })

  race('a failed member is retried by hand while the last one settles: in the group, or out of it', async (index) => {
    const members = newJobs(2)
    const groupId = await createGroup(here, members, { onFailure: 'continue' })
    const [a, b] = (await claimAll(here, idsOf(members))) as [ClaimedJob, ClaimedJob]
    await settle(here, a, 'FAILED')
    const by = { jobId: a.claim.jobId }
    const [, retry] = await atOnce(
      index,
      () => settle(here, b, 'COMPLETED'),
      () => there.store.retryByHand({ by, newJobId: newId(), priority: null, now: LATER }),
    )
    assert.equal(retry.kind, 'created')
    const { groupId: itsGroup } = await lastOf(here, a.claim.jobId)
    const { finishedAt } = await groupOf(here, groupId)
    assert.deepEqual([itsGroup, finishedAt === null], finishedAt === null ? [groupId, true] : [null, false])
    await drain()
    assert.ok((await groupOf(here, groupId)).finishedAt)
  })

  race('members that depend on each other end at once with others: nothing waits for ever', async (index) => {
    const roots = newJobs(4)
    const middle = [
      childOf([roots[0] as NewJob, roots[1] as NewJob]),
      childOf([roots[2] as NewJob, roots[3] as NewJob]),
    ]
    const leaf = childOf(middle)
    const groupId = await createGroup(here, [leaf, ...middle, ...roots], { onFailure: 'continue' })
    const jobs = await claimAll(here, idsOf(roots))
    await Promise.all(
      jobs.map((job, place) => settle(place % 2 ? here : there, job, index % 5 === place ? 'FAILED' : 'COMPLETED')),
    )
    await drain()
    const { counts: seen, finishedAt } = await groupOf(here, groupId)
    assert.deepEqual([seen.queued, seen.running, seen.total], [0, 0, 7])
    assert.ok(finishedAt)
  })
})

describe('webhooks', () => {
  race('one is removed while Jobs end: nothing stays that is to be told to it', async (index) => {
    const webhook = newWebhook()
    await here.store.createWebhook(webhook, SECRET)
    const jobs = await start(here, newJobs(4))
    await atOnce(
      index,
      () =>
        here.store.finishRuns(
          jobs.map((job) => endOf(job)),
          newId,
        ),
      () => there.store.removeWebhook(webhook.webhookId, NOW),
    )
  })
})

describe('anything at once', () => {
  for (let seed = 1; seed <= 4; seed++) {
    test(`whatever two nodes do to each other, everything ends and nothing contradicts (seed ${seed})`, {
      timeout: 180_000,
    }, async () => {
      const random = randomOf(seed)
      const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)]
      const chains: string[] = []
      const groups: string[] = []
      const running: ClaimedJob[] = []
      const outcomeOf = () => pick([completed(), completed(), failed(), failed('cancelled'), skipped()]) as Outcome

      const steps: ((stage: Stage) => Promise<unknown>)[] = [
        async (stage) => {
          const parents = [pick(chains), pick(chains)].filter((id) => id !== undefined)
          const policy = pick(['cancel', 'run', 'cancel'] as const)
          const jobs = [childOf(parents, policy), childOf(parents.slice(1), policy), newJob()]
          await stage.enqueue(jobs)
          chains.push(...idsOf(jobs))
        },
        async (stage) => {
          const members = newJobs(5)
          const mode = pick(['parallel', 'sequential'] as const) ?? 'parallel'
          const onFailure = pick(['stop', 'skip', 'continue'] as const) ?? 'stop'
          groups.push(await createGroup(stage, members, { mode, onFailure }))
          chains.push(...idsOf(members))
        },
        async (stage) => running.push(...(await stage.claim({ limit: 5, now: LATER }))),
        async (stage) => running.push(...(await stage.claim({ limit: 5, now: LATER }))),
        async (stage) => {
          const jobs = running.splice(0, 1 + Math.floor(random() * 6))
          // Some ends come twice, from both.
          if (random() < 0.3) running.push(...jobs)
          const ends = jobs.map((job) => {
            const outcome = outcomeOf()
            const retry = outcome.status === 'FAILED' && random() < 0.5 ? newRetry({ runAt: LATER }) : null
            return endOf(job, { by: stage.nodeId, outcome, retry: outcome.status === 'FAILED' ? retry : null })
          })
          await stage.store.finishRuns(random() < 0.5 ? ends : ends.toReversed(), newId)
        },
        async (stage) => {
          const jobId = pick(chains)
          if (jobId !== undefined) await stage.cancel(jobId, pick(['graceful', 'abort'] as const))
        },
        async (stage) => {
          const jobId = pick(chains)
          const dependents = random() < 0.5 ? { newId } : null
          if (jobId === undefined) return
          await stage.store.retryByHand({ by: { jobId }, newJobId: newId(), priority: null, dependents, now: LATER })
        },
        async (stage) => {
          const groupId = pick(groups)
          if (groupId !== undefined && random() < 0.3) await cancelGroup(stage, groupId)
        },
        (stage) => applyAt(stage, 3),
      ]
      const act = async (stage: Stage) => {
        for (let count = 0; count < 120; count++) await pick(steps)?.(stage)
      }
      await Promise.all([act(here), act(here), act(there), act(there), act(there)])
      await assertNoFault(here.store)
      await drain()
      await assertNoFault(here.store)
      for (const groupId of groups) assert.ok((await groupOf(here, groupId)).finishedAt, `group ${groupId} has settled`)
      for (const state of await statesOf(here, chains)) assert.match(state, /^(FINISHED|CANCELLED)/)
    })
  }
})

/** Always the same numbers for the same seed; who comes first with them is for the database to say. */
function randomOf(seed: number): () => number {
  let state = seed * 2_654_435_761
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_507) + 0x9e3779b9) >>> 0
    return state / 2 ** 32
  }
}
