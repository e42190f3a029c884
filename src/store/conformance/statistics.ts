import assert from 'node:assert/strict'
import type { Counts, HourOfNode, MinuteCounts } from '../statistics.ts'
import { applyAll, childOf, createGroup, MANY } from './composition-steps.ts'
import { failed, HOUR, jobTaking, NOW, newId, newJob, newJobs, newNode, newRetry, SECOND, skipped } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { readAll } from './lists.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'
import { finishDirect, newTicket, openTicket, startDirect } from './ticket-fixtures.ts'

const NONE = { executed: 0, completed: 0, failed: 0, skipped: 0, cancelled: 0 }

const MINUTE = 60 * SECOND

/** The hour in which all tests happen. */
const THIS_HOUR = NOW - (NOW % HOUR)

export function testStatistics({ test, testShared, testTransaction, testDamage }: Kit): void {
  test('of an empty store are 0', async ({ store }) => {
    assertSame(await store.readTotals(), NONE)
    assertSame(await store.listHours(0, 10), [])
    assertSame(await store.listMinutes(0, NOW), [])
    assertSame(await store.foldMinutes({ before: NOW, limit: 10 }), 0)
    assertSame(await store.countQueue(10, NOW), {
      queued: 0,
      ready: 0,
      running: 0,
      oldestReadyAt: null,
      waitingTickets: 0,
      runningDirects: 0,
    })
  })

  test('count Runs when they end, in the hour and for the node that ended them', async (stage) => {
    const done = await stage.start(newJob(), { now: NOW + 5 })
    const broken = await stage.start(newJob(), { now: NOW + 5 })
    const idle = await stage.start(newJob(), { now: NOW + 5 })
    assertSame(await stage.store.readTotals(), NONE)
    await stage.finish(done, { finishedAt: NOW + 105 })
    await stage.finish(broken, { outcome: failed(), retry: newRetry(), finishedAt: NOW + 25 })
    await stage.finish(idle, { outcome: skipped(), finishedAt: NOW + HOUR })
    assertSame(await stage.store.readTotals(), { ...NONE, executed: 3, completed: 1, failed: 1, skipped: 1 })
    const hour = { ...NONE, nodeId: stage.nodeId }
    assertSame(await stage.store.listHours(0, 10), [
      { ...hour, hourAt: THIS_HOUR, executed: 2, completed: 1, failed: 1, runMs: 120, waitMs: 10 },
      { ...hour, hourAt: THIS_HOUR + HOUR, executed: 1, skipped: 1, runMs: HOUR - 5, waitMs: 5 },
    ])
    assertSame((await stage.store.listHours(THIS_HOUR + 1, 10)).map(hourAt), [THIS_HOUR + HOUR])
    assertSame((await stage.store.listHours(0, 1)).map(hourAt), [THIS_HOUR])
  })

  test('count a Job that is cancelled before it ran for nobody in particular', async (stage) => {
    const [jobId] = await stage.enqueue([newJob()])
    await stage.cancel(jobId)
    await stage.cancel(jobId)
    assertSame(await stage.store.readTotals(), { ...NONE, cancelled: 1 })
    const [hour] = await stage.store.listHours(0, 10)
    assertSame([hour?.nodeId, hour?.cancelled], [null, 1])
  })

  test('count an aborted body as a failed Run and as a cancelled Job', async (stage) => {
    await stage.finish(await stage.start(), { outcome: failed('cancelled') })
    assertSame(await stage.store.readTotals(), { ...NONE, executed: 1, failed: 1, cancelled: 1 })
  })

  test('count a graceful cancel of a RUNNING Job as its outcome', async (stage) => {
    const job = await stage.start()
    await stage.cancel(job.claim.jobId)
    await stage.finish(job)
    assertSame(await stage.store.readTotals(), { ...NONE, executed: 1, completed: 1 })
  })

  test('count a Run once, however often and by whomever it is ended', async (stage) => {
    const job = await stage.start()
    const other = newNode()
    await stage.store.registerNode(other)
    await stage.finish(job, { outcome: failed('crash'), by: other.nodeId, body: 'executing' })
    await stage.finish(job, { outcome: failed('crash'), by: other.nodeId })
    await stage.finish(job)
    await stage.release(job.claim)
    assertSame(await stage.store.readTotals(), { ...NONE, executed: 1, failed: 1 })
    assertSame((await stage.store.listHours(0, 10)).map(nodeId), [other.nodeId])
  })

  test('count a Job that is cancelled as it is accepted, because its parent has failed', async (stage) => {
    const parent = await stage.start()
    await stage.finish(parent, { outcome: failed() })
    await stage.enqueue([childOf([parent.claim.jobId])])
    assertSame(await stage.store.readTotals(), { ...NONE, executed: 1, failed: 1, cancelled: 1 })
  })

  test('never count direct executions', async (stage) => {
    for (const outcome of [failed(), skipped()]) await finishDirect(stage, await startDirect(stage), { outcome })
    await finishDirect(stage, await startDirect(stage))
    await stage.store.releaseTicket(await openTicket(stage), 'caller-gone', NOW)
    assertSame(await stage.store.readTotals(), NONE)
    assertSame(await stage.store.listHours(0, 10), [])
  })

  test('are what a recount finds, whatever happened', async (stage) => {
    await manyThings(stage)
    await assertRecount(stage)
  })

  testDamage('count the Run that a repair writes', async (stage, damage) => {
    const { claim } = await stage.start()
    await damage('run-missing', claim.jobId)
    const outcome = failed('crash')
    const by = stage.nodeId
    const repair = { jobId: claim.jobId, runId: newId(), by, outcome, retry: null, newId, now: NOW + SECOND }
    assert.equal(await stage.store.repairMissingRun(repair), true)
    assert.equal(await stage.store.repairMissingRun(repair), false)
    assertSame(await stage.store.readTotals(), { ...NONE, executed: 1, failed: 1 })
    await assertRecount(stage)
  })

  testTransaction('count what ends in the transaction of a caller, if that is committed', async (stage, within) => {
    const parent = await stage.start()
    await stage.finish(parent, { outcome: failed() })
    const before = await stage.store.readTotals()
    for (const end of ['rollback', 'commit'] as const) {
      await within(end, async (transaction) => {
        await stage.store.enqueueJobsWithin(transaction, [childOf([parent.claim.jobId])], NOW)
      })
      assertSame(await stage.store.readTotals(), { ...before, cancelled: end === 'commit' ? 1 : 0 })
    }
  })

  testShared('are those of all processes', async (stage, other) => {
    await stage.enqueue(newJobs(20))
    const ours = await stage.claim({ limit: 10 })
    const theirs = await other.claim({ limit: 10 })
    await Promise.all([...ours.map((job) => stage.finish(job)), ...theirs.map((job) => other.finish(job))])
    assertSame(await stage.store.readTotals(), { ...NONE, executed: 20, completed: 20 })
    assertSame(
      (await other.store.listHours(0, 10)).map(({ executed }) => executed),
      [10, 10],
    )
  })

  test('keep what was pruned', async (stage) => {
    await stage.finish(await stage.start())
    const before = await stage.store.readTotals()
    await stage.store.pruneChains({ endedBefore: NOW + HOUR, limit: 10, cursor: null })
    assertSame(await stage.store.readTotals(), before)
  })

  test('add up the nodes of old hours, and hours that are very old, without losing anything', async (stage) => {
    const other = newNode()
    await stage.store.registerNode(other)
    for (const hours of [0, 1, 2, 3]) {
      for (const by of [stage.nodeId, other.nodeId]) {
        await stage.finish(await stage.start(), { by, finishedAt: NOW + hours * HOUR })
      }
      const [jobId] = await stage.enqueue([newJob()])
      await stage.cancel(jobId, 'graceful', NOW + hours * HOUR)
    }
    const before = await stage.store.listHours(0, 100)
    assert.equal(before.length, 12)
    const nodesBefore = THIS_HOUR + 3 * HOUR
    await stage.store.foldHours({ nodesBefore, hoursBefore: 0 })
    const folded = await stage.store.listHours(0, 100)
    assertSame(
      folded.map((hour) => [hour.hourAt, hour.nodeId, hour.executed, hour.cancelled]),
      [
        ...[0, 1, 2].map((hours) => [THIS_HOUR + hours * HOUR, null, 2, 1]),
        [THIS_HOUR + 3 * HOUR, null, 0, 1],
        [THIS_HOUR + 3 * HOUR, stage.nodeId, 1, 0],
        [THIS_HOUR + 3 * HOUR, other.nodeId, 1, 0],
      ],
    )
    assertSame(sum(folded), sum(before))
    await stage.store.foldHours({ nodesBefore, hoursBefore: THIS_HOUR + 2 * HOUR })
    const old = await stage.store.listHours(0, 100)
    assertSame([old[0]?.hourAt, old[0]?.nodeId, old[0]?.executed, old[0]?.cancelled], [0, null, 4, 2])
    assertSame(old.slice(1), folded.slice(2))
    assertSame(sum(old), sum(before))
    await stage.changesNothing(() => stage.store.foldHours({ nodesBefore, hoursBefore: THIS_HOUR + 2 * HOUR }))
    // One that ends late, as told by a clock that is behind, is counted all the same.
    await stage.finish(await stage.start(), { finishedAt: NOW })
    await stage.store.foldHours({ nodesBefore, hoursBefore: nodesBefore })
    assertSame(
      (await stage.store.listHours(0, 1)).map(({ executed }) => executed),
      [7],
    )
    await assertRecount(stage)
  })

  test('count by the minute, for all nodes together, and the minutes of an hour are the hour', async (stage) => {
    const other = newNode()
    await stage.store.registerNode(other)
    for (const [by, minutes] of [
      [stage.nodeId, 0],
      [other.nodeId, 0],
      [stage.nodeId, 1],
      [stage.nodeId, 61],
    ] as const) {
      await stage.finish(await stage.start(), { by, finishedAt: THIS_HOUR + minutes * MINUTE + 7 })
    }
    await stage.finish(await stage.start(), { outcome: failed(), finishedAt: THIS_HOUR + 2 * MINUTE - 1 })
    const [jobId] = await stage.enqueue([newJob()])
    await stage.cancel(jobId, 'graceful', THIS_HOUR + MINUTE)
    const told = await stage.store.listMinutes(THIS_HOUR, THIS_HOUR + 2 * HOUR)
    assertSame(
      told.map((minute) => [minute.minuteAt - THIS_HOUR, minute.executed, minute.failed, minute.cancelled]),
      [
        [0, 2, 0, 0],
        [MINUTE, 2, 1, 1],
        [61 * MINUTE, 1, 0, 0],
      ],
    )
    assertSame(sum(told), sum(await stage.store.listHours(0, 100)))
    const [firstHour] = await stage.store.listHours(0, 1)
    assertSame(firstHour?.hourAt, THIS_HOUR)
    assertSame((await stage.store.listMinutes(THIS_HOUR + 1, THIS_HOUR + 61 * MINUTE)).map(minuteAt), [
      THIS_HOUR + MINUTE,
    ])
    await assertRecount(stage)
  })

  test('add up the minutes of old hours page by page, for each node, without losing anything', async (stage) => {
    const other = newNode()
    await stage.store.registerNode(other)
    for (const minutes of [0, 1, 2, 59, 60, 61, 119, 120, 121]) {
      for (const by of [stage.nodeId, other.nodeId]) {
        await stage.finish(await stage.start(), { by, finishedAt: THIS_HOUR + minutes * MINUTE })
      }
    }
    const hours = await stage.store.listHours(0, 100)
    assert.equal(hours.length, 6)
    const before = THIS_HOUR + 2 * HOUR
    const recent = await stage.store.listMinutes(before, before + HOUR)
    // A page ends with the minute in which the limit is reached: two nodes have a row in each.
    const pages: number[] = []
    do pages.push(await stage.store.foldMinutes({ before, limit: 3 }))
    while ((pages.at(-1) ?? 0) >= 3)
    assertSame(pages, [4, 4, 2])
    assertSame(await stage.store.listHours(0, 100), hours)
    const told = await stage.store.listMinutes(0, before)
    assertSame(
      told.map((minute) => [minute.minuteAt, minute.executed]),
      [
        [THIS_HOUR, 8],
        [THIS_HOUR + HOUR, 6],
      ],
    )
    assertSame(await stage.store.listMinutes(before, before + HOUR), recent)
    await stage.changesNothing(() => stage.store.foldMinutes({ before, limit: 3 }))
    // One that ends late, as told by a clock that is behind, is counted all the same.
    await stage.finish(await stage.start(), { finishedAt: THIS_HOUR + MINUTE })
    assertSame(await stage.store.foldMinutes({ before, limit: 3 }), 1)
    assertSame(
      (await stage.store.listMinutes(0, before)).map(({ executed }) => executed),
      [9, 6],
    )
    await assertRecount(stage)
  })

  test('of the queue tell what waits, what could start, and what runs', async (stage) => {
    const parent = await stage.start(newJob({ type: 'poem' }), { now: NOW })
    await stage.enqueue([newJob()], NOW + 3)
    await stage.enqueue([jobTaking(['ink'])], NOW + 2)
    await stage.enqueue([newJob({ runAt: NOW + HOUR }), childOf([parent.claim.jobId])], NOW + 4)
    await startDirect(stage)
    await openTicket(stage)
    const counts = { queued: 4, ready: 2, running: 1, oldestReadyAt: NOW + 2, waitingTickets: 1, runningDirects: 1 }
    assertSame(await stage.store.countQueue(100, NOW + 5), counts)
    assertSame(await stage.store.countQueue(2, NOW + 5), { ...counts, queued: 2 })
    assertSame(await stage.store.countQueue(1, NOW + 5), { ...counts, queued: 1, ready: 1 })
  })

  test('of the queue count what is due as ready, also while nobody claims', async (stage) => {
    await stage.enqueue(newJobs(2, { runAt: NOW + SECOND }))
    const { ready, oldestReadyAt } = await stage.store.countQueue(100, NOW)
    assertSame([ready, oldestReadyAt], [0, null])
    const later = await stage.store.countQueue(100, NOW + HOUR)
    assertSame([later.ready, later.oldestReadyAt], [2, NOW + SECOND])
    assert.equal((await stage.store.countQueue(1, NOW + HOUR)).ready, 1)
  })

  test('of the queue do not count a body that executes although its Run has ended', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: failed('timeout'), retry: newRetry({ runAt: NOW }), body: 'executing' })
    const { queued, ready, running } = await stage.store.countQueue(100, NOW + SECOND)
    assertSame([queued, ready, running], [1, 0, 0])
  })
}

/** Everything that ends Jobs. */
async function manyThings(stage: Stage): Promise<void> {
  const other = newNode()
  await stage.store.registerNode(other)
  const retry = newRetry({ runAt: NOW + SECOND })
  await stage.finish(await stage.start(), { outcome: failed(), retry })
  await stage.finish(await stage.claimOne({ now: NOW + 2 * SECOND }), { finishedAt: NOW + 2 * HOUR })
  await stage.finish(await stage.start(), { outcome: failed('crash'), by: other.nodeId })
  await stage.finish(await stage.start(), { outcome: failed('cancelled') })
  // The clock was set back between start and end.
  await stage.finish(await stage.start(newJob(), { now: NOW + HOUR }), { finishedAt: NOW })
  for (const onFailure of ['skip', 'stop'] as const) {
    const [first, ...rest] = newJobs(onFailure === 'skip' ? 4 : MANY)
    assert.ok(first !== undefined)
    await createGroup(stage, [first, ...rest], { onFailure })
    await stage.finish(await stage.claimOne({ limit: 1 }), { outcome: failed() })
    await applyAll(stage)
  }
  const parent = await stage.start()
  await stage.enqueue([childOf([parent.claim.jobId]), childOf([parent.claim.jobId], 'run')])
  await stage.finish(parent, { outcome: failed() })
  await stage.finish(await stage.claimOne(), { outcome: skipped(), followUps: [newJob()] })
  const byHand = { by: { jobId: parent.claim.jobId }, newJobId: newId(), priority: null, now: NOW + SECOND }
  await stage.store.retryByHand({ ...byHand, dependents: { newId } })
  await finishDirect(stage, await startDirect(stage, newTicket(stage)))
}

/** Compares the statistics with what the lists of Jobs and Runs tell. */
async function assertRecount(stage: Stage): Promise<void> {
  const jobs = await readAll((cursor) => stage.store.listJobs({ limit: 200, cursor }, NOW))
  const runs = await readAll((cursor) => stage.store.listRuns({ limit: 200, cursor }))
  const runAt = new Map(jobs.map((job) => [job.jobId, job.runAt]))
  const ended = runs.filter(({ status }) => status !== null)
  const having = (status: string) => ended.filter((run) => run.status === status).length
  assertSame(sum(await stage.store.listHours(0, 1_000)), {
    executed: ended.length,
    completed: having('COMPLETED'),
    failed: having('FAILED'),
    skipped: having('SKIPPED'),
    cancelled: jobs.filter(({ status }) => status === 'CANCELLED').length,
    runMs: ended.reduce((total, run) => total + Math.max(0, run.durationMs ?? 0), 0),
    waitMs: ended.reduce((total, run) => total + Math.max(0, run.startedAt - (runAt.get(run.jobId) ?? 0)), 0),
  })
  const { runMs: _, waitMs: __, ...totals } = sum(await stage.store.listHours(0, 1_000))
  assertSame(await stage.store.readTotals(), totals)
}

function sum(
  hours: readonly (HourOfNode | MinuteCounts)[],
): Counts & { readonly runMs: number; readonly waitMs: number } {
  const total = { ...NONE, runMs: 0, waitMs: 0 }
  for (const hour of hours) {
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += hour[name]
  }
  return total
}

const minuteAt = (minute: MinuteCounts) => minute.minuteAt
const hourAt = (hour: HourOfNode) => hour.hourAt
const nodeId = (hour: HourOfNode) => hour.nodeId
