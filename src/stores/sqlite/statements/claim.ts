import { assert } from '../../../domain/errors.ts'
import { comparePlaces, type Place } from '../../../domain/order.ts'
import type { Claimed, ClaimedJob, ClaimRequest } from '../../../store/runs.ts'
import { type LaneSource, type Picked, pickInOrder } from '../../shared/pick-in-order.ts'
import type { Connection } from '../connection.ts'
import type { Lane, Transaction } from '../transaction.ts'
import { laneById, policyById } from './interned.ts'
import { markGroupsStarted } from './members.ts'
import { findLiveNodeSeq } from './nodes.ts'
import { countPermits } from './permits.ts'
import { serveTickets } from './tickets.ts'
import { findWaitingLanes } from './waiting-line.ts'

/** Due Jobs that become ready in one claim. The rest follows with the next ones. */
const PROMOTE_MAX = 1_000

// Mostly none is, and to see that costs less than to change nothing.
const HAS_DUE = `
select 1 as found
from pawl_queue
where ready = 0 and awaits_predecessor = 0 and unmet_parents = 0 and run_at <= ?
limit 1`

// Rows changed: delayed Jobs that became ready.
const PROMOTE_DUE = `
update pawl_queue
set ready = 1
where (priority, position, created_at, seq) in (
  select priority, position, created_at, seq
  from pawl_queue
  where ready = 0 and awaits_predecessor = 0 and unmet_parents = 0 and run_at <= ?
  order by run_at
  limit ${PROMOTE_MAX}
)`

// One seek per lane that has a ready Job, however many Jobs there are.
const SELECT_NEXT_READY_LANE = `
select lane_id
from pawl_queue
where ready = 1 and lane_id > ?
order by lane_id
limit 1`

// Jobs of one place and one instant come by their numbers, which are given in the order of their ids: that is how the index has
// them, and to sort by the ids themselves would cost more than all the rest.
const SELECT_HEADS = `
select q.seq, j.job_id, j.chain_id, j.policy_id, j.attempt, q.priority, q.position, q.created_at, j.run_at,
  j.business_key, j.error_retries, j.crash_retries, j.shutdown_retries, j.group_id, j.schedule_id, j.webhook_url,
  j.parents, j.params
from pawl_queue q
join pawl_jobs j on j.seq = q.seq
where q.ready = 1 and q.lane_id = ?
order by q.priority desc, q.position, q.created_at, q.seq
limit ? offset ?`

type HeadRow = readonly [
  seq: number,
  jobId: string,
  chainId: string | null,
  policyId: number,
  attempt: number,
  priority: number,
  position: number,
  createdAt: number,
  runAt: number,
  businessKey: string | null,
  errorRetries: number,
  crashRetries: number,
  shutdownRetries: number,
  groupId: string | null,
  scheduleId: string | null,
  webhookUrl: string | null,
  parents: number,
  params: string,
]

const INSERT_RUN = 'insert into pawl_runs (seq, run_id, node_seq, started_at) values (?, ?, ?, ?)'

const INSERT_OCCUPANCY =
  'insert into pawl_occupancies (seq, node_seq, lane_id, priority, position) values (?, ?, ?, ?, ?)'

// 1 row: inside the write lock nobody else can have taken it.
const LEAVE_QUEUE = 'delete from pawl_queue where priority = ? and position = ? and created_at = ? and seq = ?'

// As many rows as were picked of the lane at this priority: they are picked from its head on, and none is passed over. By the order of
// the whole queue, all that is delayed before them would be passed over, each time again.
const LEAVE_QUEUE_UP_TO = `
delete from pawl_queue indexed by pawl_queue_ready
where ready = 1 and lane_id = ? and priority = ? and (position, created_at, seq) <= (?, ?, ?)`

const NOTHING: Claimed = { tickets: [], jobs: [] }

export function claimJobs(transaction: Transaction, request: ClaimRequest): Claimed {
  const { connection } = transaction
  if (connection.get(HAS_DUE, request.now) !== undefined) connection.run(PROMOTE_DUE, request.now)
  const waiting = findWaitingLanes(transaction)
  const lanes = readyLanes(transaction, request)
  if (waiting.length === 0 && lanes.length === 0) return NOTHING
  const nodeSeq = findLiveNodeSeq(connection, request.nodeId)
  if (nodeSeq === null) return NOTHING
  const permits = countPermits(transaction, [...lanes, ...waiting.map(({ lane }) => lane)])
  const tickets = waiting.length === 0 ? [] : serveTickets(transaction, request, nodeSeq, waiting, permits)
  const limit = request.limit - tickets.length
  const open = lanes.filter((lane) => permits.canTake(lane))
  const pageSize = open.length === 1 ? limit : Math.min(limit, MERGE_PAGE)
  const sources = open.map((lane) => new QueuedLane(transaction, lane, pageSize))
  const picked = pickInOrder(limit, request.types, sources, permits, compareRows)
  const jobs = picked.map(({ lane, row }) => toClaimedJob(transaction, request, lane, row))
  if (jobs.length > 0) startJobs(transaction, nodeSeq, request.now, picked, jobs)
  return { tickets, jobs }
}

function startJobs(
  transaction: Transaction,
  nodeSeq: number,
  now: number,
  picked: readonly Picked<Lane, HeadRow>[],
  claimed: readonly ClaimedJob[],
): void {
  const { connection } = transaction
  leaveQueue(connection, picked)
  for (const { claim } of claimed) connection.insertLater(INSERT_RUN, claim.ref, claim.runId, nodeSeq, now)
  for (const { lane, row } of picked) {
    const [seq, , , , , priority, position] = row
    connection.insertLater(INSERT_OCCUPANCY, seq, nodeSeq, lane.laneId, priority, position)
  }
  markGroupsStarted(transaction, claimed, now)
}

/** Jobs of one lane and priority leave together, as most do. */
function leaveQueue(connection: Connection, picked: readonly Picked<Lane, HeadRow>[]): void {
  for (const { laneId, rows } of groupByHead(picked)) {
    const [seq, , , , , priority, position, createdAt] = rows.at(-1) as HeadRow
    const left =
      rows.length === 1
        ? connection.run(LEAVE_QUEUE, priority, position, createdAt, seq)
        : connection.run(LEAVE_QUEUE_UP_TO, laneId, priority, position, createdAt, seq)
    assert(left === rows.length, `${rows.length} Jobs were picked, but ${left} left the queue`)
  }
}

/** Of each lane and priority, what was picked, in order. */
function groupByHead(
  picked: readonly Picked<Lane, HeadRow>[],
): Iterable<{ readonly laneId: number; readonly rows: HeadRow[] }> {
  const groups: { readonly laneId: number; readonly priority: number; readonly rows: HeadRow[] }[] = []
  for (const { lane, row } of picked) {
    const [, , , , , priority] = row
    const { laneId } = lane
    const group = groups.find((other) => other.laneId === laneId && other.priority === priority)
    if (group === undefined) groups.push({ laneId, priority, rows: [row] })
    else group.rows.push(row)
  }
  return groups
}

/** With several lanes only some Jobs of each are taken, so each is read in small pages. */
const MERGE_PAGE = 16

/** The Jobs of one lane from its head on, read page by page as they are taken. */
class QueuedLane implements LaneSource<Lane, HeadRow> {
  readonly lane: Lane
  readonly #transaction: Transaction
  readonly #pageSize: number
  #page: readonly HeadRow[] = []
  #next = 0
  #taken = 0
  #isLastPage = false

  constructor(transaction: Transaction, lane: Lane, pageSize: number) {
    this.#transaction = transaction
    this.lane = lane
    this.#pageSize = pageSize
  }

  /** The first Job that has not been taken. Reads only when somebody asks for one that is not there. */
  get head(): HeadRow | undefined {
    if (this.#next === this.#page.length && !this.#isLastPage) this.#readPage()
    return this.#page[this.#next]
  }

  take(): HeadRow {
    this.#taken++
    return this.#page[this.#next++] as HeadRow
  }

  #readPage(): void {
    const { connection } = this.#transaction
    this.#page = connection.tuples<HeadRow>(SELECT_HEADS, this.lane.laneId, this.#pageSize, this.#taken)
    this.#isLastPage = this.#page.length < this.#pageSize
    this.#next = 0
  }
}

/** The lanes that have a ready Job of a type that may be claimed. */
function readyLanes(transaction: Transaction, request: ClaimRequest): Lane[] {
  const lanes: Lane[] = []
  for (let last = 0; ; ) {
    const row = transaction.connection.get<{ lane_id: number }>(SELECT_NEXT_READY_LANE, last)
    if (row === undefined) return lanes
    last = row.lane_id
    const lane = laneById(transaction.connection, transaction.interned, row.lane_id)
    if ((request.types.get(lane.type) ?? 0) > 0) lanes.push(lane)
  }
}

function compareRows(a: HeadRow, b: HeadRow): number {
  return comparePlaces(placeOf(a), placeOf(b))
}

function placeOf([, jobId, , , , priority, position, createdAt]: HeadRow): Place {
  return { priority, position, createdAt, jobId }
}

function toClaimedJob(transaction: Transaction, request: ClaimRequest, lane: Lane, row: HeadRow): ClaimedJob {
  const [seq, jobId, chain, policyId, attempt, priority, , , runAt, businessKey] = row
  const runId = request.newRunId()
  const chainId = chain ?? jobId
  const { type } = lane
  const { now, nodeId } = request
  transaction.noteWhole(seq, {
    kind: 'job.started',
    jobId,
    runId,
    chainId,
    type,
    status: 'RUNNING',
    outcome: null,
    reason: null,
    attempt,
    at: now,
  })
  return {
    claim: { runId, jobId, nodeId, ref: seq },
    chainId,
    type,
    attempt,
    priority,
    businessKey,
    params: row[17],
    policy: policyById(transaction.connection, transaction.interned, policyId),
    counts: { errorRetries: row[10], crashRetries: row[11], shutdownRetries: row[12] },
    runAt,
    startedAt: now,
    groupId: row[13],
    scheduleId: row[14],
    webhookUrl: row[15],
    hasParents: row[16] > 0,
  }
}

const SELECT_NEXT_DUE = `
select min(run_at) as due
from pawl_queue
where ready = 0 and awaits_predecessor = 0 and unmet_parents = 0`

export function nextDueAt(connection: Connection): number | null {
  return connection.get<{ due: number | null }>(SELECT_NEXT_DUE)?.due ?? null
}
