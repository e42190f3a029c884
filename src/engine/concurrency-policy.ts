/** What a node asks before each claim. */
export interface ClaimQuestion {
  /** Places in which a body could start right now. */
  readonly freePlaces: number
  /** Bodies that execute on this node, by type. */
  readonly executing: ReadonlyMap<string, number>
  /** The types this node handles. */
  readonly types: readonly string[]
}

/**
 * Decides how many Jobs of which types a node claims. It is asked once per claim, never once per Job, and it can only
 * hold back: limits of the store and the number of free places hold whatever it says.
 */
export interface ConcurrencyPolicy {
  /** How many of each type may be claimed now. A type that is missing is not claimed. */
  decideClaims(question: ClaimQuestion): ReadonlyMap<string, number>
}

/** The default: whatever comes next in the queue, in every free place. */
export const fillFreePlaces: ConcurrencyPolicy = {
  decideClaims: ({ freePlaces, types }) => new Map(types.map((type) => [type, freePlaces])),
}
