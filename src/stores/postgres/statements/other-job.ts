import { decideHold } from '../../../domain/job.ts'
import type { OtherJob } from '../../../domain/standing.ts'
import type { Connection } from '../connection.ts'
import { FROM_JOBS, JOB_COLUMNS, type JobRow, statusOf } from '../rows.ts'
import { findJobRow, findLastOfChain } from './history.ts'
import { chainSeqOf } from './parents.ts'

const SELECT_JOB_BY_SEQ = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where j.seq = $1`

const SELECT_RETRY_OF = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where j.retry_of = $1`

// 1 row: somebody named a parent for which it waits. 0 rows: it waits for its turn in a group.
const SELECT_NAMED_PARENT = `
select 1 as found
from pawl.dependencies
where child_seq = $1 and met = 0 and not of_group
limit 1`

/** Finds Jobs that one Job is bound up with, as much of them as is said of them. */
export class OtherJobs {
  readonly #connection: Connection
  readonly #now: number

  constructor(connection: Connection, now: number) {
    this.#connection = connection
    this.#now = now
  }

  /** The last Job of the chain that is numbered so. Null: pruned. */
  async lastOfChain(chainSeq: number): Promise<OtherJob | null> {
    const first = await this.#connection.get<JobRow>(SELECT_JOB_BY_SEQ, chainSeq)
    return first === undefined ? null : this.lastOf(first)
  }

  /** The last Job of the chain to which this one belongs. Null: pruned. */
  async lastOfChainWith(jobId: string): Promise<OtherJob | null> {
    const row = await findJobRow(this.#connection, { jobId })
    return row === undefined ? null : this.lastOf(row)
  }

  async lastOf(row: JobRow): Promise<OtherJob> {
    return this.#toOtherJob(await findLastOfChain(this.#connection, row))
  }

  async retryOf(jobId: string): Promise<OtherJob | null> {
    const row = await this.#connection.get<JobRow>(SELECT_RETRY_OF, jobId)
    return row === undefined ? null : this.#toOtherJob(row)
  }

  async #toOtherJob(row: JobRow): Promise<OtherJob> {
    const status = statusOf(row)
    const awaits = await this.#awaits(row)
    const facts = { runAt: row.run_at, awaitsPredecessor: row.awaits_predecessor === true, awaits }
    return {
      jobId: row.job_id,
      type: row.type,
      attempt: row.attempt,
      status,
      hold: status === 'QUEUED' ? decideHold(facts, this.#now) : null,
      outcome: row.run_status,
      runAt: row.run_at,
      isByHand: row.retry_of !== null && row.error_retries + row.crash_retries + row.shutdown_retries === 0,
    }
  }

  async #awaits(row: JobRow): Promise<'nobody' | 'parents' | 'group'> {
    if (row.unmet_parents === null || row.unmet_parents === 0) return 'nobody'
    const childSeq = row.chain_id === null ? row.seq : ((await chainSeqOf(this.#connection, row.chain_id)) ?? row.seq)
    return (await this.#connection.get(SELECT_NAMED_PARENT, childSeq)) === undefined ? 'group' : 'parents'
  }
}
