/** A scheduler that executes on this store, or waits for a direct execution. */
export interface NodeRecord {
  readonly nodeId: string
  readonly name: string
  readonly host: string
  readonly pid: number
  readonly types: readonly string[]
  readonly concurrency: number
  readonly startedAt: number
  /** Whether it claims: not before its start, nor after its stop. */
  readonly claims: boolean
}

export interface NodeStore {
  registerNode(node: NodeRecord): Promise<void>

  /** It was started or stopped. */
  setNodeClaims(nodeId: string, claims: boolean): Promise<void>

  /** `occupied`: bodies are still recorded there; end them first. */
  removeNode(nodeId: string, now: number): Promise<'removed' | 'occupied'>

  listNodes(): Promise<readonly NodeRecord[]>
}

/**
 * Who lives. A port of its own, because what proves life differs: a lock that the kernel drops with the process, a
 * heartbeat in the database, or, in memory, nothing but being there.
 */
export interface Liveness {
  /** Begins a life. Taken before the node's row is written, so that a row without a life is a dead node. */
  begin(nodeId: string): Promise<Life>
  /** False only when the node is certainly dead. */
  isAlive(nodeId: string): Promise<boolean>
  /**
   * When each of these nodes last proved its life, where proofs come from time to time. Of others nothing is told: that they
   * live, or do not, is known at once.
   */
  lastProofs(nodeIds: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Clears away what a dead node left, after its row is gone. */
  bury(nodeId: string): Promise<void>
  /** Clears away the remains of lives that never got a row. `known` are the nodes that have one. */
  sweep(known: ReadonlySet<string>): Promise<void>
}

export interface Life {
  /** Shows that it goes on. `lost`: for a while it could not, and others may have taken it for dead; it must register anew. */
  beat(): Promise<'alive' | 'lost'>
  /**
   * How sure others can be of it right now. `silent`: a proof is overdue, so nothing new may begin. `fading`: soon others may
   * take it for dead, so what must not be executed twice at once has to stop. Costs nothing to ask.
   */
  standing(): 'sound' | 'silent' | 'fading'
  end(): Promise<void>
}
