import { comparePlaces } from '../../../domain/order.ts'
import type { Claimed, ClaimedJob, ClaimRequest } from '../../../store/runs.ts'
import { type LaneSource, type Picked, pickInOrder } from '../../shared/pick-in-order.ts'
import type { Connection, SqlRow } from '../connection.ts'
import { countsOf } from '../rows.ts'
import type { Lane, Transaction } from '../transaction.ts'
import { laneById, policyById } from './interned.ts'
import { markGroupsStarted } from './members.ts'
import { findLiveNodeSeq } from './nodes.ts'
import { countPermits } from './permits.ts'
import { serveTickets } from './tickets.ts'
import { findWaitingLanes } from './waiting-line.ts'

/** Due Jobs that become ready in one claim. The rest follows with the next ones. */
const PROMOTE_MAX = 1_000

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

const SELECT_HEADS = `
select q.seq, j.job_id, j.chain_id, j.policy_id, j.attempt, q.priority, q.position, q.created_at, j.run_at,
  j.business_key, j.error_retries, j.crash_retries, j.shutdown_retries, j.group_id, j.schedule_id, j.webhook_url,
  j.parents, j.params
from pawl_queue q
join pawl_jobs j on j.seq = q.seq
where q.ready = 1 and q.lane_id = ?
order by q.priority desc, q.position, q.created_at, j.job_id
limit ? offset ?`

interface HeadRow extends SqlRow {
  seq: number
  job_id: string
  chain_id: string | null
  policy_id: number
  attempt: number
  priority: number
  position: number
  created_at: number
  run_at: number
  business_key: string | null
  error_retries: number
  crash_retries: number
  shutdown_retries: number
  group_id: string | null
  schedule_id: string | null
  webhook_url: string | null
  parents: number
  params: string
}

// Many at a time: a statement costs more to call than a row costs to write.
const INSERT_RUNS = `
insert into pawl_runs (seq, run_id, node_seq, started_at)
select value ->> 0, value ->> 1, ?, ?
from json_each(?)`

const INSERT_OCCUPANCIES = `
insert into pawl_occupancies (seq, node_seq, lane_id, priority, position)
select value ->> 0, ?, value ->> 2, value ->> 3, value ->> 4
from json_each(?)`

// As many rows as were picked: inside the write lock nobody else can have taken one.
const LEAVE_QUEUE = `
delete from pawl_queue
where (priority, position, created_at, seq) in (select value ->> 3, value ->> 4, value ->> 5, value ->> 0 from json_each(?))`

const NOTHING: Claimed = { tickets: [], jobs: [] }

export function claimJobs(transaction: Transaction, request: ClaimRequest): Claimed {
  transaction.connection.run(PROMOTE_DUE, request.now)
  const waiting = findWaitingLanes(transaction)
  const lanes = readyLanes(transaction, request)
  if (waiting.length === 0 && lanes.length === 0) return NOTHING
  const nodeSeq = findLiveNodeSeq(transaction.connection, request.nodeId)
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
  const rows = picked.map(({ lane, row }, index) => [
    row.seq,
    claimed[index]?.claim.runId,
    lane.laneId,
    row.priority,
    row.position,
    row.created_at,
  ])
  const text = JSON.stringify(rows)
  const { connection } = transaction
  connection.run(INSERT_RUNS, nodeSeq, now, text)
  connection.run(INSERT_OCCUPANCIES, nodeSeq, text)
  connection.run(LEAVE_QUEUE, text)
  markGroupsStarted(transaction, claimed, now)
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
    this.#page = connection.all<HeadRow>(SELECT_HEADS, this.lane.laneId, this.#pageSize, this.#taken)
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
  return comparePlaces(
    { priority: a.priority, position: a.position, createdAt: a.created_at, jobId: a.job_id },
    { priority: b.priority, position: b.position, createdAt: b.created_at, jobId: b.job_id },
  )
}

function toClaimedJob(transaction: Transaction, request: ClaimRequest, lane: Lane, row: HeadRow): ClaimedJob {
  const runId = request.newRunId()
  const chainId = row.chain_id ?? row.job_id
  transaction.note(row.seq, {
    kind: 'job.started',
    jobId: row.job_id,
    runId,
    chainId,
    type: lane.type,
    status: 'RUNNING',
    attempt: row.attempt,
    at: request.now,
  })
  return {
    claim: { runId, jobId: row.job_id, nodeId: request.nodeId, ref: row.seq },
    chainId,
    type: lane.type,
    attempt: row.attempt,
    priority: row.priority,
    businessKey: row.business_key,
    params: row.params,
    policy: policyById(transaction.connection, transaction.interned, row.policy_id),
    counts: countsOf(row),
    runAt: row.run_at,
    startedAt: request.now,
    groupId: row.group_id,
    scheduleId: row.schedule_id,
    webhookUrl: row.webhook_url,
    hasParents: row.parents > 0,
  }
}

const SELECT_NEXT_DUE = `
select min(run_at) as due
from pawl_queue
where ready = 0 and awaits_predecessor = 0 and unmet_parents = 0`

export function nextDueAt(connection: Connection): number | null {
  return connection.get<{ due: number | null }>(SELECT_NEXT_DUE)?.due ?? null
}
