/** What came of one trial. */
export interface TrialResult {
  /** What was wrong, one sentence each. */
  readonly wrongs: readonly string[]
  readonly counts: Readonly<Record<string, number>>
}
