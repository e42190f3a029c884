import assert from 'node:assert/strict'
import { RUNNING_LIMIT, resourceLimit, typeLimit } from '../../domain/limits.ts'
import { TICKET_EXPIRES_MS } from '../../domain/reservation.ts'
import { jobTaking, NOW, newJob, newJobs } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'
import {
  claimBoth,
  claimOf,
  directOccupants,
  finishDirect,
  newTicket,
  openTicket,
  registerNode,
  reservation,
  startDirect,
  ticketTaking,
} from './ticket-fixtures.ts'

/** What claims do with the tickets that wait: they are served in their order and before any Job, or keep others waiting. */
export function testServingTickets(kit: Kit): void {
  testServing(kit)
  testHoldingBack(kit)
  testLongLine(kit)
}

/** Tickets are served by the claims, before any Job. */
function testServing({ test, testShared }: Kit): void {
  test('a served ticket is RUNNING, with an occupancy', async (stage) => {
    const ticket = ticketTaking(stage, ['ink'])
    await openTicket(stage, ticket)
    const { tickets } = await stage.claimAll({ now: NOW + 5 })
    const [served] = tickets
    assert.ok(served)
    assertSame(
      { ...served, params: JSON.parse(served.params) },
      {
        claim: { reservationId: ticket.reservationId, nodeId: stage.nodeId, ref: served.claim.ref },
        type: 'story',
        params: { genre: 'gothic' },
        policy: ticket.policy,
        startedAt: NOW + 5,
      },
    )
    const { status, nodeId, startedAt } = await reservation(stage, ticket.reservationId)
    assertSame({ status, nodeId, startedAt }, { status: 'RUNNING', nodeId: stage.nodeId, startedAt: NOW + 5 })
    const occupancy = { ticket: served, ended: false, child: null }
    assertSame(await stage.store.listDirectOccupancies(stage.nodeId, 10), [occupancy])
    assertSame(await stage.occupants(), [])
  })

  test('it comes before every Job, whatever its priority; then the same head goes on', async (stage) => {
    const [low, high] = await stage.enqueue([newJob(), newJob({ priority: 9 })])
    const id = await openTicket(stage)
    assertSame(await stage.queue(), [high, low])
    assertSame(await claimBoth(stage, { limit: 1 }), { tickets: [id], jobs: [] })
    assertSame(await stage.queue(), [high, low])
    assertSame(await claimBoth(stage, { limit: 1 }), { tickets: [], jobs: [high] })
  })

  test('tickets are served in the order of their arrival', async (stage) => {
    const ids = [await openTicket(stage), await openTicket(stage), await openTicket(stage)]
    assertSame((await claimBoth(stage, { limit: 2 })).tickets, ids.slice(0, 2))
    assertSame((await claimBoth(stage, { limit: 2 })).tickets, ids.slice(2))
  })

  test('also where many of several kinds wait', async (stage) => {
    const kinds = [['ink'], ['paper'], []]
    const ids: string[] = []
    for (let n = 0; n < 100; n++) ids.push(await openTicket(stage, ticketTaking(stage, kinds[n % 3] as string[])))
    await stage.store.setLimit(resourceLimit('ink'), 100)
    await stage.store.setLimit(resourceLimit('paper'), 100)
    assertSame((await claimBoth(stage, { limit: 70 })).tickets, ids.slice(0, 70))
    assertSame((await claimBoth(stage, { limit: 70 })).tickets, ids.slice(70))
  })

  test('many that were not renewed in time are no reason to miss those behind them', async (stage) => {
    const old = await openMany(stage, 100, () => [])
    const late = NOW + TICKET_EXPIRES_MS + 1
    const young = await openTicket(stage, newTicket(stage), late)
    await stage.store.renewTickets(old.slice(50, 51), late)
    assertSame((await claimBoth(stage, { now: late })).tickets, [...old.slice(50, 51), young])
  })

  testShared('a ticket is served once, whoever claims', async (stage, other) => {
    const ids = await Promise.all(Array.from({ length: 12 }, () => openTicket(stage)))
    const claims = await Promise.all(
      [stage, other, stage, other, stage, other].map((one) => claimBoth(one, { limit: 3 })),
    )
    assertSame(claims.flatMap(({ tickets }) => tickets).toSorted(), ids.toSorted())
  })

  test('tickets and Jobs share the places of a claim', async (stage) => {
    const [first, second] = await stage.enqueue(newJobs(3))
    const ids = [await openTicket(stage), await openTicket(stage)]
    assertSame(await claimBoth(stage, { limit: 3 }), { tickets: ids, jobs: [first] })
    assertSame(await claimBoth(stage, { limit: 1 }), { tickets: [], jobs: [second] })
    assertSame(await claimBoth(stage, { limit: 0 }), { tickets: [], jobs: [] })
  })

  test('a type of which no Job may be claimed now is served all the same', async (stage) => {
    await stage.enqueue([newJob()])
    const id = await openTicket(stage)
    assertSame(await claimBoth(stage, { types: new Map([['story', 0]]) }), { tickets: [id], jobs: [] })
  })

  test('a node serves only the types it handles', async (stage) => {
    const poet = await registerNode(stage, ['poem'])
    const story = await openTicket(stage)
    const poem = await openTicket(stage, newTicket(stage, { type: 'poem' }))
    assertSame((await claimBoth(stage, claimOf(poet, ['poem']))).tickets, [poem])
    assertSame((await claimBoth(stage)).tickets, [story])
    assertSame(await directOccupants(stage), [story])
  })

  test('a node that is not registered any more serves nothing', async (stage) => {
    const other = await registerNode(stage, ['story'])
    const id = await openTicket(stage, newTicket(stage, { callerNodeId: other }))
    await stage.store.removeNode(stage.nodeId, NOW)
    const claimed = await claimBoth(stage).catch(() => ({ tickets: [] }))
    assertSame(claimed.tickets, [])
    assert.equal((await reservation(stage, id)).status, 'WAITING')
  })

  test('its body takes the same permits as that of a Job', async (stage) => {
    await stage.store.setLimit(RUNNING_LIMIT, 2)
    const direct = await startDirect(stage, ticketTaking(stage, ['ink']))
    const [ink, plain, more] = await stage.enqueue([jobTaking(['ink']), newJob(), newJob()])
    assertSame(await stage.claimIds(), [plain])
    assertSame(await stage.changesNothing(() => stage.claim()), [])
    await finishDirect(stage, direct)
    assertSame(await stage.claimIds(), [ink])
    assertSame(await stage.queue(), [more])
  })
}

/** What a ticket that cannot start yet keeps from those behind it. */
function testHoldingBack({ test }: Kit): void {
  test('it holds back its resources on every node, and nothing else', async (stage) => {
    const other = await registerNode(stage, ['poem'])
    const busy = await stage.start(jobTaking(['gpu']))
    const id = await openTicket(stage, ticketTaking(stage, ['gpu', 'ink']))
    const [ink, plain] = await stage.enqueue([jobTaking(['ink'], { type: 'poem' }), newJob({ type: 'poem' })])
    assertSame(await claimBoth(stage, claimOf(other, ['poem'])), { tickets: [], jobs: [plain] })
    assertSame(await stage.changesNothing(() => claimBoth(stage)), { tickets: [], jobs: [] })
    await stage.finish(busy)
    // Freed on one node, and still kept from the others until the ticket has had it.
    assertSame(await claimBoth(stage, claimOf(other, ['poem'])), { tickets: [], jobs: [] })
    assertSame(await claimBoth(stage), { tickets: [id], jobs: [] })
    assertSame(await stage.queue(), [ink])
  })

  test('it holds back a permit of its type', async (stage) => {
    await stage.store.setLimit(typeLimit('story'), 2)
    const busy = await stage.start(jobTaking(['ink']))
    const id = await openTicket(stage, ticketTaking(stage, ['ink']))
    const [story, poem] = await stage.enqueue([newJob(), newJob({ type: 'poem' })])
    assertSame(await claimBoth(stage), { tickets: [], jobs: [poem] })
    await stage.finish(busy)
    assertSame(await claimBoth(stage), { tickets: [id], jobs: [story] })
  })

  test('of several permits it holds back one', async (stage) => {
    await stage.store.setLimit(resourceLimit('ink'), 3)
    await stage.start(jobTaking(['gpu', 'ink']))
    await openTicket(stage, ticketTaking(stage, ['gpu', 'ink']))
    const [first] = await stage.enqueue([jobTaking(['ink']), jobTaking(['ink'])])
    assertSame(await claimBoth(stage), { tickets: [], jobs: [first] })
  })

  test('a place is not kept free for a ticket that waits for a resource', async (stage) => {
    await stage.start(jobTaking(['ink']))
    await openTicket(stage, ticketTaking(stage, ['ink']))
    const [plain] = await stage.enqueue([newJob()])
    assertSame(await claimBoth(stage, { limit: 1 }), { tickets: [], jobs: [plain] })
  })

  test('the last permit to run is kept for it where a node has a place ready', async (stage) => {
    await stage.store.setLimit(RUNNING_LIMIT, 1)
    const other = await registerNode(stage, ['poem'])
    const id = await openTicket(stage)
    const [poem] = await stage.enqueue([newJob({ type: 'poem' })])
    assertSame(await claimBoth(stage, claimOf(other, ['poem'])), { tickets: [], jobs: [] })
    assertSame(await claimBoth(stage), { tickets: [id], jobs: [] })
    assertSame(await stage.queue(), [poem])
  })

  test('but not while every node that could serve it is full', async (stage) => {
    await stage.store.setLimit(RUNNING_LIMIT, 2)
    const single = await registerNode(stage, ['song'], 1)
    await stage.enqueue([newJob({ type: 'song' })])
    const busy = (await stage.claim(claimOf(single, ['song'])))[0]
    await openTicket(stage, newTicket(stage, { type: 'song' }))
    const [poem] = await stage.enqueue([newJob({ type: 'poem' })])
    assert.ok(busy)
    assertSame(await claimBoth(stage, claimOf(stage.nodeId, ['poem'])), { tickets: [], jobs: [poem] })
  })

  test('a later ticket for something else goes ahead, one for the same does not', async (stage) => {
    const busy = await stage.start(jobTaking(['gpu']))
    const first = await openTicket(stage, ticketTaking(stage, ['gpu', 'ink']))
    const same = await openTicket(stage, ticketTaking(stage, ['ink']))
    const other = await openTicket(stage)
    assertSame((await claimBoth(stage)).tickets, [other])
    await stage.finish(busy)
    const { tickets } = await stage.claimAll()
    assertSame(
      tickets.map(({ claim }) => claim.reservationId),
      [first],
    )
    await finishDirect(stage, tickets[0] as never)
    assertSame((await claimBoth(stage)).tickets, [same])
  })
}

/** More than anybody would look at one by one. */
const MANY = 1_100

/** A long line of tickets that cannot start. */
function testLongLine({ test }: Kit): void {
  test('a long line for one thing holds up nobody who needs another', async (stage) => {
    await stage.start(jobTaking(['gpu']))
    await openMany(stage, MANY, () => ['gpu'])
    const plain = await openTicket(stage)
    const [job] = await stage.enqueue([newJob()])
    assertSame(await claimBoth(stage, { limit: 5 }), { tickets: [plain], jobs: [job] })
    const rejecting = ticketTaking(stage, ['ink'], { onBusy: 'reject' })
    assertSame((await claimBoth(stage)).tickets, [])
    assertSame(await openTicket(stage, rejecting), rejecting.reservationId)
    assertSame((await claimBoth(stage)).tickets, [rejecting.reservationId])
  })

  test('each of a long line holds back a permit, as many as there are', async (stage) => {
    await stage.start(jobTaking(['gpu']))
    await stage.store.setLimit(resourceLimit('ink'), MANY + 2)
    await openMany(stage, MANY, () => ['gpu', 'ink'])
    const jobs = await stage.enqueue([1, 2, 3].map(() => jobTaking(['ink'])))
    assertSame(await claimBoth(stage), { tickets: [], jobs: jobs.slice(0, 2) })
  })
}

/** So many tickets at once, in any order. Each takes the resources of its number. */
async function openMany(stage: Stage, count: number, resources: (n: number) => readonly string[]): Promise<string[]> {
  const tickets = Array.from({ length: count }, (_, n) => ticketTaking(stage, resources(n)))
  return Promise.all(tickets.map((ticket) => openTicket(stage, ticket)))
}
