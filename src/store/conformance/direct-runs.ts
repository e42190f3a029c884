import assert from 'node:assert/strict'
import type { ClaimedTicket } from '../reservations.ts'
import { completed, failed, HOUR, jobTaking, NOW, newId, newJob, SECOND, skipped } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'
import {
  directOccupants,
  endOfDirect,
  finishDirect,
  newTicket,
  openTicket,
  reservation,
  startDirect,
  ticketTaking,
} from './ticket-fixtures.ts'

/** A body that was given up (a timeout) may still be executing. */
const GIVEN_UP = { outcome: failed('timeout'), body: 'executing' } as const

/** What comes of direct executions: their records, their occupancies, and nothing in the history of Jobs. */
export function testDirectRuns({ test }: Kit): void {
  test('a direct execution ends with its outcome, and leaves neither Job nor Run nor event', async (stage) => {
    const events = await stage.lastEventSeq()
    const ticket = await startDirect(stage)
    const running = await reservation(stage, ticket.claim.reservationId)
    assertSame(await finishDirect(stage, ticket), { kind: 'finished', followUps: [] })
    assertSame(await reservation(stage, ticket.claim.reservationId), {
      ...running,
      status: 'RELEASED',
      endedAt: NOW + SECOND,
      outcome: 'COMPLETED',
      result: { pages: 7 },
    })
    assertSame(await directOccupants(stage), [])
    assertSame((await stage.store.listJobs({ limit: 10 }, NOW)).items, [])
    assertSame((await stage.store.listRuns({ limit: 10 })).items, [])
    assert.equal(await stage.lastEventSeq(), events)
  })

  test('failed and skipped ones say why', async (stage) => {
    const [failing, skipping] = [await startDirect(stage), await startDirect(stage)]
    await finishDirect(stage, failing, { outcome: failed('error') })
    await finishDirect(stage, skipping, { outcome: skipped('no ink') })
    const read = async (id: string) => {
      const { status, outcome, reason, error, result } = await reservation(stage, id)
      return { status, outcome, reason, error, result }
    }
    assertSame(await read(failing.claim.reservationId), {
      status: 'RELEASED',
      outcome: 'FAILED',
      reason: 'error',
      error: failed('error').error,
      result: null,
    })
    assertSame(await read(skipping.claim.reservationId), {
      status: 'RELEASED',
      outcome: 'SKIPPED',
      reason: null,
      error: 'no ink',
      result: null,
    })
  })

  test('it has one end: the first word stands, and repeating it is no second', async (stage) => {
    const ticket = await startDirect(stage)
    const end = endOfDirect(ticket, { followUps: [newJob()] })
    const [first] = await stage.store.finishDirectRuns([end])
    assertSame(await stage.changesNothing(() => stage.store.finishDirectRuns([end])), [first])
    const other = { ...end, outcome: failed('crash'), followUps: [] }
    assertSame(await stage.changesNothing(() => stage.store.finishDirectRuns([other])), [{ kind: 'already-finished' }])
  })

  test('its follow-ups are written with success only', async (stage) => {
    const [fine, broken] = [await startDirect(stage), await startDirect(stage)]
    const [wanted, unwanted] = [newJob(), newJob()]
    assertSame(await finishDirect(stage, broken, { outcome: failed(), followUps: [unwanted] }), {
      kind: 'finished',
      followUps: [],
    })
    assertSame(await finishDirect(stage, fine, { followUps: [wanted] }), {
      kind: 'finished',
      followUps: [{ kind: 'created', jobId: wanted.jobId }],
    })
    assertSame(await stage.queue(), [wanted.jobId])
  })

  test('a follow-up whose key is taken is dropped, and the outcome stands', async (stage) => {
    await stage.enqueue([newJob({ businessKey: 'b' })])
    const ticket = await startDirect(stage)
    const taken = newJob({ businessKey: 'b' })
    assertSame(await finishDirect(stage, ticket, { followUps: [taken] }), {
      kind: 'finished',
      followUps: [{ kind: 'dropped', jobId: taken.jobId }],
    })
    assert.equal((await reservation(stage, ticket.claim.reservationId)).outcome, 'COMPLETED')
  })

  test('many end at once', async (stage) => {
    const tickets = [await startDirect(stage), await startDirect(stage), await startDirect(stage)]
    const results = await stage.store.finishDirectRuns(tickets.map((ticket) => endOfDirect(ticket)))
    assertSame(new Set(results.map(({ kind }) => kind)), new Set(['finished']))
    assertSame(await directOccupants(stage), [])
    assertSame(await stage.changesNothing(() => stage.store.finishDirectRuns([])), [])
  })

  test('a body that was given up keeps its place and its permits until it has really ended', async (stage) => {
    const ticket = await startDirect(stage, ticketTaking(stage, ['ink']))
    await finishDirect(stage, ticket, GIVEN_UP)
    assert.equal((await reservation(stage, ticket.claim.reservationId)).reason, 'timeout')
    assertSame(await stage.store.listDirectOccupancies(stage.nodeId, 10), [{ ticket, ended: true, child: null }])
    const [job] = await stage.enqueue([jobTaking(['ink'])])
    assertSame(await stage.changesNothing(() => stage.claim()), [])
    await stage.store.releaseDirectOccupancies([ticket.claim], NOW + HOUR)
    assertSame(await directOccupants(stage), [])
    assertSame(await stage.claimIds(), [job])
    await stage.changesNothing(() => stage.store.releaseDirectOccupancies([ticket.claim], NOW + HOUR))
  })

  test('one without an outcome cannot be released', async (stage) => {
    const ticket = await startDirect(stage)
    await stage.changesNothing(() => stage.store.releaseDirectOccupancies([ticket.claim], NOW))
    assert.equal((await finishDirect(stage, ticket)).kind, 'finished')
  })

  test('a child is recorded before it begins, and refused once its work has ended', async (stage) => {
    const ticket = await startDirect(stage)
    const child = { pid: 4_711, startTime: '99', host: 'h', bootId: 'boot', pidNamespace: 'pid:[1]' }
    assert.equal(await stage.store.recordDirectChild(ticket.claim, child), 'recorded')
    assertSame(await stage.store.listDirectOccupancies(stage.nodeId, 10), [{ ticket, ended: false, child }])
    await finishDirect(stage, ticket, GIVEN_UP)
    assert.equal(await stage.changesNothing(() => stage.store.recordDirectChild(ticket.claim, child)), 'late')
  })

  test('a node with a body of a direct execution cannot be removed', async (stage) => {
    const ticket = await startDirect(stage)
    const remove = () => stage.store.removeNode(stage.nodeId, NOW)
    assert.equal(await stage.changesNothing(remove), 'occupied')
    await finishDirect(stage, ticket, GIVEN_UP)
    assert.equal(await stage.changesNothing(remove), 'occupied')
    await stage.store.releaseDirectOccupancies([ticket.claim], NOW)
    assert.equal(await remove(), 'removed')
    assert.equal((await reservation(stage, ticket.claim.reservationId)).nodeId, stage.nodeId)
  })

  test('records are listed newest first, by status, in pages', async (stage) => {
    const done = await startDirect(stage)
    await finishDirect(stage, done)
    const running = await startDirect(stage)
    const [first, second, expired] = [await openTicket(stage), await openTicket(stage), await openTicket(stage)]
    await stage.store.renewTickets([first, second], NOW + 10)
    await stage.store.expireTickets(NOW + 1, NOW + 10)
    const ids = [done.claim.reservationId, running.claim.reservationId, first, second, expired]
    const list = async (filter: object, limit = 10) => {
      const { items } = await stage.store.listReservations({ limit, ...filter })
      return items.map(({ reservationId }) => reservationId)
    }
    assertSame(await list({}), ids.toReversed())
    assertSame(await list({ status: 'WAITING' }), [second, first])
    assertSame(await list({ status: 'RUNNING' }), [running.claim.reservationId])
    assertSame(await list({ status: 'RELEASED' }), [done.claim.reservationId])
    assertSame(await list({ status: 'EXPIRED' }), [expired])
    const page = await stage.store.listReservations({ limit: 2 })
    assertSame(await list({ cursor: page.nextCursor }), ids.toReversed().slice(2))
    const all = await stage.store.listReservations({ limit: 10 })
    assert.equal(all.nextCursor, null)
    assertSame(
      (await stage.store.findReservations([second, newId(), first])).map(({ reservationId }) => reservationId),
      [second, first],
    )
  })

  test('records that ended before an instant can be removed; none that lives goes with them', async (stage) => {
    const [old, recent, stuck] = [await startDirect(stage), await startDirect(stage), await startDirect(stage)]
    await finishDirect(stage, old)
    await finishDirect(stage, recent, { finishedAt: NOW + HOUR })
    await finishDirect(stage, stuck, GIVEN_UP)
    const [running, waiting] = [await startDirect(stage), await openTicket(stage)]
    const request = { endedBefore: NOW + SECOND + 1, limit: 10, cursor: null }
    const counted = await stage.changesNothing(() => stage.store.countPrunableReservations(request))
    assertSame(counted, { reservations: 1, nextCursor: null })
    assertSame(await prune(stage, NOW + SECOND + 1), { removed: 1, nextCursor: null })
    const kept = [recent, stuck, running].map(({ claim }) => claim.reservationId)
    const left = (await stage.store.listReservations({ limit: 10 })).items.map(({ reservationId }) => reservationId)
    assertSame(left.toReversed(), [...kept, waiting])
    const again = await stage.changesNothing(() => prune(stage, NOW + SECOND + 1))
    assertSame(again, { removed: 0, nextCursor: null })
    assertSame((await finishDirect(stage, old)).kind, 'already-finished')
  })

  test('they are removed in pages; those that stay on the way do not end it', async (stage) => {
    const waiting = [await openTicket(stage), await openTicket(stage), await openTicket(stage)]
    const [late, first, second] = [await startPoem(stage), await startPoem(stage), await startPoem(stage)]
    await finishDirect(stage, late, { finishedAt: NOW + HOUR })
    await finishDirect(stage, first)
    await finishDirect(stage, second)
    let removed = 0
    let cursor: string | null = null
    do {
      const page = await prune(stage, NOW + SECOND + 1, 2, cursor)
      removed += page.removed
      cursor = page.nextCursor
    } while (cursor !== null)
    assert.equal(removed, 2)
    const left = (await stage.store.listReservations({ limit: 10 })).items.map(({ reservationId }) => reservationId)
    assertSame(left.toReversed(), [...waiting, late.claim.reservationId])
  })

  test('the removal ends at a page of records that were made too late', async (stage) => {
    for (let n = 0; n < 3; n++) await openTicket(stage)
    assertSame(await prune(stage, NOW, 2), { removed: 0, nextCursor: null })
  })

  test('a status can be asked for without the rest of the record', async (stage) => {
    const done = await startDirect(stage)
    await finishDirect(stage, done)
    const running = await startDirect(stage)
    const waiting = await openTicket(stage)
    const ids = [newId(), waiting, done.claim.reservationId, running.claim.reservationId]
    const statuses = await stage.store.findReservationStatuses(ids)
    assertSame(
      ids.map((id) => statuses.get(id) ?? null),
      [null, 'WAITING', 'RELEASED', 'RUNNING'],
    )
    assert.equal((await stage.store.findReservationStatuses([])).size, 0)
  })

  test('a result of any JSON value is kept as it is', async (stage) => {
    for (const value of [null, 0, '', 'ä \u2028 𝄞', [1, [2]], { deep: { er: [true] } }]) {
      const ticket = await startDirect(stage)
      await finishDirect(stage, ticket, { outcome: completed(value) })
      assertSame((await reservation(stage, ticket.claim.reservationId)).result, value)
    }
  })
}

/** A direct execution that does not stand behind the tickets of the usual type. */
async function startPoem(stage: Stage): Promise<ClaimedTicket> {
  await openTicket(stage, newTicket(stage, { type: 'poem' }))
  const { tickets } = await stage.claimAll({ limit: 1, types: new Map([['poem', 1]]) })
  assert.ok(tickets[0], 'it can start')
  return tickets[0]
}

function prune(stage: Stage, endedBefore: number, limit = 10, cursor: string | null = null) {
  return stage.store.pruneReservations({ endedBefore, limit, cursor })
}
