// What was said outside while a trace was taken, line by line in a file that the trace follows too. So it is known for every
// moment what somebody could rely on.
import type { Order } from './acts.ts'

export type Said = { readonly at: number } /** Before anything is sent; there may never be an answer. */ & (
  | { readonly is: 'asked'; readonly orders: readonly Order[] }
  | {
      readonly is: 'accepted'
      readonly n: number
      readonly type: string
      readonly jobId: string
      readonly key: string | null
    }
  /** Of a whole chain, by the id of its first Job. */
  | {
      readonly is: 'settled'
      readonly jobId: string
      readonly outcome: string
      readonly attempts: number
      readonly result: unknown
    }
  /** With a number of its own, because somebody else may want the same at the same time. */
  | { readonly is: 'cancelling'; readonly jobId: string; readonly id: string }
  | { readonly is: 'cancelled'; readonly jobId: string; readonly id: string; readonly kind: 'cancelled' | 'requested' }
  | { readonly is: 'retrying'; readonly jobId: string }
  /** Null: it was refused. */
  | { readonly is: 'retried'; readonly jobId: string; readonly newJobId: string | null }
  | { readonly is: 'editing'; readonly jobId: string; readonly order: Order }
  | { readonly is: 'edited'; readonly jobId: string; readonly order: Order }
  | { readonly is: 'group'; readonly groupId: string; readonly jobIds: readonly string[] }
  | { readonly is: 'group-settled'; readonly groupId: string; readonly status: string }
  | { readonly is: 'schedule'; readonly scheduleId: string }
  | { readonly is: 'ending-schedule'; readonly scheduleId: string }
  | { readonly is: 'webhook'; readonly webhookId: string }
  | { readonly is: 'received'; readonly deliveryId: string }
  /** A body, before it does anything. */
  | { readonly is: 'began'; readonly jobId: string; readonly runId: string }
  | { readonly is: 'direct'; readonly reservationId: string; readonly result: unknown }
  /** With the Jobs that had ended before. */
  | { readonly is: 'pruning'; readonly ended: readonly string[] }
  /** With those of them that were found gone afterwards. */
  | { readonly is: 'pruned'; readonly gone: readonly string[] }
  /** Somebody was told that it is not done, and why. With the numbers of what was asked for. */
  | { readonly is: 'refused'; readonly code: string; readonly message: string; readonly numbers: readonly number[] }
  | { readonly is: 'failed'; readonly act: string; readonly message: string }
)

/** The file in the folder of the database. */
export const SAID_FILE = 'said.log'

/** The database in its folder. */
export const DATABASE_FILE = 'pawl.db'

type WithoutAt<Line> = Line extends unknown ? Omit<Line, 'at'> : never

export type Say = (line: WithoutAt<Said>) => void
