/** Something that tries to break Pawl, over and over, and says what it found. */
export interface Campaign {
  /** As in `npm run torture -- kill`. */
  readonly name: string
  /** What it does, in one line of the help. */
  readonly about: string
  /** How much of it: kills, seeds, minutes. */
  readonly amount: Amount
  /** The stores that it may be told to use, the usual one first. None: it knows by itself. */
  readonly stores?: readonly StoreKind[]
  /** The names of its parts, in a campaign that can be told to do only one. */
  readonly parts?: readonly string[]
  /** Why it cannot be done on this machine, and what would help; null when it can. */
  readonly obstacle?: () => string | null
  readonly run: (conditions: Conditions) => Promise<Outcome>
}

export type StoreKind = 'sqlite' | 'postgres'

export interface Amount {
  /** The option that sets it: `seeds`. */
  readonly name: string
  /** What is counted, in the plural, where the option does not say it. */
  readonly of?: string
  readonly usual: number
  /** For `--short`, which is what `npm test` runs. */
  readonly short: number
}

export interface Conditions {
  /** Decides everything that is left to chance. */
  readonly seed: number
  readonly amount: number
  readonly store: StoreKind
  /** Whether it is part of `npm test`, and must not take long. */
  readonly isShort: boolean
  /** Whether it ends with the first violation. */
  readonly endsWithFirst: boolean
  /** Only the part of this name, in a campaign that has parts with names. Null: all of it. */
  readonly only: string | null
  /** Whether what comes of it goes into docs/reliability.md. */
  readonly writesDocs: boolean
  readonly progress: Progress
  /** Aborted when somebody wants it to end: then it ends soon, and tells what it has seen until then. */
  readonly signal: AbortSignal
}

export interface Progress {
  /** So much of the amount is done. */
  done(amount: number): void
  /** Something that should be seen at once. */
  tell(line: string): void
}

export interface Outcome {
  /** How much of the amount was done. */
  readonly done: number
  /** How often it could have gone wrong: the bound is told for these. */
  readonly trials: number
  /** What else was counted, such as `{ jobs: 120_000, crashes: 311 }`. */
  readonly counts: Readonly<Record<string, number>>
  readonly violations: readonly Violation[]
  /** Of all that happened, where the seed decides all of it: the same command gives the same again, on any machine. */
  readonly trace?: string
}

export interface Violation {
  /** What shows it again: the arguments behind `npm run torture --`. */
  readonly replay: string
  /** What was wrong, one sentence each, beginning with the invariant where it has a number: `I4: …`. */
  readonly messages: readonly string[]
}
