import assert from 'node:assert/strict'
import type { Reservation } from '../../domain/reservation.ts'
import type { ClaimedTicket, DirectFinishResult, FinishedDirectRun, NewTicket } from '../reservations.ts'
import type { ClaimRequest } from '../runs.ts'
import { completed, NOW, newId, newNode, newPolicy, SECOND } from './fixtures.ts'
import type { Stage } from './stage.ts'

export function newTicket(stage: Stage, overrides: Partial<NewTicket> = {}): NewTicket {
  return {
    reservationId: newId(),
    type: 'story',
    params: '{"genre":"gothic"}',
    policy: newPolicy(),
    callerNodeId: stage.nodeId,
    createdBy: null,
    onBusy: 'wait',
    ...overrides,
  }
}

/** A ticket for one permit of each of these resources. */
export function ticketTaking(
  stage: Stage,
  resources: readonly string[],
  overrides: Partial<NewTicket> = {},
): NewTicket {
  return newTicket(stage, { policy: newPolicy({ resources }), ...overrides })
}

/** Takes a ticket that nothing speaks against. */
export async function openTicket(stage: Stage, ticket = newTicket(stage), now = NOW): Promise<string> {
  assert.equal(await stage.store.openTicket(ticket, now), 'waiting')
  return ticket.reservationId
}

/** What one claim starts: the ids of the tickets, then those of the Jobs. */
export async function claimBoth(
  stage: Stage,
  request: Partial<ClaimRequest> = {},
): Promise<{ readonly tickets: readonly string[]; readonly jobs: readonly string[] }> {
  const { tickets, jobs } = await stage.claimAll(request)
  return {
    tickets: tickets.map(({ claim }) => claim.reservationId),
    jobs: jobs.map(({ claim }) => claim.jobId),
  }
}

/** A direct execution whose body is under way on this node. */
export async function startDirect(stage: Stage, ticket = newTicket(stage)): Promise<ClaimedTicket> {
  await openTicket(stage, ticket)
  const { tickets } = await stage.claimAll({ limit: 1 })
  assert.equal(tickets[0]?.claim.reservationId, ticket.reservationId, 'the new ticket is the first that can start')
  return tickets[0] as ClaimedTicket
}

/** How the node that serves the ticket ends it, one second later. */
export function endOfDirect(ticket: ClaimedTicket, overrides: Partial<FinishedDirectRun> = {}): FinishedDirectRun {
  return { ticket, outcome: completed(), finishedAt: NOW + SECOND, followUps: [], body: 'ended', ...overrides }
}

export async function finishDirect(
  stage: Stage,
  ticket: ClaimedTicket,
  overrides: Partial<FinishedDirectRun> = {},
): Promise<DirectFinishResult> {
  const [result] = await stage.store.finishDirectRuns([endOfDirect(ticket, overrides)])
  assert.ok(result !== undefined, 'finishDirectRuns answers each item')
  return result
}

export async function reservation(stage: Stage, reservationId: string): Promise<Reservation> {
  const [found] = await stage.store.findReservations([reservationId])
  assert.ok(found, `reservation ${reservationId} exists`)
  return found
}

/** The reservations whose bodies occupy this node. */
export async function directOccupants(stage: Stage): Promise<string[]> {
  const occupancies = await stage.store.listDirectOccupancies(stage.nodeId, 1_000)
  return occupancies.map(({ ticket }) => ticket.claim.reservationId)
}

/** A node that handles these types only, with so many places. */
export async function registerNode(stage: Stage, types: readonly string[], concurrency = 8): Promise<string> {
  const node = newNode({ types, concurrency })
  await stage.store.registerNode(node)
  return node.nodeId
}

/** A request of a node that handles these types only. */
export function claimOf(nodeId: string, types: readonly string[]): Partial<ClaimRequest> {
  return { nodeId, types: new Map(types.map((type) => [type, 1_000])) }
}
