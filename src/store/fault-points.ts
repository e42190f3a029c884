/**
 * Named places at which a test may crash the process or make a call fail. In use nobody listens, and passing one costs a
 * comparison.
 */
export type FaultPoint =
  /** Before each statement that writes. */
  | 'store:statement'
  /** A transaction is complete but not committed. */
  | 'store:before-commit'
  /** Committed, but nobody has been told. */
  | 'store:after-commit'
  /** Jobs are claimed; no body has begun. */
  | 'dispatcher:claimed'
  /** A body has ended; its outcome is not written. */
  | 'executor:body-ended'
  /** A dead node was found; nothing of it has been recovered. */
  | 'recovery:node-found'
  /** All Runs of a dead node are ended; its row is still there. */
  | 'recovery:runs-ended'

let listener: ((point: FaultPoint) => void) | null = null

export function passFaultPoint(point: FaultPoint): void {
  if (listener !== null) listener(point)
}

/** Calls `listen` at each fault point; null to stop. What it throws is thrown there. */
export function onFaultPoint(listen: ((point: FaultPoint) => void) | null): void {
  listener = listen
}
