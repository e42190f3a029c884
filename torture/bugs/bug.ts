/** A mistake that somebody could make, and that is planted to see whether a campaign finds it. */
export interface Bug {
  readonly name: string
  /** The mistake, in one sentence for the table of docs/reliability.md. */
  readonly mistake: string
  /** What is written instead of what, each in one place of src/. */
  readonly edits: readonly Edit[]
  /** What finds it, with the arguments of one try. */
  readonly caughtBy: Catcher
}

export interface Edit {
  /** Below src/. */
  readonly file: string
  /** Stands there exactly once. */
  readonly find: string
  readonly replace: string
}

export interface Catcher {
  readonly campaign: string
  /** How much of it at most. */
  readonly amount: number
  readonly store?: 'sqlite' | 'postgres'
  readonly only?: string
}
