import type { Transition } from '../../../store/events.ts'
import type { FinishedRun } from '../../../store/runs.ts'
import type { SqlValue } from '../connection.ts'
import { LIMITS_STAY } from './limits.ts'

/**
 * A Run whose end concerns nobody but itself, as far as its node knows: it went well at the first attempt, and there is no
 * group, schedule, key, parent or follow-up to see to. Whether somebody waits for it is seen when it is written.
 */
export function isPlainEnd({ job, by, outcome, retry, followUps, report, body }: FinishedRun): boolean {
  return (
    outcome.status === 'COMPLETED' &&
    retry === null &&
    body === 'ended' &&
    by === job.claim.nodeId &&
    job.attempt === 1 &&
    job.groupId === null &&
    job.scheduleId === null &&
    job.businessKey === null &&
    job.webhookUrl === null &&
    !job.hasParents &&
    followUps.length === 0 &&
    report.logs.length === 0 &&
    report.logsDropped === 0 &&
    report.artifacts.length === 0 &&
    report.progress === null
  )
}

// The parts of a statement. `ended` has one row per Run that was ended. Left alone are those whose chains somebody else has
// locked or waits for, those that have ended before, and all of them when a webhook listens: they take the general way. Nothing
// here waits for the lock of a chain. Each row is looked up by its number, whatever PostgreSQL believes of the size of the
// tables: where it counted none, it would compare each Run with every row.
export const PLAIN_FINISH = `
ending as materialized (
  select g.*, j.at
  from unnest(
    $1::bigint[], $2::text[], $3::bigint[], $4::integer[], $5::text[], $6::integer[], $7::bigint[], $8::bigint[]
  ) with ordinality as g (seq, run_id, finished_at, exit_code, result, node_seq, run_ms, wait_ms, place)
  cross join lateral (
    select (select r.ctid from pawl.runs r where r.seq = g.seq and r.run_id = g.run_id) as at
    from pawl.jobs j
    where j.seq = g.seq and not j.awaited
    limit 1
    for no key update skip locked
  ) j
  where not exists (select 1 from pawl.webhooks w where w.deleted_at is null and w.enabled)
),
ended as (
  update pawl.runs r
  set status = 'COMPLETED', finished_at = l.finished_at, exit_code = l.exit_code, result = l.result
  from ending l
  where r.ctid = l.at and r.run_id = l.run_id and r.status is null
  returning r.seq, l.place, l.finished_at, l.node_seq, l.run_ms, l.wait_ms
),
freed as (
  delete from pawl.occupancies
  where seq = any(array(select seq from ended)) and ${LIMITS_STAY}
  returning seq, has_permits
),
released as (
  update pawl.permits
  set job_seq = null
  where job_seq = any(array(select seq from freed where has_permits))
),
counted as (
  insert into pawl.statistics as s (began_at, node_seq, executed, completed, run_ms, wait_ms)
  select finished_at - finished_at % 60000, node_seq, count(*), count(*), sum(run_ms), sum(wait_ms)
  from ended
  group by 1, 2
  order by 1, 2
  on conflict (began_at, node_seq) do update
  set executed = s.executed + excluded.executed,
    completed = s.completed + excluded.completed,
    run_ms = s.run_ms + excluded.run_ms,
    wait_ms = s.wait_ms + excluded.wait_ms
),
told_ended as (
  insert into pawl.events (seq, part, at, transitions)
  select pg_current_xact_id()::text::bigint, 0, max(g.at), json_agg(g.stored order by g.at)::text
  from (
    select finished_at as at,
      json_build_array('job.finished', finished_at, 'COMPLETED', null, json_agg(seq order by place)) as stored
    from ended
    group by finished_at
  ) g
  having count(*) > 0
)`

/** The numbers of the Jobs whose Runs were ended, in the order in which that is told. Null: none. */
export const ENDED_SEQS = '(select array_agg(seq order by finished_at, place) from ended)'

/** The number of the transaction. Null: it has written nothing. */
export const WRITTEN_AS = 'pg_current_xact_id_if_assigned()::text::bigint'

// One row.
export const FINISH_PLAIN = `
with ${PLAIN_FINISH}
select ${ENDED_SEQS} as ended, ${WRITTEN_AS} as xid`

export interface EndedRow {
  readonly ended: string | null
  readonly xid: number | null
}

/** A call that wants plain Runs ended. */
export interface PlainFinish {
  readonly runs: readonly FinishedRun[]
  /** Of the node that ended each. */
  readonly nodeSeqs: readonly number[]
}

/** The values of `PLAIN_FINISH`. */
export function plainFinishValues(ends: readonly PlainFinish[]): SqlValue[] {
  const runs = ends.flatMap((end) => end.runs)
  return [
    runs.map(({ job }) => Number(job.claim.ref)),
    runs.map(({ job }) => job.claim.runId),
    runs.map(({ finishedAt }) => finishedAt),
    runs.map(({ outcome }) => (outcome.status === 'COMPLETED' ? outcome.exitCode : null)),
    runs.map(({ outcome }) => (outcome.status === 'COMPLETED' ? outcome.result : null)),
    ends.flatMap(({ nodeSeqs }) => nodeSeqs),
    // A clock that was set back must not make a counter fall.
    runs.map(({ job, finishedAt }) => Math.max(0, finishedAt - job.startedAt)),
    runs.map(({ job }) => Math.max(0, job.startedAt - job.runAt)),
  ]
}

/** The Runs that were ended, in the order in which that is told. */
export function readEnded(ends: readonly PlainFinish[], row: Pick<EndedRow, 'ended'> | undefined): FinishedRun[] {
  const seqs = row?.ended ?? null
  if (seqs === null) return []
  const bySeq = new Map(ends.flatMap(({ runs }) => runs).map((run) => [`${run.job.claim.ref}`, run]))
  return seqs
    .slice(1, -1)
    .split(',')
    .flatMap((seq) => bySeq.get(seq) ?? [])
}

/** What everybody is told of Runs that were ended. */
export function tellEnded(runs: readonly FinishedRun[]): Transition[] {
  return runs.map(({ job, finishedAt }) => {
    return {
      kind: 'job.finished' as const,
      jobId: job.claim.jobId,
      runId: job.claim.runId,
      chainId: job.chainId,
      type: job.type,
      status: 'FINISHED' as const,
      outcome: 'COMPLETED' as const,
      reason: null,
      attempt: job.attempt,
      at: finishedAt,
    }
  })
}
