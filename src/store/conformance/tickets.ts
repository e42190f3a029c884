import assert from 'node:assert/strict'
import { RUNNING_LIMIT } from '../../domain/limits.ts'
import { TICKET_EXPIRES_MS } from '../../domain/reservation.ts'
import type { StoreSignal } from '../events.ts'
import { HOUR, jobTaking, NOW, newId, newJobs, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import {
  claimBoth,
  claimOf,
  finishDirect,
  newTicket,
  openTicket,
  registerNode,
  reservation,
  startDirect,
  ticketTaking,
} from './ticket-fixtures.ts'

/** Asking for a direct execution: which tickets are taken, how long they wait, and who hears of it. */
export function testTickets(kit: Kit): void {
  testWaiting(kit)
  testRefusing(kit)
}

/** A ticket that waits: who asked for what, and how long it counts. */
function testWaiting({ test }: Kit): void {
  test('a ticket reads as it was asked for', async (stage) => {
    const ticket = newTicket(stage, { createdBy: 'anna' })
    await openTicket(stage, ticket)
    assertSame(await reservation(stage, ticket.reservationId), {
      reservationId: ticket.reservationId,
      type: 'story',
      status: 'WAITING',
      params: { genre: 'gothic' },
      callerNodeId: stage.nodeId,
      nodeId: null,
      createdBy: 'anna',
      createdAt: NOW,
      renewedAt: NOW,
      startedAt: null,
      endedAt: null,
      outcome: null,
      reason: null,
      error: null,
      result: null,
    })
    assertSame(await stage.queue(), [])
  })

  test('a ticket that is not renewed is neither served nor in the way, and once renewed it is both', async (stage) => {
    const id = await openTicket(stage, ticketTaking(stage, ['ink']))
    const [job] = await stage.enqueue([jobTaking(['ink'])])
    const late = NOW + TICKET_EXPIRES_MS + 1
    const ticketsOnly = new Map([['story', 0]])
    assertSame(await claimBoth(stage, { now: late, types: ticketsOnly }), { tickets: [], jobs: [] })
    assertSame(await stage.store.renewTickets([id], late), [id])
    assertSame(await claimBoth(stage, { now: late + TICKET_EXPIRES_MS }), { tickets: [id], jobs: [] })
    assertSame(await stage.queue(), [job])
  })

  test('what an abandoned ticket asked for goes to the queue', async (stage) => {
    await openTicket(stage, ticketTaking(stage, ['ink']))
    const [job] = await stage.enqueue([jobTaking(['ink'])])
    assertSame(await claimBoth(stage, { now: NOW + TICKET_EXPIRES_MS + 1 }), { tickets: [], jobs: [job] })
  })

  test('renewing answers with those that still wait', async (stage) => {
    const served = await startDirect(stage)
    const [released, waiting] = [await openTicket(stage), await openTicket(stage)]
    await stage.store.releaseTicket(released, 'caller-gone', NOW)
    const ids = [served.claim.reservationId, released, newId(), waiting]
    assertSame(await stage.store.renewTickets(ids, NOW + SECOND), [waiting])
    assert.equal((await reservation(stage, waiting)).renewedAt, NOW + SECOND)
    assert.equal((await reservation(stage, served.claim.reservationId)).renewedAt, NOW)
    assertSame(await stage.changesNothing(() => stage.store.renewTickets([], NOW + HOUR)), [])
  })

  test('a ticket that was given back is not served', async (stage) => {
    const id = await openTicket(stage)
    assert.equal(await stage.store.releaseTicket(id, 'wait-timeout', NOW + 5), 'released')
    const { status, reason, endedAt, outcome } = await reservation(stage, id)
    assertSame(
      { status, reason, endedAt, outcome },
      { status: 'RELEASED', reason: 'wait-timeout', endedAt: NOW + 5, outcome: null },
    )
    assertSame(await claimBoth(stage), { tickets: [], jobs: [] })
  })

  test('only a ticket that waits can be given back', async (stage) => {
    const running = await startDirect(stage)
    const { reservationId } = running.claim
    const giveBack = (id: string) => stage.changesNothing(() => stage.store.releaseTicket(id, 'caller-gone', NOW))
    assert.equal(await giveBack(reservationId), 'running')
    await finishDirect(stage, running)
    assert.equal(await giveBack(reservationId), 'ended')
    assert.equal(await giveBack(newId()), 'not-found')
  })

  test('tickets that were not renewed since an instant expire, and no others', async (stage) => {
    const running = await startDirect(stage)
    const [old, renewed, young] = [await openTicket(stage), await openTicket(stage), await openTicket(stage)]
    await stage.store.renewTickets([renewed], NOW + 10)
    await stage.store.renewTickets([young], NOW + 20)
    assert.equal(await stage.store.expireTickets(NOW + 10, NOW + 30), 1)
    const statuses = await Promise.all(
      [old, renewed, young, running.claim.reservationId].map(async (id) => (await reservation(stage, id)).status),
    )
    assertSame(statuses, ['EXPIRED', 'WAITING', 'WAITING', 'RUNNING'])
    const { reason, endedAt } = await reservation(stage, old)
    assertSame({ reason, endedAt }, { reason: 'expired', endedAt: NOW + 30 })
    assert.equal(await stage.changesNothing(() => stage.store.expireTickets(NOW + 10, NOW + 40)), 0)
  })

  test('the tickets of a dead node expire, and no others', async (stage) => {
    const dead = await registerNode(stage, [])
    const own = await openTicket(stage)
    const served = await startAsCaller(dead)
    const lost = await openTicket(stage, newTicket(stage, { callerNodeId: dead }))
    assert.equal(await stage.store.expireTicketsOf(dead, NOW + 5), 1)
    assert.equal((await reservation(stage, lost)).status, 'EXPIRED')
    assert.equal((await reservation(stage, own)).status, 'WAITING')
    assert.equal((await reservation(stage, served)).status, 'RUNNING')
    assert.equal(await stage.changesNothing(() => stage.store.expireTicketsOf(dead, NOW + 6)), 0)

    /** Its caller is dead, but its body executes. */
    async function startAsCaller(callerNodeId: string): Promise<string> {
      const id = await openTicket(stage, newTicket(stage, { callerNodeId, type: 'poem' }))
      assertSame((await claimBoth(stage, claimOf(stage.nodeId, ['poem']))).tickets, [id])
      return id
    }
  })

  test('listeners are told when tickets come and go', async (stage) => {
    const heard: StoreSignal[] = []
    const stop = stage.store.subscribe((signal) => void heard.push(signal))
    const stirred = () =>
      heard.splice(0).flatMap((signal) => (signal.kind === 'stirred' ? [...signal.what].sort() : []))
    const id = await openTicket(stage)
    assertSame(stirred(), ['tickets'])
    const { tickets } = await stage.claimAll()
    assertSame(stirred(), ['reservations'])
    await finishDirect(stage, tickets[0] as never)
    assertSame(stirred(), ['reservations'])
    await stage.store.releaseTicket(await openTicket(stage), 'caller-gone', NOW)
    assertSame(stirred(), ['tickets', 'reservations', 'tickets'])
    assert.equal(await stage.store.releaseTicket(id, 'caller-gone', NOW), 'ended')
    assertSame(stirred(), [])
    stop()
  })

  test('listeners are told which direct executions have changed', async (stage) => {
    const told: string[] = []
    const stop = stage.store.subscribe((signal) => {
      if (signal.kind === 'stirred') told.push(...signal.reservationIds)
    })
    const changed = () => told.splice(0).toSorted()
    const [served, back, old] = [await openTicket(stage), await openTicket(stage), await openTicket(stage)]
    assertSame(changed(), [])
    const [ticket] = (await stage.claimAll({ limit: 1 })).tickets
    assertSame(changed(), [served])
    await finishDirect(stage, ticket as never)
    assertSame(changed(), [served])
    await stage.store.releaseTicket(back, 'caller-gone', NOW)
    assertSame(changed(), [back])
    await stage.store.expireTickets(NOW + 1, NOW + 1)
    assertSame(changed(), [old])
    const lost = [await openTicket(stage), await openTicket(stage)]
    await stage.store.expireTicketsOf(stage.nodeId, NOW + 1)
    assertSame(changed(), lost.toSorted())
    stop()
  })
}

/** What is not accepted at all. */
function testRefusing({ test }: Kit): void {
  const rejecting = { onBusy: 'reject' } as const

  test('a type that no node handles which claims is refused', async (stage) => {
    const open = (type: string) => stage.changesNothing(() => stage.store.openTicket(newTicket(stage, { type }), NOW))
    assert.equal(await open('opera'), 'no-node')
    const singer = await registerNode(stage, ['opera'])
    await stage.store.setNodeClaims(singer, false)
    assert.equal(await open('opera'), 'no-node')
    await stage.store.setNodeClaims(singer, true)
    await openTicket(stage, newTicket(stage, { type: 'opera' }))
    await stage.store.removeNode(singer, NOW)
    assert.equal(await open('opera'), 'no-node')
  })

  test('one that would have to wait for a place is refused when it asks so', async (stage) => {
    const single = await registerNode(stage, ['song'], 1)
    const ticket = () => newTicket(stage, { type: 'song', ...rejecting })
    const first = await openTicket(stage, ticket())
    assert.equal(await stage.changesNothing(() => stage.store.openTicket(ticket(), NOW)), 'busy')
    assertSame((await claimBoth(stage, claimOf(single, ['song']))).tickets, [first])
    assert.equal(await stage.changesNothing(() => stage.store.openTicket(ticket(), NOW)), 'busy')
  })

  test('and one that would have to wait for a permit', async (stage) => {
    const open = () => stage.changesNothing(() => stage.store.openTicket(ticketTaking(stage, ['ink'], rejecting), NOW))
    const busy = await stage.start(jobTaking(['ink']))
    assert.equal(await open(), 'busy')
    await stage.finish(busy)
    await stage.store.setLimit(RUNNING_LIMIT, 1)
    const running = await stage.start()
    assert.equal(await open(), 'busy')
    await stage.finish(running)
    const id = await openTicket(stage, ticketTaking(stage, ['ink'], rejecting))
    assertSame((await claimBoth(stage)).tickets, [id])
  })

  test('and one behind a ticket that waits for the same, but not behind any other', async (stage) => {
    await stage.start(jobTaking(['gpu']))
    await openTicket(stage, ticketTaking(stage, ['gpu', 'ink']))
    const open = (resources: readonly string[]) =>
      stage.store.openTicket(ticketTaking(stage, resources, rejecting), NOW)
    assert.equal(await stage.changesNothing(() => open(['ink'])), 'busy')
    assert.equal(await open(['paper']), 'waiting')
  })

  test('Jobs in the queue are no reason to refuse', async (stage) => {
    await stage.enqueue(newJobs(20))
    const id = await openTicket(stage, newTicket(stage, rejecting))
    assertSame((await claimBoth(stage, { limit: 1 })).tickets, [id])
  })
}
