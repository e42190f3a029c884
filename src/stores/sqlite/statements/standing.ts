import type { Standing } from '../../../store/standing.ts'
import type { Connection } from '../connection.ts'
import type { Interned } from '../transaction.ts'

export function findStanding(
  _connection: Connection,
  _interned: Interned,
  _jobId: string,
  _now: number,
): Standing | null {
  throw new Error('being built')
}
