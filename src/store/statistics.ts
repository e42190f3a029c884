/**
 * What came of Jobs. Counted in the transaction that ended them, so that nobody ever counts over history; what is pruned
 * stays counted. Direct executions are no Jobs and never counted.
 */
export interface Counts {
  /** Runs that have ended: the sum of the next three. */
  readonly executed: number
  readonly completed: number
  readonly failed: number
  readonly skipped: number
  /**
   * Jobs that became CANCELLED. Before they ran, they count only here. One whose body was aborted has a Run that FAILED, so
   * it counts here and in `executed` and `failed`.
   */
  readonly cancelled: number
}

/** What one node ended within one hour. */
export interface HourOfNode extends Counts {
  /** The first instant of the hour. 0: all hours that were added up because they are long ago. */
  readonly hourAt: number
  /** The node that ended them. Null: nobody's in particular, or those of all nodes, added up. */
  readonly nodeId: string | null
  /** How long those Runs took together, from their start to their outcome. */
  readonly runMs: number
  /** How long after the `runAt` of their Jobs those Runs started, together. */
  readonly waitMs: number
}

/** What ended within one minute, on all nodes together. */
export interface MinuteCounts extends Counts {
  /** The first instant of the minute. */
  readonly minuteAt: number
  /** As of an hour. */
  readonly runMs: number
  readonly waitMs: number
}

/** What stands in the queue right now. */
export interface QueueCounts {
  /** QUEUED Jobs; no more than `countMax` are counted. */
  readonly queued: number
  /** Of them, those that nothing but limits, places and nodes keeps from starting. Counted up to the same number. */
  readonly ready: number
  readonly running: number
  /**
   * Since when the oldest of those has been ready that would start next. Null: none is ready. A Job behind more urgent ones
   * of its type may have waited longer: looking at each would cost as much as the queue is long.
   */
  readonly oldestReadyAt: number | null
  /** Tickets of direct executions that wait, and those that execute. */
  readonly waitingTickets: number
  readonly runningDirects: number
}

/** Jobs that have ended; no more than `countMax` of each are counted. */
export interface EndedCounts {
  /** Jobs with a Run that has ended, also one that was aborted. */
  readonly finished: number
  readonly cancelled: number
}

export interface StatisticsStore {
  /** Everything that was ever counted. */
  readTotals(): Promise<Counts>

  /** Hours from `from` on, oldest first. */
  listHours(from: number, limit: number): Promise<readonly HourOfNode[]>

  /**
   * Minutes in which something ended, from `from` on and before `before`, oldest first. Of hours whose minutes were added up
   * there is one, the first, and it tells the whole hour.
   */
  listMinutes(from: number, before: number): Promise<readonly MinuteCounts[]>

  /**
   * Adds up the minutes before `before` into their hours, for each node, without changing any sum. A page ends with the minute in
   * which `limit` rows are reached. Returns how many rows it added up: fewer than `limit` means that all are done.
   */
  foldMinutes(request: { readonly before: number; readonly limit: number }): Promise<number>

  /**
   * Keeps the number of rows bounded, without changing any sum: adds up the nodes of each hour that began before
   * `nodesBefore`, and all hours that began before `hoursBefore`.
   */
  foldHours(request: { readonly nodesBefore: number; readonly hoursBefore: number }): Promise<void>

  /** Looks at no more than `countMax` rows for each number. */
  countQueue(countMax: number, now: number): Promise<QueueCounts>

  /** Looks at no more than `countMax` rows for each number, and at some that execute. */
  countEnded(countMax: number): Promise<EndedCounts>
}
