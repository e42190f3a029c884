import { jobStatusAfter } from '../../../domain/job.ts'
import type { FinishedRun, FinishResult, FollowUpResult, RetryOrder } from '../../../store/runs.ts'
import { answerEnded, columnsOfOutcome, type EndedRunRow } from '../../shared/ended-runs.ts'
import { countCancelled, countRun } from '../../shared/tallies.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { carryOut } from './cascades.ts'
import { endedClaim, readSubscribers, settleChains, tellCancelled, tellRunEnd } from './ended.ts'
import { enqueueOrDrop } from './enqueue.ts'
import { releaseBusinessKey } from './keys.ts'
import { lockChains } from './locks.ts'
import { findLiveNodeSeq } from './nodes.ts'
import { freeOccupancies } from './release.ts'
import { noteProgress, writeReport } from './reports.ts'
import { insertRetries } from './retry.ts'
import { internNode } from './tallies.ts'

/** A Run that this transaction ends. */
interface End {
  readonly run: FinishedRun
  readonly seq: number
  readonly chainSeq: number
  /** Null also when somebody asked for the cancellation. */
  readonly retry: RetryOrder | null
  /** The node that says so. */
  readonly nodeSeq: number
}

/**
 * Ends Runs in any way. All their chains are locked before anything is decided, so nobody else ends, cancels or continues one
 * of them meanwhile, and whoever names one as a parent is seen.
 */
export async function finishRuns(
  transaction: Transaction,
  runs: readonly FinishedRun[],
  newId: () => string,
): Promise<FinishResult[]> {
  const [first] = runs
  if (first === undefined) return []
  const ends = await lockEnds(transaction, runs)
  await writeEnds(transaction.connection, ends)
  await freeOccupancies(
    transaction.connection,
    ends.filter(({ run }) => run.body === 'ended').map(({ seq }) => seq),
  )
  await readSubscribers(transaction)
  for (const end of ends) await noteEnd(transaction, end)
  await continueChains(transaction, ends)
  const nodeSeq = transaction.cascades.length === 0 ? null : await findLiveNodeSeq(transaction.connection, first.by)
  await carryOut(transaction, { nodeSeq, newId }, first.finishedAt)
  return answerAll(transaction, runs, ends)
}

// The chains of retries, and of Jobs that follow-ups name as their parents.
const SELECT_CHAINS = `
select j.job_id, coalesce(c.seq, j.seq) as chain_seq
from pawl.jobs j
left join pawl.jobs c on c.job_id = j.chain_id
where j.job_id = any($1::text[])`

// One row per Run that has not ended yet, and does not until this transaction ends. In this order, as whoever reports on
// them locks them too. The order to cancel a whole group may not have reached this member yet.
const LOCK_OPEN_RUNS = `
select r.seq, r.run_id, j.cancel_requested_at is not null or g.cancel_requested_at is not null as is_cancel_requested
from pawl.runs r
join pawl.jobs j on j.seq = r.seq
left join pawl.groups g on g.group_id = j.group_id
where r.seq = any($1::bigint[]) and r.status is null
order by r.seq
for no key update of r`

interface OpenRow {
  seq: number
  run_id: string
  is_cancel_requested: boolean
}

/** Locks all chains, then says which of these Runs are still to be ended, each once. */
async function lockEnds(transaction: Transaction, runs: readonly FinishedRun[]): Promise<End[]> {
  const { connection } = transaction
  const retried = runs.filter(({ job }) => job.attempt > 1).map(({ job }) => job.chainId)
  const awaited = runs.flatMap(({ followUps }) => followUps.flatMap(({ dependsOn }) => dependsOn))
  const chainSeqs = new Map<string, number>()
  if (retried.length + awaited.length > 0) {
    type Row = { job_id: string; chain_seq: number }
    const rows = await connection.all<Row>(SELECT_CHAINS, [...new Set([...retried, ...awaited])])
    for (const { job_id, chain_seq } of rows) chainSeqs.set(job_id, chain_seq)
  }
  const seqs = runs.map(({ job }) => Number(job.claim.ref))
  const chainOf = (run: FinishedRun, seq: number) =>
    run.job.attempt === 1 ? seq : (chainSeqs.get(run.job.chainId) ?? seq)
  await lockChains(connection, [
    ...runs.map((run, index) => chainOf(run, seqs[index] as number)),
    // Before anything else, so that all are taken in order.
    ...awaited.flatMap((jobId) => chainSeqs.get(jobId) ?? []),
  ])
  const open = new Map((await connection.all<OpenRow>(LOCK_OPEN_RUNS, seqs)).map((row) => [row.seq, row]))
  const ends: End[] = []
  for (const [index, run] of runs.entries()) {
    const seq = seqs[index] as number
    const row = open.get(seq)
    if (row === undefined || row.run_id !== run.job.claim.runId) continue
    open.delete(seq)
    // Somebody may have asked for it after the engine last looked. Then no retry follows, whatever the engine ordered.
    const retry = row.is_cancel_requested ? null : run.retry
    ends.push({ run, seq, chainSeq: chainOf(run, seq), retry, nodeSeq: await internNode(transaction, run.by) })
  }
  return ends
}

// As many rows as were given: nobody has ended them before. What was not COMPLETED is found among its kind, too.
const END_RUNS = `
with ended as (
  update pawl.runs r
  set status = given.status, reason = given.reason, finished_at = given.finished_at, finished_by = given.finished_by,
    will_retry = given.will_retry, exit_code = given.exit_code, result = given.result, error = given.error,
    stack = given.stack
  from unnest(
    $1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::integer[], $6::boolean[], $7::integer[], $8::text[], $9::text[],
    $10::text[]
  ) as given (seq, status, reason, finished_at, finished_by, will_retry, exit_code, result, error, stack)
  where r.seq = given.seq and r.status is null
  returning r.seq, r.status, r.started_at, r.will_retry
)
insert into pawl.uncompleted_runs (status, started_at, seq, will_retry)
select status, started_at, seq, will_retry
from ended
where status <> 'COMPLETED'`

// Only for Jobs whose bodies were aborted: every other end follows from the Run.
const MARK_CANCELLED = `
update pawl.jobs j
set cancelled_at = given.at
from unnest($1::bigint[], $2::bigint[]) as given (seq, at)
where j.seq = given.seq`

async function writeEnds(connection: Connection, ends: readonly End[]): Promise<void> {
  if (ends.length === 0) return
  const columns = ends.map(({ run }) => columnsOfOutcome(run.outcome))
  await connection.run(
    END_RUNS,
    ends.map(({ seq }) => seq),
    ends.map(({ run }) => run.outcome.status),
    columns.map(({ reason }) => reason),
    ends.map(({ run }) => run.finishedAt),
    ends.map(({ run, nodeSeq }) => (run.by === run.job.claim.nodeId ? null : nodeSeq)),
    ends.map(({ retry }) => retry !== null),
    columns.map(({ exitCode }) => exitCode),
    columns.map(({ result }) => result),
    columns.map(({ error }) => error),
    columns.map(({ stack }) => stack),
  )
  const cancelled = ends.filter(({ run }) => jobStatusAfter(run.outcome) === 'CANCELLED')
  if (cancelled.length === 0) return
  await connection.run(
    MARK_CANCELLED,
    cancelled.map(({ seq }) => seq),
    cancelled.map(({ run }) => run.finishedAt),
  )
}

/** Counts it, writes its last report, and notes what everybody is told. */
async function noteEnd(transaction: Transaction, { run, seq, chainSeq, retry, nodeSeq }: End): Promise<void> {
  const { job, outcome, finishedAt } = run
  const { jobId, runId } = job.claim
  const { runAt, startedAt } = job
  countRun(transaction, nodeSeq, { status: outcome.status, runAt, startedAt, finishedAt })
  const status = jobStatusAfter(outcome)
  if (status === 'CANCELLED') countCancelled(transaction, finishedAt, nodeSeq)
  await writeReport(transaction, seq, run.report)
  noteProgress(transaction, seq, job, run.report, finishedAt)
  transaction.note(seq, {
    kind: status === 'CANCELLED' ? 'job.cancelled' : 'job.finished',
    jobId,
    runId,
    chainId: job.chainId,
    type: job.type,
    status,
    outcome: outcome.status,
    reason: outcome.status === 'FAILED' ? outcome.reason : null,
    attempt: job.attempt,
    at: finishedAt,
  })
  const ended = endedClaim(job, chainSeq)
  tellRunEnd(transaction, ended, outcome.status, retry !== null, finishedAt)
  if (status === 'CANCELLED') tellCancelled(transaction, ended, finishedAt)
}

/** Each chain goes on with its retry, or has settled. */
async function continueChains(transaction: Transaction, ends: readonly End[]): Promise<void> {
  await insertRetries(
    transaction,
    ends.flatMap(({ run, seq, retry }) =>
      retry === null
        ? []
        : [{ predecessorSeq: seq, order: retry, awaitsPredecessor: run.body === 'executing', now: run.finishedAt }],
    ),
  )
  const settled = ends.filter(({ retry }) => retry === null)
  for (const { run } of settled) {
    const { businessKey, chainId } = run.job
    if (businessKey !== null && run.body === 'ended') await releaseBusinessKey(transaction, businessKey, chainId)
  }
  await settleChains(
    transaction,
    settled.map(({ run, chainSeq }) => ({
      job: endedClaim(run.job, chainSeq),
      outcome: jobStatusAfter(run.outcome) === 'CANCELLED' ? 'CANCELLED' : run.outcome.status,
      at: run.finishedAt,
      by: 'itself',
    })),
  )
}

const SELECT_ENDED = `
select r.status, r.reason, r.finished_at, coalesce(f.node_id, n.node_id) as finished_by, next.job_id as retry_job_id
from pawl.runs r
join pawl.nodes n on n.node_seq = r.node_seq
join pawl.jobs j on j.seq = r.seq
left join pawl.nodes f on f.node_seq = r.finished_by
left join pawl.jobs next on next.retry_of = j.job_id
where r.run_id = $1`

/** Follow-ups come when all Runs of the list have ended. */
async function answerAll(
  transaction: Transaction,
  runs: readonly FinishedRun[],
  ends: readonly End[],
): Promise<FinishResult[]> {
  const endOf = new Map(ends.map((end) => [end.run, end]))
  const answers: FinishResult[] = []
  for (const run of runs) {
    const end = endOf.get(run)
    if (end === undefined) {
      const row = await transaction.connection.get<EndedRunRow>(SELECT_ENDED, run.job.claim.runId)
      answers.push(answerEnded(row, run))
      continue
    }
    const followUps = await writeFollowUps(transaction, run)
    answers.push({ kind: 'finished', retryJobId: end.retry?.jobId ?? null, followUps })
  }
  return answers
}

async function writeFollowUps(transaction: Transaction, run: FinishedRun): Promise<FollowUpResult[]> {
  const results: FollowUpResult[] = []
  if (run.outcome.status !== 'COMPLETED') return results
  for (const job of run.followUps) results.push(await enqueueOrDrop(transaction, job, run.finishedAt))
  return results
}
