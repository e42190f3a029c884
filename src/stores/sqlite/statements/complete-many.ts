import type { Outcome } from '../../../domain/run.ts'
import type { Claim, FinishedRun } from '../../../store/runs.ts'
import { type Connection, MANY } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { isUnbroken } from '../unbroken.ts'

// As many rows as Runs were given: finished. Fewer: some of them have ended before. Two lists instead of one of pairs, because that
// is twice as fast; the number of a Job belongs to one Run only, so they cannot be confused.
const COMPLETE_RUNS = `
update pawl_runs
set status = 'COMPLETED', will_retry = 0, finished_at = ?, exit_code = ?, result = ?
where seq in (select value from json_each(?)) and run_id in (select value from json_each(?)) and status is null`

// Jobs that were claimed together mostly end together, and their numbers follow each other: so less than half the time is needed.
// The Runs of a range that nobody has ended, in the order of their numbers.
const SELECT_OPEN_RUNS = `
select group_concat(run_id, ' ') as run_ids
from (select run_id from pawl_runs where seq between ? and ? and status is null order by seq)`

// As many rows as there are numbers in the range: inside the write lock, all of its Runs were just seen to be open.
const COMPLETE_RANGE = `
update pawl_runs
set status = 'COMPLETED', will_retry = 0, finished_at = ?, exit_code = ?, result = ?
where seq between ? and ?`

const SHORT_RESULT_LENGTH = 100

/** Ends Runs that completed alike, as most do, if they are many. Returns which it has ended. */
export function completeMany(transaction: Transaction, runs: readonly FinishedRun[]): ReadonlySet<string | number> {
  if (runs.length < MANY) return NONE
  const completed = new Set<string | number>()
  for (const { outcome, finishedAt, claims } of groupAlike(runs)) {
    if (claims.length < MANY || !completeAll(transaction.connection, outcome, finishedAt, claims)) continue
    for (const { ref } of claims) completed.add(ref)
  }
  return completed
}

type Completed = Outcome & { readonly status: 'COMPLETED' }

interface Alike {
  readonly outcome: Completed
  readonly finishedAt: number
  readonly claims: Claim[]
}

/** At the same instant with the same result, which is a short one where many have it: nothing, or a word. */
function groupAlike(runs: readonly FinishedRun[]): Iterable<Alike> {
  const groups = new Map<string, Alike>()
  // Those that end alike mostly follow each other.
  let last: Alike | null = null
  for (const { job, by, outcome, finishedAt } of runs) {
    if (outcome.status !== 'COMPLETED' || by !== job.claim.nodeId) continue
    const { result, exitCode } = outcome
    if (last !== null && last.finishedAt === finishedAt && isAlike(last.outcome, outcome)) {
      last.claims.push(job.claim)
      continue
    }
    if (result !== null && result.length > SHORT_RESULT_LENGTH) continue
    const key: string = `${finishedAt} ${exitCode} ${result}`
    last = groups.get(key) ?? { outcome, finishedAt, claims: [] }
    last.claims.push(job.claim)
    groups.set(key, last)
  }
  return groups.values()
}

function isAlike(a: Completed, b: Completed): boolean {
  return a.result === b.result && a.exitCode === b.exitCode
}

/** False: some of them had ended before. Nothing was written then; one by one it is found out which. */
function completeAll(
  connection: Connection,
  outcome: Completed,
  finishedAt: number,
  claims: readonly Claim[],
): boolean {
  const inOrder = claims.toSorted((a, b) => Number(a.ref) - Number(b.ref))
  const seqs = inOrder.map(({ ref }) => Number(ref))
  return isUnbroken(seqs)
    ? completeRange(connection, outcome, finishedAt, inOrder)
    : completeListed(connection, outcome, finishedAt, inOrder)
}

function completeRange(
  connection: Connection,
  { exitCode, result }: Completed,
  finishedAt: number,
  claims: readonly Claim[],
): boolean {
  const first = Number(claims[0]?.ref)
  const last = first + claims.length - 1
  const open = connection.get<{ run_ids: string | null }>(SELECT_OPEN_RUNS, first, last)?.run_ids
  if (open !== claims.map(({ runId }) => runId).join(' ')) return false
  connection.run(COMPLETE_RANGE, finishedAt, exitCode, result, first, last)
  return true
}

function completeListed(
  connection: Connection,
  { exitCode, result }: Completed,
  finishedAt: number,
  claims: readonly Claim[],
): boolean {
  const refs = JSON.stringify(claims.map(({ ref }) => ref))
  const runIds = JSON.stringify(claims.map(({ runId }) => runId))
  connection.control('savepoint completing')
  const isWhole = connection.run(COMPLETE_RUNS, finishedAt, exitCode, result, refs, runIds) === claims.length
  if (!isWhole) connection.control('rollback to completing')
  connection.control('release completing')
  return isWhole
}

const NONE: ReadonlySet<string | number> = new Set()
