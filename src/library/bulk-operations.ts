import type { BulkOperation } from '../domain/bulk-operation.ts'
import {
  abortOperation,
  type BulkMatch,
  type BulkOptions,
  countForOperation,
  getOperation,
  listOperations,
  startOperation,
} from '../operations/bulk-operations.ts'
import type { OperationContext } from '../operations/context.ts'
import type { Page } from '../store/jobs.ts'

export interface BulkOperationsParts {
  readonly context: OperationContext
  /** Refuses when the scheduler is closed. */
  readonly call: <T>(work: () => Promise<T>) => Promise<T>
  /** From now on this process carries out operations, also if it executes no Jobs. */
  readonly carryOut: () => void
}

/** Many Jobs at once: `scheduler.operations`. */
export class BulkOperations {
  readonly #parts: BulkOperationsParts

  /** @internal */
  constructor(parts: BulkOperationsParts) {
    this.#parts = parts
  }

  /**
   * Orders to cancel or retry all Jobs that match, or those that are named. Once this resolves, the order survives a crash. It is
   * carried out page by page, by this process or any node; Jobs that are accepted later are not touched.
   */
  start(options: BulkOptions): Promise<BulkOperation> {
    return this.#parts.call(async () => {
      const operation = await startOperation(this.#parts.context, options)
      this.#parts.carryOut()
      return operation
    })
  }

  /** How many Jobs `start` with the same options would concern, up to 10,000. Changes nothing. */
  count(options: BulkOptions): Promise<BulkMatch> {
    return this.#parts.call(() => countForOperation(this.#parts.context, options))
  }

  get(operationId: string): Promise<BulkOperation> {
    return this.#parts.call(() => getOperation(this.#parts.context, operationId))
  }

  /** Newest first. */
  list(options?: Parameters<typeof listOperations>[1]): Promise<Page<BulkOperation>> {
    return this.#parts.call(() => listOperations(this.#parts.context, options))
  }

  /** Ends it after the page that is under way. What was done stays. */
  abort(operationId: string): Promise<BulkOperation> {
    return this.#parts.call(() => abortOperation(this.#parts.context, operationId))
  }
}
