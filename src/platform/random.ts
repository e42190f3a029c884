/** Chance is an argument too, so that a test can repeat it. */
export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number
}

export const systemRandom: Random = { next: () => Math.random() }
