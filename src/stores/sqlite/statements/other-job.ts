import { decideHold } from '../../../domain/job.ts'
import type { OtherJob } from '../../../domain/standing.ts'
import type { Connection } from '../connection.ts'
import { FROM_JOBS, JOB_COLUMNS, type JobRow, statusOf } from '../rows.ts'
import type { Interned } from '../transaction.ts'
import { findJobRow, findLastOfChain } from './history.ts'
import { laneById } from './interned.ts'
import { chainSeqOf } from './parents.ts'

const SELECT_JOB_BY_SEQ = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where j.seq = ?`

const SELECT_RETRY_OF = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where j.retry_of = ?`

// 1 row: somebody named a parent for which it waits. 0 rows: it waits for its turn in a group.
const SELECT_NAMED_PARENT = `
select 1 as found
from pawl_dependencies
where child_seq = ? and met = 0 and of_group = 0
limit 1`

/** Finds Jobs that one Job is bound up with, as much of them as is said of them. */
export class OtherJobs {
  readonly #connection: Connection
  readonly #interned: Interned
  readonly #now: number

  constructor(connection: Connection, interned: Interned, now: number) {
    this.#connection = connection
    this.#interned = interned
    this.#now = now
  }

  /** The last Job of the chain that is numbered so. Null: pruned. */
  lastOfChain(chainSeq: number): OtherJob | null {
    const first = this.#connection.get<JobRow>(SELECT_JOB_BY_SEQ, chainSeq)
    return first === undefined ? null : this.lastOf(first)
  }

  /** The last Job of the chain to which this one belongs. Null: pruned. */
  lastOfChainWith(jobId: string): OtherJob | null {
    const row = findJobRow(this.#connection, { jobId })
    return row === undefined ? null : this.lastOf(row)
  }

  lastOf(row: JobRow): OtherJob {
    return this.#toOtherJob(findLastOfChain(this.#connection, row))
  }

  retryOf(jobId: string): OtherJob | null {
    const row = this.#connection.get<JobRow>(SELECT_RETRY_OF, jobId)
    return row === undefined ? null : this.#toOtherJob(row)
  }

  #toOtherJob(row: JobRow): OtherJob {
    const status = statusOf(row)
    const facts = { runAt: row.run_at, awaitsPredecessor: row.awaits_predecessor === 1, awaits: this.#awaits(row) }
    return {
      jobId: row.job_id,
      type: laneById(this.#connection, this.#interned, row.lane_id).type,
      attempt: row.attempt,
      status,
      hold: status === 'QUEUED' ? decideHold(facts, this.#now) : null,
      outcome: row.run_status,
      runAt: row.run_at,
      isByHand: row.retry_of !== null && row.error_retries + row.crash_retries + row.shutdown_retries === 0,
    }
  }

  #awaits(row: JobRow): 'nobody' | 'parents' | 'group' {
    if (row.unmet_parents === null || row.unmet_parents === 0) return 'nobody'
    const childSeq = row.chain_id === null ? row.seq : (chainSeqOf(this.#connection, row.chain_id) ?? row.seq)
    return this.#connection.get(SELECT_NAMED_PARENT, childSeq) === undefined ? 'group' : 'parents'
  }
}
