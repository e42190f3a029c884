import { assert } from './errors.ts'
import { RUNNING_LIMIT } from './limits.ts'
import type { Kind, NodeStanding, QueuedStanding, TicketLane } from './standing.ts'
import { LISTED_MAX } from './standing.ts'
import { toWhyHolder, type WhyContext, type WhyReason } from './why-reason.ts'
import { holderInWords } from './why-words.ts'
import { countInWords, durationInWords, listInWords } from './words.ts'

/** What keeps a Job from a place on a node. */
export interface PlaceDecision {
  readonly nodes: readonly WhyReason[]
  readonly tickets: readonly WhyReason[]
  readonly places: readonly WhyReason[]
  /** Places and permits are left for it even when all that comes before it has taken its own. */
  readonly canStartNow: boolean
}

export function decidePlace(standing: QueuedStanding, context: WhyContext): PlaceDecision {
  const living = standing.nodes.filter(({ nodeId }) => !context.dead.has(nodeId))
  const claiming = living.filter(({ claims }) => claims)
  const free = claiming.reduce((sum, { concurrency, bodies }) => sum + Math.max(0, concurrency - bodies), 0)
  const first = findFirstTickets(standing, claiming, free)
  return {
    nodes: claiming.length > 0 ? [] : [withoutNodes(standing, living)],
    tickets: first === null ? [] : [reservationFirst(first, context)],
    places: claiming.length > 0 && free === 0 ? [noFreePlace(standing, claiming, context)] : [],
    canStartNow: hasRoomForAll(standing, claiming, free),
  }
}

function withoutNodes({ job, nodes }: QueuedStanding, living: readonly NodeStanding[]): WhyReason {
  const { type } = job
  if (living.length > 0) {
    const names = living.slice(0, LISTED_MAX).map(({ name }) => name)
    const list = listInWords(names, living.length)
    const message = `No node that handles \`${type}\` claims: ${list} lives, but was not started or was stopped.`
    return { code: 'nodes_stopped', message, type, nodes: toNodes(living) }
  }
  const dead = toNodes(nodes)
  const gone = dead.map(({ name }) => name)
  const remains = dead.length === 0 ? '' : `; dead: ${listInWords(gone, nodes.length)}`
  return { code: 'no_node', message: `No living node handles \`${type}\`${remains}.`, type, dead }
}

function toNodes(nodes: readonly NodeStanding[]): { nodeId: string; name: string }[] {
  return nodes.slice(0, LISTED_MAX).map(({ nodeId, name }) => ({ nodeId, name }))
}

function noFreePlace({ bodies }: QueuedStanding, claiming: readonly NodeStanding[], context: WhyContext): WhyReason {
  const max = claiming.reduce((sum, { concurrency }) => sum + concurrency, 0)
  const taken = claiming.reduce((sum, node) => sum + node.bodies, 0)
  const here = bodies.filter(({ nodeId }) => claiming.some((node) => node.nodeId === nodeId))
  const holders = here.slice(0, LISTED_MAX).map((holder) => toWhyHolder(holder, context))
  const held = holders.map((holder) => holderInWords(holder, 'has been executing', context))
  const where = claiming.length === 1 ? `on node ${claiming[0]?.name}` : `on ${claiming.length} nodes`
  const message = `No place is free ${where} (${taken} of ${max} taken): ${listInWords(held, taken)}.`
  return { code: 'no_free_place', message, max, taken, nodes: toNodes(claiming), holders }
}

/** Tickets that take something before the Job gets it. */
interface FirstTickets {
  readonly lanes: readonly TicketLane[]
  /** The limit of which they leave no permit; null: no place. */
  readonly name: string | null
}

function findFirstTickets(
  { tickets, limits }: QueuedStanding,
  claiming: readonly NodeStanding[],
  free: number,
): FirstTickets | null {
  // What a ticket shares with its like is held back for it, whatever else it lacks.
  for (const { name, max, taken } of limits) {
    if (name === RUNNING_LIMIT) continue
    const lanes = tickets.filter((lane) => lane.limits.includes(name))
    if (lanes.length > 0 && max - taken <= countOf(lanes)) return { lanes, name }
  }
  // A place, and the permit to run at all, only when it lacks nothing else.
  const lanes = tickets.filter(
    (lane) => lane.lacks.every((name) => name === RUNNING_LIMIT) && isHandledBy(lane, claiming),
  )
  if (lanes.length === 0) return null
  if (free <= countOf(lanes)) return { lanes, name: null }
  const running = limits.find(({ name }) => name === RUNNING_LIMIT)
  const isLast = running !== undefined && running.max - running.taken <= countOf(lanes)
  return isLast ? { lanes, name: RUNNING_LIMIT } : null
}

function isHandledBy({ type }: Kind, nodes: readonly NodeStanding[]): boolean {
  return nodes.some(({ types }) => types.includes(type))
}

function countOf(lanes: readonly TicketLane[]): number {
  return lanes.reduce((sum, { waiting }) => sum + waiting, 0)
}

function reservationFirst({ lanes, name }: FirstTickets, { now }: WhyContext): WhyReason {
  const count = countOf(lanes)
  const tickets = lanes.flatMap(({ oldest }) => oldest)
  const [ticket] = tickets.sort((a, b) => a.createdAt - b.createdAt || (a.reservationId < b.reservationId ? -1 : 1))
  assert(ticket !== undefined, 'a lane without tickets counts as waiting')
  const { reservationId, type, createdBy, callerNodeId, callerName, createdAt } = ticket
  const whose = createdBy === null ? `asked for by node ${callerName}` : `asked for by ${createdBy}`
  const what = name === null ? 'the next free place' : `the next permit of \`${name}\``
  const others = count === 1 ? '' : `, then ${countInWords(count - 1, 'more ticket')}`
  const since = durationInWords(now - createdAt)
  return {
    code: 'reservation_first',
    message: `Direct executions are served first: ticket ${reservationId} (${type}), ${whose}, has waited for ${since} and gets ${what}${others}.`,
    reservationId,
    type,
    createdBy,
    callerNodeId,
    callerName,
    createdAt,
    name,
    count,
  }
}

/**
 * Whether the Job would start at the next claim. What comes before it is taken for granted, as far as it lacks no permit: it
 * may turn out that less of it starts, and then this Job starts although it was said to wait.
 */
function hasRoomForAll(
  { rank, limits, tickets }: QueuedStanding,
  claiming: readonly NodeStanding[],
  free: number,
): boolean {
  if (rank === null || rank.lanes === null) return false
  const before = [...tickets.map((lane) => ({ ...lane, count: lane.waiting })), ...rank.lanes].filter(
    (lane) => lane.lacks.length === 0 && isHandledBy(lane, claiming),
  )
  const needs = (name: string | null): number =>
    before.filter((lane) => name === null || lane.limits.includes(name)).reduce((sum, { count }) => sum + count, 0)
  return free > needs(null) && limits.every(({ name, max, taken }) => max - taken > needs(name))
}
