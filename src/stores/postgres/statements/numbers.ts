import type { Connection } from '../connection.ts'

const TAKE_SEQS = "select nextval('pawl.job_seq') as seq from generate_series(1, $1)"

/** Numbers for new Jobs, in order. They are never given again, whatever becomes of the transaction. */
export async function takeSeqs(connection: Connection, count: number): Promise<number[]> {
  return (await connection.all<{ seq: number }>(TAKE_SEQS, count)).map(({ seq }) => seq)
}

const TAKE_POSITION = "select 100 * nextval('pawl.job_seq') as position"

/** A position behind everything that has one. */
export async function takeLastPosition(connection: Connection): Promise<number> {
  return (await connection.get<{ position: number }>(TAKE_POSITION))?.position ?? 0
}
