import type { Standing } from '../../../domain/standing.ts'
import type { Connection } from '../connection.ts'
import { type JobRow, toJob } from '../rows.ts'
import type { Interned } from '../transaction.ts'
import { findJobRow } from './history.ts'
import { readEnded } from './standing-ended.ts'
import { readQueued } from './standing-queued.ts'
import { readGroupOrder, readRun } from './standing-run.ts'

export function findStanding(connection: Connection, interned: Interned, jobId: string, now: number): Standing | null {
  // One read transaction: what another process commits meanwhile is not seen, so the facts fit together.
  connection.control('begin')
  try {
    const row = findJobRow(connection, { jobId })
    return row === undefined ? null : readStanding(connection, interned, row, now)
  } finally {
    connection.control('commit')
  }
}

function readStanding(connection: Connection, interned: Interned, row: JobRow, now: number): Standing {
  const job = toJob(row, connection, interned, now)
  switch (job.status) {
    case 'QUEUED':
      return readQueued(connection, interned, row, job, now)
    case 'RUNNING':
      return { kind: 'running', job, run: readRun(connection, row.seq), groupOrder: readGroupOrder(connection, row) }
    case 'CANCELLED':
    case 'FINISHED':
      return readEnded(connection, interned, row, job, now)
  }
}
