import type { Life, Liveness } from 'pawl/store'
import type { SimulatedProcess } from './simulated-process.ts'
import type { SimulatedTime } from './time.ts'

// The same times as those of PostgreSQL's store.
const BEAT_EVERY_MS = 5_000
const SILENT_AFTER_MS = 7_500
const FADING_AFTER_MS = 10_000
const DEAD_AFTER_MS = 15_000

/** Proofs of life that all processes see: locks that go with their process. */
export class Locks {
  readonly #holders = new Map<string, SimulatedProcess>()

  of(process: SimulatedProcess): Liveness {
    return {
      begin: async (nodeId): Promise<Life> => {
        this.#holders.set(nodeId, process)
        return {
          beat: async () => 'alive',
          standing: () => 'sound',
          end: async () => void this.#holders.delete(nodeId),
        }
      },
      lastProofs: async () => new Map(),
      isAlive: async (nodeId) => this.#holders.get(nodeId)?.isGone === false,
      bury: async (nodeId) => void this.#holders.delete(nodeId),
      sweep: async (known) => {
        for (const [nodeId, holder] of this.#holders) {
          if (!known.has(nodeId) && holder.isGone) this.#holders.delete(nodeId)
        }
      },
    }
  }
}

interface Seen {
  readonly beat: number
  readonly sinceMs: number
  readonly lookedAtMs: number
}

/** Proofs of life that all processes see: numbers that grow. They work as those of PostgreSQL's store. */
export class Heartbeats {
  readonly #time: SimulatedTime
  readonly #beats = new Map<string, number>()

  constructor(time: SimulatedTime) {
    this.#time = time
  }

  of(process: SimulatedProcess): Liveness {
    const lives = new Set<Life>()
    const seen = new Map<string, Seen>()
    const isUnsound = () => [...lives].some((life) => life.standing() !== 'sound')
    return {
      begin: async (nodeId) => {
        const life = this.#begin(process, nodeId, () => lives.delete(life))
        lives.add(life)
        return life
      },
      lastProofs: async () => new Map(),
      isAlive: async (nodeId) => {
        const beat = this.#beats.get(nodeId)
        if (beat === undefined) {
          seen.delete(nodeId)
          return false
        }
        const nowMs = this.#time.elapsed
        const before = seen.get(nodeId)
        const isProof = before !== undefined && nowMs - before.lookedAtMs < SILENT_AFTER_MS && !isUnsound()
        const sinceMs = isProof && before.beat === beat ? before.sinceMs : nowMs
        seen.set(nodeId, { beat, sinceMs, lookedAtMs: nowMs })
        return nowMs - sinceMs < DEAD_AFTER_MS
      },
      bury: async (nodeId) => {
        const last = seen.get(nodeId)
        if (last !== undefined && this.#beats.get(nodeId) === last.beat) this.#beats.delete(nodeId)
        seen.delete(nodeId)
      },
      sweep: async () => {},
    }
  }

  #begin(process: SimulatedProcess, nodeId: string, ended: () => void): Life {
    let provenAt = this.#time.elapsed
    let wasLost = false
    let isOver = false
    const begin = () => void this.#beats.set(nodeId, (this.#beats.get(nodeId) ?? 0) + 1)
    begin()
    const beatAgain = (): void => {
      if (isOver) return
      if (!process.isCutOff) {
        if (this.#beats.has(nodeId)) {
          begin()
          provenAt = this.#time.elapsed
        } else wasLost = true
      }
      this.#time.after(BEAT_EVERY_MS, process, beatAgain)
    }
    this.#time.after(BEAT_EVERY_MS, process, beatAgain)
    const standing = () => {
      const forMs = this.#time.elapsed - provenAt
      if (forMs < SILENT_AFTER_MS) return 'sound'
      return forMs < FADING_AFTER_MS ? 'silent' : 'fading'
    }
    return {
      standing,
      beat: async () => {
        if (!wasLost) return standing() === 'sound' ? 'alive' : 'lost'
        begin()
        provenAt = this.#time.elapsed
        wasLost = false
        return 'lost'
      },
      end: async () => {
        isOver = true
        ended()
        this.#beats.delete(nodeId)
      },
    }
  }
}
