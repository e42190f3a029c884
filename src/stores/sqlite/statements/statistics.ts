import type { Counts, HourOfNode, QueueCounts } from '../../../store/statistics.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

export function readTotals(_connection: Connection): Counts {
  throw new Error('being built')
}

export function listHours(_connection: Connection, _from: number, _limit: number): HourOfNode[] {
  throw new Error('being built')
}

export function foldHours(_transaction: Transaction, _before: number): void {
  throw new Error('being built')
}

export function countQueue(_connection: Connection, _countMax: number): QueueCounts {
  throw new Error('being built')
}
