import type { PostRequest, PostResult } from 'pawl'
import type { Chance } from '../chance.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import type { SimulatedTime } from './time.ts'
import type { Witness } from './witness.ts'

/** No name has to be looked up for it. */
export const HOOK_URL = 'https://93.184.215.14/hook'

const TIMEOUT_MS = 10_000

/** Whoever is told of the ends of Jobs: takes messages, refuses some, and never answers others. */
export class Receiver {
  readonly #time: SimulatedTime
  readonly #chance: Chance
  readonly #witness: Witness
  readonly #misbehaves: () => boolean

  constructor(time: SimulatedTime, chance: Chance, witness: Witness, misbehaves: () => boolean) {
    this.#time = time
    this.#chance = chance
    this.#witness = witness
    this.#misbehaves = misbehaves
  }

  /** How a process sends: a process that is gone or stopped hears no answer. */
  of(process: SimulatedProcess): (request: PostRequest) => Promise<PostResult> {
    return async ({ url, headers, body, signal }) => {
      const way = this.#misbehaves()
        ? this.#chance.of(['takes', 'refuses', 'takes-silently', 'is-silent'] as const)
        : 'takes'
      const latencyMs = way === 'takes' || way === 'refuses' ? this.#chance.below(50) : TIMEOUT_MS
      if (way !== 'is-silent') {
        const wasTaken = way !== 'refuses'
        this.#witness.posts.push({ at: this.#time.elapsed, url, id: headers['webhook-id'] ?? '', body, wasTaken })
      }
      try {
        await process.wait(latencyMs, signal)
      } catch {
        return { kind: 'failed', latencyMs, message: 'Stopped before the answer was complete.' }
      }
      if (way === 'takes' || way === 'refuses') {
        return { kind: 'answered', statusCode: way === 'takes' ? 200 : 500, latencyMs, excerpt: '', retryAfterMs: null }
      }
      return { kind: 'failed', latencyMs, message: 'No answer in time.' }
    }
  }
}
