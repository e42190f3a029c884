import { simulate } from './simulate.ts'

/** What came of one seed. */
export interface Examined {
  readonly seed: number
  readonly messages: readonly string[]
  readonly counts: readonly (readonly [string, number])[]
}

/** Runs it twice: what cannot be repeated could not be examined either. */
export async function examine(seed: number): Promise<Examined> {
  try {
    const simulated = await simulate(seed)
    const again = await simulate(seed, { isExamined: false })
    const isSame = simulated.hash === again.hash
    const messages = [...simulated.contradictions, ...(isSame ? [] : ['The same seed gave another run.'])]
    return { seed, messages, counts: [...simulated.counts, ['steps', simulated.steps]] }
  } catch (error) {
    return { seed, messages: [error instanceof Error ? (error.stack ?? error.message) : String(error)], counts: [] }
  }
}
