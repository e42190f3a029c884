import type { BulkRunner } from '../engine/bulk-runner.ts'
import type { DirectExecutions } from '../engine/direct-execution.ts'
import type { RecoveryStats } from '../engine/recovery.ts'
import type { OperationContext } from '../operations/context.ts'
import type { Logger } from '../platform/logger.ts'
import type { SchedulerLife } from './scheduler-life.ts'

/** What the HTTP API and the CLI need of a scheduler to call the operations themselves. */
export interface Door {
  readonly context: OperationContext
  readonly directs: DirectExecutions
  /** Carries out bulk operations in this process, once it is started. */
  readonly bulk: Pick<BulkRunner, 'start'>
  readonly logger: Logger
  readonly node: NodeControl
  /** Calls back when the scheduler begins to close. */
  readonly atClose: (callback: () => void) => void
}

/** This process as a node. */
export interface NodeControl {
  readonly nodeId: string
  readonly name: string
  readonly concurrency: number
  readonly isStarted: boolean
  readonly isClosing: boolean
  /** The Jobs and the reservations whose bodies execute here. */
  readonly executing: readonly string[]
  readonly executingDirect: readonly string[]
  /** What the last start recovered; null: it was never started. */
  readonly lastRecovery: RecoveryStats | null
  /** Makes it known that this process is there, though it is not started yet: `why` then says so. */
  join(): Promise<void>
  start(): Promise<RecoveryStats>
  stop(timeoutMs: number): Promise<{ readonly stillRunning: readonly string[] }>
  /** Something may have changed that the store gives no sign of, such as a limit. */
  wake(): void
}

export { DOOR } from '../operations/door.ts'

/** A scheduler as the node it is. */
export class NodeOf implements NodeControl {
  readonly name: string
  readonly concurrency: number
  readonly #life: SchedulerLife

  constructor(life: SchedulerLife, { name, concurrency }: { readonly name: string; readonly concurrency: number }) {
    this.name = name
    this.concurrency = concurrency
    this.#life = life
  }

  get nodeId(): string {
    return this.#life.node.nodeId
  }

  get isStarted(): boolean {
    return this.#life.node.isStarted
  }

  get isClosing(): boolean {
    return this.#life.isClosing
  }

  get executing(): readonly string[] {
    return this.#life.node.executing
  }

  get executingDirect(): readonly string[] {
    return this.#life.node.executingDirect
  }

  get lastRecovery(): RecoveryStats | null {
    return this.#life.lastRecovery
  }

  join(): Promise<void> {
    return this.#life.join()
  }

  start(): Promise<RecoveryStats> {
    return this.#life.start()
  }

  stop(timeoutMs: number): Promise<{ readonly stillRunning: readonly string[] }> {
    return this.#life.stop(timeoutMs)
  }

  wake(): void {
    this.#life.node.wake()
  }
}
