import { simulate } from './simulate.ts'

/** What came of one seed. */
export interface Examined {
  readonly seed: number
  /** Of all that happened in it. Null: it could not be run to its end. */
  readonly hash: string | null
  readonly messages: readonly string[]
  readonly counts: readonly (readonly [string, number])[]
}

/** One seed in so many is run twice, and so is every seed that something was found with. */
const REPEATED_EVERY = 8

/** What cannot be repeated could not be examined either. */
export async function examine(seed: number): Promise<Examined> {
  try {
    const { hash, steps, counts, contradictions } = await simulate(seed)
    const isRepeated = contradictions.length > 0 || seed % REPEATED_EVERY === 0
    const isSame = !isRepeated || (await simulate(seed, { isExamined: false })).hash === hash
    return {
      seed,
      hash,
      messages: [...contradictions, ...(isSame ? [] : ['The same seed gave another run.'])],
      counts: [...counts, ['steps', steps], ...(isRepeated ? [['runs repeated', 1] as const] : [])],
    }
  } catch (error) {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
    return { seed, hash: null, messages: [message], counts: [] }
  }
}
