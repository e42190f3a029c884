import type { Standing } from '../../../domain/standing.ts'
import type { Connection } from '../connection.ts'
import { type JobRow, toJob } from '../rows.ts'
import { findJobRow } from './history.ts'
import { readEnded } from './standing-ended.ts'
import { readQueued } from './standing-queued.ts'
import { readGroupOrder, readRun } from './standing-run.ts'

/** All of it must read one snapshot, so that the facts fit together. */
export async function findStanding(connection: Connection, jobId: string, now: number): Promise<Standing | null> {
  const row = await findJobRow(connection, { jobId })
  return row === undefined ? null : readStanding(connection, row, now)
}

async function readStanding(connection: Connection, row: JobRow, now: number): Promise<Standing> {
  const job = await toJob(row, connection, now)
  switch (job.status) {
    case 'QUEUED':
      return readQueued(connection, row, job, now)
    case 'RUNNING': {
      const run = await readRun(connection, row.seq)
      return { kind: 'running', job, run, groupOrder: await readGroupOrder(connection, row) }
    }
    case 'CANCELLED':
    case 'FINISHED':
      return readEnded(connection, row, job, now)
  }
}
