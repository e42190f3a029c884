/** Seeds that once showed something wrong. They are run first, whenever the simulation is part of the tests. */
export const REGRESSIONS: readonly number[] = []
