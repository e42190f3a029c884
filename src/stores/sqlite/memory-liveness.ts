import type { Life, Liveness } from '../../store/nodes.ts'

/** A database in memory dies with its process, so whoever can ask is alive, and so is everybody who has not left. */
export class MemoryLiveness implements Liveness {
  readonly #living = new Set<string>()

  async begin(nodeId: string): Promise<Life> {
    this.#living.add(nodeId)
    return {
      beat: async () => 'alive',
      standing: () => 'sound',
      end: async () => void this.#living.delete(nodeId),
    }
  }

  async isAlive(nodeId: string): Promise<boolean> {
    return this.#living.has(nodeId)
  }

  async lastProofs(): Promise<ReadonlyMap<string, number>> {
    return new Map()
  }

  async bury(): Promise<void> {}

  async sweep(): Promise<void> {}
}
