import { type Reader, toEpochMs } from './place.ts'
import type { Order } from './workload.ts'

/** A Job and its Run, as the database has them in the end. */
export interface StoredJob {
  readonly jobId: string
  readonly chainId: string
  readonly attempt: number
  readonly retryOf: string | null
  readonly groupId: string | null
  readonly type: string
  readonly order: Order
  readonly status: 'QUEUED' | 'RUNNING' | 'FINISHED' | 'CANCELLED'
  readonly priority: number
  readonly position: number
  /** In epoch milliseconds of the database, as all that follow. */
  readonly createdAt: number
  readonly runAt: number
  readonly businessKey: string | null
  readonly scheduleId: string | null
  readonly slotAt: number | null
  readonly cancelReason: string | null
  readonly run: StoredRun | null
}

export interface StoredRun {
  readonly runId: string
  readonly status: 'COMPLETED' | 'FAILED' | 'SKIPPED' | null
  readonly reason: string | null
  readonly node: string
  readonly willRetry: boolean
}

export interface StoredGroup {
  readonly groupId: string
  readonly status: string
  readonly isSettled: boolean
  readonly counts: Readonly<Record<'total' | 'completed' | 'failed' | 'skipped' | 'cancelled', number>>
}

/** A direct execution. */
export interface StoredReservation {
  readonly reservationId: string
  /** In the order of arrival. */
  readonly number: number
  readonly type: string
  readonly order: Order
  readonly status: string
  readonly outcome: string | null
  readonly reason: string | null
  readonly result: string | null
  readonly node: string | null
  readonly startedAt: number | null
}

export interface StoredDelivery {
  readonly deliveryId: string
  readonly jobId: string
  readonly event: string
  readonly status: string
  readonly attempts: number
}

export interface StoredSchedule {
  readonly scheduleId: string
  /** Intervals are counted from here. */
  readonly anchorAt: number
  /** Slots that made no Job, with why. */
  readonly skipped: readonly { readonly from: number; readonly to: number; readonly reason: string }[]
}

/** Jobs that were queued or started, or that ended, which some do before they start, in one commit. */
export interface StoredCommit {
  readonly number: number
  readonly queued: readonly string[]
  readonly started: readonly string[]
  readonly ended: readonly string[]
}

export interface History {
  /** The attempts of a chain come in their order. */
  readonly jobs: readonly StoredJob[]
  readonly groups: readonly StoredGroup[]
  readonly reservations: readonly StoredReservation[]
  readonly deliveries: readonly StoredDelivery[]
  readonly schedules: readonly StoredSchedule[]
  /** How often each Job was said to have ended, by the events of all commits. */
  readonly endings: ReadonlyMap<string, number>
  /** In the order in which they were made; null where the store does not tell, because they are made side by side. */
  readonly commits: readonly StoredCommit[] | null
}

/** Reads all of it with plain SQL, past the code that wrote it. */
export async function readHistory(reader: Reader): Promise<History> {
  const [jobs, groups] = [await reader.select<JobRow>(SELECT_JOBS), await reader.select<GroupRow>(SELECT_GROUPS)]
  const schedules = await reader.select<ScheduleRow>(SELECT_SCHEDULES)
  const skips = await reader.select<SkipRow>(SELECT_SKIPS)
  return {
    jobs: jobs.map(toJob),
    groups: groups.map(toGroup),
    reservations: (await reader.select<ReservationRow>(SELECT_RESERVATIONS)).map(toReservation),
    deliveries: (await reader.select<DeliveryRow>(SELECT_DELIVERIES)).map(toDelivery),
    schedules: schedules.map((row) => toSchedule(row, skips)),
    endings: new Map((await reader.select<EndingRow>(SELECT_ENDINGS)).map((row) => [row.job_id, Number(row.endings)])),
    commits: reader.kind === 'sqlite' ? toCommits(await reader.select<EventRow>(SELECT_EVENTS)) : null,
  }
}

type Instant = Date | string | null

interface JobRow {
  readonly job_id: string
  readonly chain_id: string
  readonly attempt: number
  readonly retry_of: string | null
  readonly group_id: string | null
  readonly job_type: string
  readonly params: string
  readonly status: StoredJob['status']
  readonly priority: number
  readonly position: number | string
  readonly created_at: Instant
  readonly run_at: Instant
  readonly business_key: string | null
  readonly schedule_id: string | null
  readonly slot_at: Instant
  readonly cancel_reason: string | null
  readonly run_id: string | null
  readonly run_status: StoredRun['status']
  readonly reason: string | null
  readonly will_retry: boolean | number
  readonly node: string
}

const SELECT_JOBS = `
select j.job_id, j.chain_id, j.attempt, j.retry_of, j.group_id, j.job_type, j.params, j.status, j.priority, j.position,
  j.created_at, j.run_at, j.business_key, j.schedule_id, j.slot_at, j.cancel_reason, r.run_id, r.status as run_status, r.reason, r.will_retry,
  r.node
from pawl.jobs_readable j
left join pawl.runs_readable r using (job_id)
order by j.chain_id, j.attempt`

function toJob(row: JobRow): StoredJob {
  const { run_status: status, reason, node } = row
  const run = { runId: row.run_id ?? '', status, reason, node, willRetry: Boolean(row.will_retry) }
  return {
    jobId: row.job_id,
    chainId: row.chain_id,
    attempt: Number(row.attempt),
    retryOf: row.retry_of,
    groupId: row.group_id,
    type: row.job_type,
    order: JSON.parse(row.params) as Order,
    status: row.status,
    priority: row.priority,
    position: Number(row.position),
    createdAt: toEpochMs(row.created_at) ?? 0,
    runAt: toEpochMs(row.run_at) ?? 0,
    businessKey: row.business_key,
    scheduleId: row.schedule_id,
    slotAt: toEpochMs(row.slot_at),
    cancelReason: row.cancel_reason,
    run: row.run_id === null ? null : run,
  }
}

type GroupRow = Readonly<Record<'total' | 'completed' | 'failed' | 'skipped' | 'cancelled', number>> & {
  readonly group_id: string
  readonly status: string
  readonly finished_at: Instant
}

const SELECT_GROUPS = 'select * from pawl.groups_readable'

function toGroup({
  group_id,
  status,
  finished_at,
  total,
  completed,
  failed,
  skipped,
  cancelled,
}: GroupRow): StoredGroup {
  return {
    groupId: group_id,
    status,
    isSettled: finished_at !== null,
    counts: { total, completed, failed, skipped, cancelled },
  }
}

interface ReservationRow {
  readonly reservation_id: string
  readonly reservation_seq: number | string
  readonly job_type: string
  readonly params: string
  readonly status: string
  readonly outcome: string | null
  readonly reason: string | null
  readonly result: string | null
  readonly node: string | null
  readonly started_at: Instant
}

const SELECT_RESERVATIONS = `
select r.*, s.reservation_seq
from pawl.reservations_readable r
join pawl.reservations s on s.reservation_id = r.reservation_id
order by s.reservation_seq`

function toReservation(row: ReservationRow): StoredReservation {
  const { status, outcome, reason, result, node } = row
  return {
    reservationId: row.reservation_id,
    number: Number(row.reservation_seq),
    type: row.job_type,
    order: JSON.parse(row.params) as Order,
    startedAt: toEpochMs(row.started_at),
    status,
    outcome,
    reason,
    result,
    node,
  }
}

interface DeliveryRow {
  readonly delivery_id: string
  readonly job_id: string
  readonly event: string
  readonly status: string
  readonly attempts: number
}

const SELECT_DELIVERIES = 'select delivery_id, job_id, event, status, attempts from pawl.deliveries_readable'

function toDelivery({ delivery_id, job_id, ...rest }: DeliveryRow): StoredDelivery {
  return { deliveryId: delivery_id, jobId: job_id, ...rest }
}

interface ScheduleRow {
  readonly schedule_id: string
  readonly anchor_at: number | string
}

interface SkipRow {
  readonly schedule_id: string
  readonly first_slot_at: number | string
  readonly last_slot_at: number | string
  readonly reason: string
}

const SELECT_SCHEDULES = 'select schedule_id, anchor_at from pawl.schedules'
const SELECT_SKIPS = 'select schedule_id, first_slot_at, last_slot_at, reason from pawl.skipped_slots'

function toSchedule({ schedule_id, anchor_at }: ScheduleRow, skips: readonly SkipRow[]): StoredSchedule {
  const own = skips.filter((skip) => skip.schedule_id === schedule_id)
  const skipped = own.map(({ first_slot_at, last_slot_at, reason }) => {
    return { from: Number(first_slot_at), to: Number(last_slot_at), reason }
  })
  return { scheduleId: schedule_id, anchorAt: Number(anchor_at), skipped }
}

interface EndingRow {
  readonly job_id: string
  readonly endings: number | string
}

const SELECT_ENDINGS = `
select job_id, count(*) as endings
from pawl.events_readable
where event in ('job.cancelled', 'job.finished')
group by job_id`

interface EventRow {
  readonly seq: number
  readonly event: string
  readonly job_id: string
}

/** A row of events is one commit, and SQLite makes one after the other. */
const SELECT_EVENTS = `
select seq, event, job_id
from pawl.events_readable
where event in ('job.queued', 'schedule.triggered', 'job.started', 'job.cancelled', 'job.finished')
order by seq`

function toCommits(rows: readonly EventRow[]): StoredCommit[] {
  const commits = new Map<number, { queued: string[]; started: string[]; ended: string[] }>()
  for (const { seq, event, job_id } of rows) {
    const commit = commits.get(seq) ?? { queued: [], started: [], ended: [] }
    commits.set(seq, commit)
    if (event === 'job.started') commit.started.push(job_id)
    else if (event === 'job.cancelled' || event === 'job.finished') commit.ended.push(job_id)
    else commit.queued.push(job_id)
  }
  return [...commits].map(([number, commit]) => ({ number, ...commit }))
}
