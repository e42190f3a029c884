import type { Claimed, ClaimRequest } from '../../../store/runs.ts'
import type { PermitCounts } from '../../shared/permit-counts.ts'
import { type LaneSource, type Picked, pickInOrder } from '../../shared/pick-in-order.ts'
import type { Connection } from '../connection.ts'
import type { Lane, Transaction } from '../transaction.ts'
import { countPermits, type Survey } from './claim-survey.ts'
import { LockedPermits, type Permit } from './permits.ts'
import { type HeadRow, startJobs } from './start-jobs.ts'
import { chooseTickets, startTickets } from './tickets.ts'

/** What a claim chose and could not get, because another had locked it: it is not chosen again. */
export class Losses {
  readonly tickets = new Set<number>()
  readonly jobs = new Set<number>()
  readonly permits = new Map<string, number>()

  addPermits(missing: ReadonlyMap<string, number>): void {
    for (const [name, count] of missing) this.permits.set(name, (this.permits.get(name) ?? 0) + count)
  }
}

/**
 * Claims where limits or tickets are to be looked at: decides by what was surveyed, tickets first; then locks the permits of
 * what it chose, and then that itself. Whatever another has locked is lost, and with it the ticket or Job that needed it.
 */
export async function claimLimited(
  transaction: Transaction,
  request: ClaimRequest,
  survey: Survey,
  losses: Losses,
): Promise<Claimed & { readonly lost: number }> {
  const { connection } = transaction
  const { nodeSeq, ready, waiting, limits } = survey
  if (nodeSeq === null) return { tickets: [], jobs: [], lost: 0 }
  const counts = countPermits(survey, losses.permits)
  const chosen = await chooseTickets(connection, request, nodeSeq, waiting, counts, losses.tickets)
  const picked = await pickJobs(connection, request, request.limit - chosen.length, ready, counts, losses.jobs)
  const permits = new LockedPermits(limits)
  const lanes = [...chosen, ...picked].map(({ lane }) => lane)
  losses.addPermits(await permits.lock(connection, lanes))
  const permitted = chosen.flatMap((ticket) => withPermits(permits.take(ticket.lane), { ticket }))
  const startable = picked.flatMap((job) => withPermits(permits.take(job.lane), job))
  const tickets = await startTickets(transaction, request, nodeSeq, permitted)
  const jobs = await startJobs(transaction, request, nodeSeq, startable)
  addMissing(
    losses.tickets,
    permitted.map(({ ticket }) => ticket.seq),
    tickets,
  )
  addMissing(
    losses.jobs,
    startable.map(({ row }) => row.seq),
    jobs,
  )
  return { tickets, jobs, lost: lanes.length - tickets.length - jobs.length }
}

function addMissing(
  lost: Set<number>,
  chosen: readonly number[],
  started: readonly { readonly claim: { readonly ref: string | number } }[],
): void {
  const refs = new Set(started.map(({ claim }) => claim.ref))
  for (const seq of chosen) if (!refs.has(seq)) lost.add(seq)
}

function withPermits<T>(permits: Permit[] | null, one: T): (T & { readonly permits: Permit[] })[] {
  return permits === null ? [] : [{ ...one, permits }]
}

/** So many heads of all lanes together are read at first. */
const HEADS_READ = 2_000
const HEADS_OF_LANE_MIN = 16

/** The first Jobs of the lanes that have permits left. Those of a lane that has none are not read, however many there are. */
async function pickJobs(
  connection: Connection,
  request: ClaimRequest,
  limit: number,
  ready: readonly Lane[],
  counts: PermitCounts,
  lost: ReadonlySet<number>,
): Promise<Picked<Lane, HeadRow>[]> {
  const open = ready.filter((lane) => counts.canTake(lane))
  if (open.length === 0 || limit <= 0) return []
  let pageSize = Math.min(limit, Math.max(HEADS_OF_LANE_MIN, Math.ceil(HEADS_READ / open.length)))
  for (;;) {
    const heads = (await readHeads(connection, open, pageSize + lost.size)).filter(({ seq }) => !lost.has(seq))
    const byLane = groupByLane(open, heads)
    const sources = open.map((lane) => new HeadsOfLane(lane, byLane.get(lane.laneId) ?? []))
    const picked = pickInOrder(limit, request.types, sources, counts.copy(), compareHeads)
    // With what was read of a lane used up, those that were taken instead may come later than its next one.
    const isShort = pageSize < limit && sources.some((source) => source.taken >= pageSize)
    if (!isShort || picked.length === 0) return picked
    pageSize = Math.min(limit, pageSize * 4)
  }
}

// The heads of each lane, in any order.
const SELECT_HEADS = `
select head.lane_id, head.priority, head.position, head.created_at, head.seq
from unnest($1::integer[]) as given (lane_id)
cross join lateral (
  select q.lane_id, q.priority, q.position, q.created_at, q.seq
  from pawl.queue q
  where q.ready and q.lane_id = given.lane_id
  order by q.priority desc, q.position, q.created_at, q.seq
  limit $2::integer
) head`

function readHeads(connection: Connection, lanes: readonly Lane[], pageSize: number): Promise<HeadRow[]> {
  const laneIds = lanes.map(({ laneId }) => laneId)
  return connection.all<HeadRow>(SELECT_HEADS, laneIds, pageSize)
}

function groupByLane(lanes: readonly Lane[], heads: readonly HeadRow[]): ReadonlyMap<number, HeadRow[]> {
  const byLane = new Map<number, HeadRow[]>(lanes.map(({ laneId }) => [laneId, []]))
  for (const head of heads) byLane.get(head.lane_id)?.push(head)
  for (const ofLane of byLane.values()) ofLane.sort(compareHeads)
  return byLane
}

class HeadsOfLane implements LaneSource<Lane, HeadRow> {
  readonly lane: Lane
  readonly #heads: readonly HeadRow[]
  taken = 0

  constructor(lane: Lane, heads: readonly HeadRow[]) {
    this.lane = lane
    this.#heads = heads
  }

  get head(): HeadRow | undefined {
    return this.#heads[this.taken]
  }

  take(): HeadRow {
    return this.#heads[this.taken++] as HeadRow
  }
}

function compareHeads(a: HeadRow, b: HeadRow): number {
  return b.priority - a.priority || a.position - b.position || a.created_at - b.created_at || a.seq - b.seq
}
