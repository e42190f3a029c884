import assert from 'node:assert/strict'
import { RUNNING_LIMIT, resourceLimit, typeLimit } from '../../domain/limits.ts'
import {
  type EndedStanding,
  LISTED_MAX,
  type QueuedStanding,
  RANK_MAX,
  type RunningStanding,
  type Standing,
} from '../../domain/standing.ts'
import type { NewJob } from '../jobs.ts'
import { cancelGroup, childOf, childrenOf, createGroup, idsOf, MANY, retried, settled } from './composition-steps.ts'
import { failed, HOUR, jobTaking, NOW, newId, newJob, newJobs, newNode, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'
import { newTicket, openTicket, startDirect, ticketTaking } from './ticket-fixtures.ts'

export function testStanding({ test, testShared }: Kit): void {
  test('nobody stands where there is no Job', async (stage) => {
    assert.equal(await stage.store.findStanding(newId(), NOW), null)
  })

  test('reading it changes nothing', async (stage) => {
    const [jobId] = await stage.enqueue([newJob()])
    await stage.changesNothing(() => queued(stage, jobId))
  })

  test('a rank is the number of ready Jobs that come before', async (stage) => {
    const late = newJob({ runAt: NOW + HOUR })
    const jobs = [newJob({ priority: 1 }), newJob({ type: 'poem' }), newJob(), newJob({ priority: 2 }), late]
    const [b, c, d, a] = await stage.enqueue(jobs as [NewJob, NewJob, NewJob, NewJob])
    for (const [index, jobId] of [a, b, c, d].entries()) {
      assert.equal((await queued(stage, jobId)).rank?.ahead, index)
    }
    const { rank } = await queued(stage, d)
    assertSame(rank?.first, [
      { jobId: a, type: 'story', priority: 2 },
      { jobId: b, type: 'story', priority: 1 },
      { jobId: c, type: 'poem', priority: 0 },
    ])
    const lanes = [...(rank?.lanes ?? [])].sort((one, other) => one.count - other.count)
    assertSame(
      lanes.map(({ type, count }) => [type, count]),
      [
        ['poem', 1],
        ['story', 2],
      ],
    )
    assert.equal((await queued(stage, late.jobId)).rank, null, 'what is held has no rank')
    // Its time has come, and nobody has claimed since.
    assert.equal((await queued(stage, late.jobId, NOW + HOUR)).rank?.ahead, 4)
  })

  test('a rank is counted up to its bound', async (stage) => {
    const jobs = newJobs(RANK_MAX + 2)
    await stage.enqueue(jobs)
    const standing = async (index: number) => (await queued(stage, jobs[index]?.jobId as string)).rank
    assert.equal((await standing(RANK_MAX - 1))?.ahead, RANK_MAX - 1)
    const last = await standing(RANK_MAX + 1)
    assert.equal(last?.ahead, RANK_MAX)
    assert.equal(last?.lanes, null)
    assertSame(
      last?.first.map(({ jobId }) => jobId),
      idsOf(jobs.slice(0, LISTED_MAX)),
    )
  })

  test('the limits that it needs are told, with what is taken and by whom', async (stage) => {
    await stage.store.setLimit(RUNNING_LIMIT, 5)
    await stage.store.setLimit(typeLimit('story'), 1)
    await stage.store.setLimit(typeLimit('poem'), 1)
    const holder = await stage.start(jobTaking(['ink']))
    const [jobId] = await stage.enqueue([jobTaking(['ink', 'paper'])])
    const { limits } = await queued(stage, jobId)
    const body = {
      kind: 'run',
      id: holder.claim.runId,
      jobId: holder.claim.jobId,
      type: 'story',
      nodeId: stage.nodeId,
      nodeName: 'attic',
      startedAt: NOW,
      hasEnded: false,
    }
    assertSame(
      [...limits].sort((a, b) => (a.name < b.name ? -1 : 1)),
      [
        { name: resourceLimit('ink'), max: 1, taken: 1, holders: [body] },
        { name: resourceLimit('paper'), max: 1, taken: 0, holders: [] },
        { name: RUNNING_LIMIT, max: 5, taken: 1, holders: [] },
        { name: typeLimit('story'), max: 1, taken: 1, holders: [body] },
      ],
    )
  })

  test('bodies of direct executions hold permits and places too', async (stage) => {
    const direct = await startDirect(stage, ticketTaking(stage, ['ink']))
    const [jobId] = await stage.enqueue([jobTaking(['ink'])])
    const { limits, bodies, nodes } = await queued(stage, jobId)
    const holder = { kind: 'direct', id: direct.claim.reservationId, jobId: null, hasEnded: false }
    assertSame(
      limits
        .flatMap(({ holders }) => holders)
        .map(({ kind, id, jobId: of, hasEnded }) => ({ kind, id, jobId: of, hasEnded })),
      [holder],
    )
    assertSame(
      bodies.map(({ kind, id, jobId: of, hasEnded }) => ({ kind, id, jobId: of, hasEnded })),
      [holder],
    )
    assertSame(
      nodes.map(({ nodeId, bodies: count }) => [nodeId, count]),
      [[stage.nodeId, 1]],
    )
  })

  test('tickets that wait are told by what they need, but not those that nobody renews', async (stage) => {
    const holder = await stage.start(jobTaking(['ink']))
    const first = await openTicket(stage, ticketTaking(stage, ['ink'], { createdBy: 'ada' }))
    await openTicket(stage, ticketTaking(stage, ['ink']))
    const [jobId] = await stage.enqueue([newJob()])
    const [lane, ...rest] = (await queued(stage, jobId)).tickets
    assertSame(rest, [])
    assertSame(lane?.lacks, [resourceLimit('ink')])
    assert.equal(lane?.waiting, 2)
    assertSame(lane?.oldest[0], {
      reservationId: first,
      type: 'story',
      createdBy: 'ada',
      callerNodeId: stage.nodeId,
      callerName: 'attic',
      createdAt: NOW,
    })
    await stage.finish(holder)
    assertSame((await queued(stage, jobId)).tickets[0]?.lacks, [])
    assertSame((await queued(stage, jobId, NOW + HOUR)).tickets, [])
  })

  test('only nodes that handle its type are told, those that claim first', async (stage) => {
    const { store } = stage
    await store.setNodeClaims(stage.nodeId, false)
    const claiming = newNode({ name: 'cellar', types: ['story'], concurrency: 2 })
    await store.registerNode(claiming)
    await store.registerNode(newNode({ types: ['poem'] }))
    const gone = newNode()
    await store.registerNode(gone)
    await store.removeNode(gone.nodeId, NOW)
    const [jobId] = await stage.enqueue([newJob()])
    const { nodes } = await queued(stage, jobId)
    assertSame(
      nodes.map(({ nodeId, name, claims, concurrency }) => [nodeId, name, claims, concurrency]),
      [
        [claiming.nodeId, 'cellar', true, 2],
        [stage.nodeId, 'attic', false, 8],
      ],
    )
  })

  test('the parents for which it waits are told, with the last Jobs of their chains', async (stage) => {
    const failing = newJob()
    const retry = newRetry({ runAt: NOW + HOUR })
    await stage.finish(await stage.start(failing), { outcome: failed(), retry })
    const done = await settled(stage, 'COMPLETED')
    const child = childOf([done, failing], 'wait')
    await stage.enqueue([child])
    const { unmetParents, unmetParentCount } = await queued(stage, child.jobId)
    assert.equal(unmetParentCount, 1)
    const last = { jobId: retry.jobId, type: 'story', attempt: 2, status: 'QUEUED', hold: 'delayed', outcome: null }
    assertSame(unmetParents, [
      {
        parentId: failing.jobId,
        last: { ...last, runAt: NOW + HOUR, isByHand: false },
        onFailure: 'wait',
        ofGroup: false,
      },
    ])
  })

  test('the order of a sequential group is told as such', async (stage) => {
    const members = newJobs(2)
    await createGroup(stage, members, { mode: 'sequential' })
    const [first, second] = idsOf(members)
    const [parent] = (await queued(stage, second as string)).unmetParents
    assert.equal(parent?.parentId, first)
    assert.equal(parent?.ofGroup, true)
    assert.equal(parent?.last?.hold, null)
    assert.equal(parent?.last?.isByHand, false)
  })

  test('an order to the group that has not reached it yet is told', async (stage) => {
    const members = newJobs(MANY)
    const groupId = await createGroup(stage, members)
    await cancelGroup(stage, groupId, 'abort')
    const { groupOrder } = await queued(stage, members.at(-1)?.jobId as string)
    assertSame(groupOrder, {
      groupId,
      kind: 'cancel',
      mode: 'abort',
      reason: 'no longer wanted',
      orderedAt: NOW + 2,
    })
  })

  test('a member that executes is told of an order to cancel the group, but not of one to stop it', async (stage) => {
    const start = async (): Promise<{ groupId: string; waits: string; executes: string }> => {
      const members = [...newJobs(MANY), newJob({ priority: 1 })]
      const groupId = await createGroup(stage, members)
      const { claim } = await stage.claimOne({ limit: 1 })
      return { groupId, waits: members[0]?.jobId as string, executes: claim.jobId }
    }
    const cancelled = await start()
    await cancelGroup(stage, cancelled.groupId)
    assert.equal((await running(stage, cancelled.executes)).groupOrder?.kind, 'cancel')
    const stopped = await start()
    await stage.cancel(stopped.waits)
    assert.equal((await running(stage, stopped.executes)).groupOrder, null)
  })

  test('the body of an earlier attempt is told until it has ended', async (stage) => {
    const first = await stage.start()
    const retry = newRetry({ runAt: NOW })
    await stage.finish(first, { outcome: failed('timeout'), retry, body: 'executing' })
    const { predecessor, rank } = await queued(stage, retry.jobId)
    assert.equal(predecessor?.id, first.claim.runId)
    assert.equal(predecessor?.hasEnded, true)
    assert.equal(rank, null)
    assert.equal((await ended(stage, first.claim.jobId)).body?.id, first.claim.runId)
    await stage.release(first.claim)
    assert.equal((await queued(stage, retry.jobId)).predecessor, null)
    assert.equal((await queued(stage, retry.jobId)).rank?.ahead, 0)
    assert.equal((await ended(stage, first.claim.jobId)).body, null)
  })

  test('a Job that executes stands with its Run', async (stage) => {
    const { claim } = await stage.start()
    const progress = { fraction: 0.5, message: 'half' }
    await stage.store.recordReports([{ claim, report: { progress, logs: [], artifacts: [], logsDropped: 0 } }], NOW)
    const { run, groupOrder } = await running(stage, claim.jobId)
    assertSame(run, {
      runId: claim.runId,
      nodeId: stage.nodeId,
      nodeName: 'attic',
      status: null,
      reason: null,
      error: null,
      startedAt: NOW,
      finishedAt: null,
      willRetry: false,
      progress,
    })
    assert.equal(groupOrder, null)
  })

  test('a Job that failed stands with what followed', async (stage) => {
    const job = newJob()
    const retry = newRetry()
    await stage.finish(await stage.start(job), { outcome: failed(), retry })
    const { run, next, last, cancelledFor, dependents } = await ended(stage, job.jobId)
    assert.equal(run?.status, 'FAILED')
    assert.equal(run?.reason, 'error')
    assert.equal(run?.error, 'the ink ran out (error)')
    assert.equal(run?.finishedAt, NOW + SECOND)
    assert.equal(run?.willRetry, true)
    assert.equal(next?.jobId, retry.jobId)
    assert.equal(next?.isByHand, false)
    assertSame(last, next)
    assert.equal(cancelledFor, null)
    assertSame(dependents, { waiting: 0, released: 0, givenUp: 0, first: [] })
  })

  test('a retry by hand is told from an automatic one', async (stage) => {
    const jobId = await settled(stage, 'FAILED')
    const again = await retried(stage, jobId)
    const { next } = await ended(stage, jobId)
    assert.equal(next?.jobId, again)
    assert.equal(next?.isByHand, true)
  })

  test('dependents are counted by what became of them, and some are named', async (stage) => {
    const parent = await stage.start()
    const { jobId } = parent.claim
    await stage.enqueue([...childrenOf(jobId, 12), ...childrenOf(jobId, 2, 'run'), ...childrenOf(jobId, 3, 'wait')])
    await stage.finish(parent, { outcome: failed() })
    const { dependents } = await ended(stage, jobId)
    const { waiting, released, givenUp, first } = dependents
    assertSame({ waiting, released, givenUp }, { waiting: 3, released: 2, givenUp: 12 })
    assert.equal(first.length, LISTED_MAX)
    const [stopped] = first.filter(({ status }) => status === 'CANCELLED')
    const child = await ended(stage, stopped?.jobId as string)
    assert.equal(child.run, null)
    assert.equal(child.cancelledFor?.parentId, jobId)
    assert.equal(child.cancelledFor?.last?.outcome, 'FAILED')
  })

  test('members that were cancelled with their group know when that was asked for', async (stage) => {
    const members = newJobs(2)
    const groupId = await createGroup(stage, members)
    await cancelGroup(stage, groupId)
    assert.equal((await ended(stage, members[0]?.jobId as string)).groupCancelRequestedAt, NOW + 2)
  })

  testShared('it is the same wherever it is read', async (stage, other) => {
    const holder = await other.start(jobTaking(['ink']))
    const [jobId] = await stage.enqueue([jobTaking(['ink'])])
    await openTicket(other, newTicket(other))
    assertSame(await other.store.findStanding(jobId, NOW), await stage.store.findStanding(jobId, NOW))
    assert.equal((await queued(stage, jobId)).limits[0]?.holders[0]?.nodeId, other.nodeId)
    assert.equal((await running(stage, holder.claim.jobId)).run?.nodeId, other.nodeId)
  })
}

async function standing<Kind extends Standing['kind']>(
  stage: Stage,
  jobId: string,
  kind: Kind,
  now: number,
): Promise<Extract<Standing, { kind: Kind }>> {
  const found = await stage.store.findStanding(jobId, now)
  assert.ok(found, `Job ${jobId} exists`)
  assert.equal(found.kind, kind)
  assert.equal(found.job.jobId, jobId)
  return found as Extract<Standing, { kind: Kind }>
}

function queued(stage: Stage, jobId: string, now = NOW): Promise<QueuedStanding> {
  return standing(stage, jobId, 'queued', now)
}

function running(stage: Stage, jobId: string): Promise<RunningStanding> {
  return standing(stage, jobId, 'running', NOW)
}

function ended(stage: Stage, jobId: string): Promise<EndedStanding> {
  return standing(stage, jobId, 'ended', NOW + SECOND)
}
