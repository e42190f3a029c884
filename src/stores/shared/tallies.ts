import type { RunStatus } from '../../domain/run.ts'

/** What ended within one minute, for one node; 0: nobody's in particular. */
export interface Tally {
  readonly beganAt: number
  readonly nodeSeq: number
  executed: number
  completed: number
  failed: number
  skipped: number
  cancelled: number
  runMs: number
  waitMs: number
}

/** What a transaction has counted so far. */
interface Counting {
  readonly tallies: Tally[]
}

const MINUTE_MS = 60_000

/** Whoever ends what no node in particular ends, such as a person who cancels. */
const NOBODY = 0

/** Counts a Run that got its outcome in this transaction. */
export function countRun(
  transaction: Counting,
  nodeSeq: number,
  run: {
    readonly status: RunStatus
    readonly runAt: number
    readonly startedAt: number
    readonly finishedAt: number
  },
): void {
  const tally = tallyOf(transaction, nodeSeq, run.finishedAt)
  tally.executed++
  if (run.status === 'COMPLETED') tally.completed++
  else if (run.status === 'FAILED') tally.failed++
  else tally.skipped++
  // A clock that was set back must not make a counter fall.
  tally.runMs += Math.max(0, run.finishedAt - run.startedAt)
  tally.waitMs += Math.max(0, run.startedAt - run.runAt)
}

/** Counts a Job that became CANCELLED in this transaction. */
export function countCancelled(transaction: Counting, at: number, nodeSeq = NOBODY): void {
  tallyOf(transaction, nodeSeq, at).cancelled++
}

/** Most transactions end Runs of one node within one minute. */
function tallyOf({ tallies }: Counting, nodeSeq: number, at: number): Tally {
  const beganAt = at - (at % MINUTE_MS)
  for (const tally of tallies) if (tally.beganAt === beganAt && tally.nodeSeq === nodeSeq) return tally
  const counts = { executed: 0, completed: 0, failed: 0, skipped: 0, cancelled: 0, runMs: 0, waitMs: 0 }
  const tally = { beganAt, nodeSeq, ...counts }
  tallies.push(tally)
  return tally
}
