import type { DirectExecutions } from '../engine/direct-execution.ts'
import type { RecoveryStats } from '../engine/recovery.ts'
import type { OperationContext } from '../operations/context.ts'
import type { Logger } from '../platform/logger.ts'

/** What the HTTP API and the CLI need of a scheduler to call the operations themselves. */
export interface Door {
  readonly context: OperationContext
  readonly directs: DirectExecutions
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
  start(): Promise<RecoveryStats>
  stop(timeoutMs: number): Promise<{ readonly stillRunning: readonly string[] }>
  /** Something may have changed that the store gives no sign of, such as a limit. */
  wake(): void
}

export { DOOR } from '../operations/door.ts'
