/** What came of Jobs. Counted in the transaction that ended them, so that nobody ever counts over history. */
export interface Counts {
  /** Runs that have ended. */
  readonly executed: number
  readonly completed: number
  readonly failed: number
  readonly skipped: number
  /** Jobs that became CANCELLED, before they ran or because their body was aborted. */
  readonly cancelled: number
}

/** What one node ended within one hour. */
export interface HourOfNode extends Counts {
  /** The first instant of the hour. */
  readonly hourAt: number
  /** Null: nobody's in particular, or that of nodes whose hours have been added up. */
  readonly nodeId: string | null
  /** How long the bodies of those Runs took together. */
  readonly runMs: number
  /** How long those Runs had been ready before they started, together. */
  readonly waitMs: number
}

/** What stands in the queue right now. */
export interface QueueCounts {
  /** QUEUED Jobs; no more than `countMax` are counted. */
  readonly queued: number
  /** Of them, those that nothing but limits and places keeps from starting. Counted up to the same number. */
  readonly ready: number
  readonly running: number
  /** The instant since which the oldest ready Job at the head of its lane has waited, or null. */
  readonly oldestReadyAt: number | null
  /** Tickets of direct executions that wait, and those that execute. */
  readonly waitingTickets: number
  readonly runningDirects: number
}

export interface StatisticsStore {
  readTotals(): Promise<Counts>

  /** Hours from `from` on, oldest first. */
  listHours(from: number, limit: number): Promise<readonly HourOfNode[]>

  /** Adds up the hours of all nodes before this instant, so that their number does not grow for ever. */
  foldHours(before: number): Promise<void>

  countQueue(countMax: number): Promise<QueueCounts>
}
