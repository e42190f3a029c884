import type { Client } from '../../client/index.ts'
import type { ActiveDirect, RunningBody, ShownProgress, Snapshot, WaitingJob, WatchState } from './watch-state.ts'

/** More than a screen shows. */
const ITEMS_MAX = 50

/** Asks the API how things stand. Costs a handful of requests, whatever the backlog. */
export async function readSnapshot(client: Client, state: WatchState, signal: AbortSignal): Promise<Snapshot> {
  const limit = ITEMS_MAX
  const [status, running, queue, waiting, executing] = await Promise.all([
    client.request('GET /api/scheduler/status', { signal }),
    client.request('GET /api/jobs', { query: { status: 'RUNNING', limit }, signal }),
    client.request('GET /api/jobs', { query: { status: 'QUEUED', limit }, signal }),
    client.request('GET /api/reservations', { query: { status: 'WAITING', limit }, signal }),
    client.request('GET /api/reservations', { query: { status: 'RUNNING', limit }, signal }),
  ])
  return {
    nodes: status.nodes.filter(({ alive, claims }) => alive && claims).length,
    queueLength: `${status.queue_length}${status.queue_length_capped ? '+' : ''}`,
    running: await Promise.all(
      running.items.map(async (job) => toRunning(job, await knownProgress(client, state, job, signal))),
    ),
    queue: queue.items.map(toWaiting),
    directs: [...executing.items, ...waiting.items].map(toDirect),
  }
}

type Job = Awaited<ReturnType<Client['jobs']['get']>>

function toRunning(job: Job, progress: ShownProgress | null): RunningBody {
  return {
    jobId: job.job_id,
    type: job.job_type,
    name: job.name,
    attempt: job.attempt,
    startedAt: Date.parse(job.started_at ?? job.queued_at),
    isCancelRequested: job.cancel_requested_at !== null,
    progress,
  }
}

function toWaiting(job: Job): WaitingJob {
  return {
    jobId: job.job_id,
    type: job.job_type,
    name: job.name,
    attempt: job.attempt,
    priority: job.priority,
    hold: job.hold,
    runAt: Date.parse(job.run_at),
  }
}

function toDirect(reservation: {
  readonly reservation_id: string
  readonly job_type: string
  readonly status: string
  readonly created_at: string
  readonly started_at: string | null
}): ActiveDirect {
  return {
    reservationId: reservation.reservation_id,
    type: reservation.job_type,
    status: reservation.status === 'RUNNING' ? 'RUNNING' : 'WAITING',
    since: Date.parse(reservation.started_at ?? reservation.created_at),
  }
}

/** A body that began before we listened is asked once; of the others the events tell. */
async function knownProgress(
  client: Client,
  state: WatchState,
  job: Job,
  signal: AbortSignal,
): Promise<ShownProgress | null> {
  const known = state.snapshot.running.find(({ jobId }) => jobId === job.job_id)
  if (known !== undefined) return known.progress
  if (Date.parse(job.started_at ?? job.queued_at) > state.listeningSince) return null
  const { items } = await client.request('GET /api/job-runs', { query: { job_id: job.job_id, limit: 1 }, signal })
  return items[0]?.progress ?? null
}

/** Looks up what the events did not say of results that are on the screen. */
export async function describeResults(
  client: Client,
  state: WatchState,
  count: number,
  signal: AbortSignal,
): Promise<void> {
  const unknown = state.recent.latest(count).filter(({ details }) => details === null)
  await Promise.all(
    unknown.map(async ({ jobId, runId, reason }) => {
      const [job, run] = await Promise.all([
        client.jobs.get(jobId).catch(() => null),
        runId === null
          ? null
          : client.request('GET /api/job-runs/{run_id}', { params: { run_id: runId }, signal }).catch(() => null),
      ])
      state.recent.describe(jobId, job?.name ?? null, {
        durationMs: run?.duration_ms ?? null,
        error: run?.error ?? (reason === null ? (job?.cancel_reason ?? null) : null),
      })
    }),
  )
}

/** What ended before we looked, the latest first. */
export async function recallResults(client: Client, state: WatchState, signal: AbortSignal): Promise<void> {
  const { items } = await client.request('GET /api/job-runs', { query: { limit: 20 }, signal })
  const ended = items.filter((run) => run.finished_at !== null)
  await Promise.all(
    ended.map(async (run) => {
      const job = await client.jobs.get(run.job_id)
      state.recent.put({
        jobId: run.job_id,
        runId: run.run_id,
        type: job.job_type,
        name: job.name,
        attempt: run.attempt,
        outcome: job.status === 'CANCELLED' ? 'CANCELLED' : (run.status ?? 'FINISHED'),
        reason: run.reason,
        at: run.finished_at ?? run.started_at,
        details: { durationMs: run.duration_ms, error: run.error },
      })
    }),
  )
}
