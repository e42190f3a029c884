import type { CheckedInvariant } from '../../../store/checks.ts'
import type { Connection } from '../connection.ts'

export function checkInvariants(_connection: Connection, _now: number): CheckedInvariant[] {
  throw new Error('being built')
}
