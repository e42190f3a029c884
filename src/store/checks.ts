/** An invariant of docs/reliability.md that the database alone can show, or the health of the database itself. */
export interface Fault {
  /** `I5`, or `integrity`. */
  readonly invariant: string
  /** What is wrong, in one sentence. */
  readonly message: string
  /** What to do about it. */
  readonly advice: string
  /** The rows concerned, at most `ROWS_LISTED_MAX` ids. */
  readonly rows: readonly string[]
  readonly count: number
  /** Recovery repairs it by itself when a node starts, or `doctor --fix` does. */
  readonly isRepairable: boolean
}

export const ROWS_LISTED_MAX = 20

/** What was looked at, also when nothing was wrong. */
export interface CheckedInvariant {
  readonly invariant: string
  readonly title: string
  readonly faults: readonly Fault[]
}

export interface CheckStore {
  /** Reads the whole store, in one snapshot. Takes long on a large one, and changes nothing. */
  checkInvariants(now: number): Promise<readonly CheckedInvariant[]>
}
