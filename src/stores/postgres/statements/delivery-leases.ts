import { assert } from '../../../domain/errors.ts'
import type { Job } from '../../../domain/job.ts'
import type { Run } from '../../../domain/run.ts'
import type { LeasedDelivery, LeasePage, LeaseRequest } from '../../../store/webhooks.ts'
import { type DeliveryRow, toDelivery, writeLease } from '../../shared/delivery-rows.ts'
import { shareOut } from '../../shared/delivery-turns.ts'
import type { Connection } from '../connection.ts'
import { FROM_JOBS, FROM_RUNS, JOB_COLUMNS, type JobRow, RUN_COLUMNS, type RunRow, toJob, toRun } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { DELIVERY_COLUMNS } from './delivery-rows.ts'
import { takeTurns } from './delivery-turns.ts'
import { findLiveNodeSeq } from './nodes.ts'

// One node leases at a time, until its transaction ends: two that count what is under way at once would both find room at
// the same endpoint. No row would do: there is none for the endpoints of Jobs. Nobody else takes this lock, and whoever
// holds it waits for nobody but those who are writing down what came of a delivery.
const LOCK_LEASES = "select pg_advisory_xact_lock(hashtextextended('leases ' || 'pawl.deliveries'::regclass::oid, 0))"

export async function leaseDeliveries(transaction: Transaction, request: LeaseRequest): Promise<LeasePage> {
  const { connection } = transaction
  const senderSeq = await findLiveNodeSeq(connection, request.nodeId)
  if (senderSeq === null || request.limit <= 0) return { leased: [], after: request.after, isCutShort: false }
  await connection.get(LOCK_LEASES)
  const underWay = await countUnderWay(transaction, request.now)
  const { turns, after, isCutShort } = await takeTurns(connection, request, underWay)
  const counts = shareOut(
    turns.map(({ due }) => due.length),
    request.limit,
  )
  const picks = turns.flatMap(({ receiver, due }, index) =>
    due.slice(0, counts[index]).map((seq) => ({ seq, receiver })),
  )
  return { leased: await lease(connection, request, senderSeq, picks), after, isCutShort }
}

// As many rows as deliveries are being sent right now on the whole store.
const SELECT_UNDER_WAY = `
select d.endpoint, d.leased_until, d.sender_seq, n.ended_at
from pawl.deliveries d
join pawl.nodes n on n.node_seq = d.sender_seq
where d.sender_seq is not null`

interface UnderWayRow {
  endpoint: string
  leased_until: number
  sender_seq: number
  ended_at: number | null
}

async function countUnderWay(transaction: Transaction, now: number): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  const gone = new Set<number>()
  for (const row of await transaction.connection.all<UnderWayRow>(SELECT_UNDER_WAY)) {
    if (row.ended_at !== null) gone.add(row.sender_seq)
    else if (row.leased_until > now) counts.set(row.endpoint, (counts.get(row.endpoint) ?? 0) + 1)
  }
  if (gone.size > 0) await releaseSenders(transaction, [...gone], now)
  return counts
}

// Rows changed: deliveries that somebody else may send now. What its sender records just then is not given back.
const RELEASE = `
update pawl.deliveries
set sender_seq = null, leased_until = null, next_attempt_at = $1
where sender_seq = any($2::integer[]) and delivery_seq = any(array(
  select delivery_seq
  from pawl.deliveries
  where sender_seq = any($2::integer[])
  order by delivery_seq
  for update
))`

export async function releaseSenders(
  transaction: Transaction,
  senderSeqs: readonly number[],
  now: number,
): Promise<number> {
  const released = await transaction.connection.run(RELEASE, now, senderSeqs)
  if (released > 0) transaction.stirs.add('deliveries')
  return released
}

// As many rows as were taken. While one is leased it is not due; when the lease is over it is, without anybody doing
// anything. What somebody else changes just then is left for the next look.
const LEASE = `
update pawl.deliveries d
set sender_seq = $1, leased_until = $2, next_attempt_at = $2
where d.status = 'PENDING' and d.next_attempt_at <= $4 and d.delivery_seq = any(array(
  select delivery_seq
  from pawl.deliveries
  where delivery_seq = any($3::bigint[])
  for update skip locked
))
returning ${DELIVERY_COLUMNS}`

type LeasedRow = DeliveryRow<boolean> & { readonly job_seq: number }

type Pick = { readonly seq: number; readonly receiver: { readonly url: string | null } & Signing }

type Signing = { readonly secrets: LeasedDelivery['secrets'] }

async function lease(
  connection: Connection,
  { now, leasedUntil }: LeaseRequest,
  senderSeq: number,
  picks: readonly Pick[],
): Promise<LeasedDelivery[]> {
  if (picks.length === 0) return []
  const seqs = picks.map(({ seq }) => seq)
  const taken = await connection.runReturningAll<LeasedRow>(LEASE, senderSeq, leasedUntil, seqs, now)
  const rows = new Map(taken.map((row) => [row.delivery_seq, row]))
  const jobSeqs = taken.map(({ job_seq }) => job_seq)
  const jobs = await findJobs(connection, jobSeqs, now)
  const runs = await findRuns(connection, jobSeqs)
  return picks.flatMap(({ seq, receiver }) => {
    const row = rows.get(seq)
    if (row === undefined) return []
    const job = jobs.get(row.job_seq)
    assert(job !== undefined, `delivery ${row.delivery_id} tells of a job that is not there`)
    return {
      delivery: toDelivery(row),
      url: receiver.url ?? job.webhookUrl ?? '',
      secrets: receiver.secrets,
      job,
      run: runs.get(row.job_seq) ?? null,
      lease: writeLease({ seq, senderSeq, leasedUntil }),
    }
  })
}

const SELECT_JOBS = `select ${JOB_COLUMNS} ${FROM_JOBS} where j.seq = any($1::bigint[])`

async function findJobs(
  connection: Connection,
  seqs: readonly number[],
  now: number,
): Promise<ReadonlyMap<number, Job>> {
  const jobs = new Map<number, Job>()
  for (const row of await connection.all<JobRow>(SELECT_JOBS, seqs)) {
    jobs.set(row.seq, await toJob(row, connection, now))
  }
  return jobs
}

const SELECT_RUNS = `select ${RUN_COLUMNS} ${FROM_RUNS} where r.seq = any($1::bigint[])`

async function findRuns(connection: Connection, seqs: readonly number[]): Promise<ReadonlyMap<number, Run>> {
  const rows = await connection.all<RunRow>(SELECT_RUNS, seqs)
  return new Map(rows.map((row) => [row.seq, toRun(row)]))
}
