import type { EventRow } from '../../../store/events.ts'
import type { Transaction } from '../transaction.ts'
import { insertEventRow } from './events.ts'
import { enterLaneJobs } from './lane-jobs.ts'
import { writeTallies } from './tallies.ts'

/** What every transaction writes when all else is written, because it sums that up. Null: nothing happened to a Job. */
export function writeLast(transaction: Transaction): EventRow | null {
  writeTallies(transaction)
  enterLaneJobs(transaction)
  return insertEventRow(transaction)
}
