import type { Counts } from '../store/statistics.ts'
import type { OperationContext } from './context.ts'
import { QUEUE_COUNT_MAX } from './statistics.ts'

/** How the store stands, whichever node asks. */
export interface StoreStatus {
  /** Counted up to `QUEUE_COUNT_MAX`. */
  readonly queueLength: number
  readonly isQueueLengthCapped: boolean
  readonly totals: Counts
  /** A direct execution waits or executes. */
  readonly hasActiveReservation: boolean
}

export async function readStatus({ store, clock }: OperationContext): Promise<StoreStatus> {
  const [totals, queue] = await Promise.all([store.readTotals(), store.countQueue(QUEUE_COUNT_MAX + 1, clock.now())])
  return {
    queueLength: Math.min(queue.queued, QUEUE_COUNT_MAX),
    isQueueLengthCapped: queue.queued > QUEUE_COUNT_MAX,
    totals,
    hasActiveReservation: queue.waitingTickets + queue.runningDirects > 0,
  }
}
