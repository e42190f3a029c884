import { PawlError } from '../domain/errors.ts'
import { readWhole } from '../domain/options.ts'
import { BulkRunner } from '../engine/bulk-runner.ts'
import { DirectExecutions } from '../engine/direct-execution.ts'
import { GroupSettlements } from '../engine/group-settlements.ts'
import { SchedulerNode } from '../engine/node.ts'
import type { RecoveryStats } from '../engine/recovery.ts'
import { Settlements } from '../engine/settlements.ts'
import type { OperationContext } from '../operations/context.ts'
import { prepare } from '../operations/enqueue-jobs.ts'
import { type EnqueueOptions, readEnqueueOptions } from '../operations/enqueue-options.ts'
import type { StoreSignal } from '../store/events.ts'
import type { NewJob } from '../store/jobs.ts'
import type { Store } from '../store/store.ts'
import { composeBackground } from './background.ts'
import { EventListeners } from './event-listeners.ts'
import { typeName } from './job-type.ts'
import type { CheckedOptions } from './scheduler-options.ts'

/** The parts of a scheduler that live as long as it does: how they start, stop and end together. */
export class SchedulerLife {
  readonly node: SchedulerNode
  readonly directs: DirectExecutions
  /** Works from the first start on, or from when this process started an operation. */
  readonly bulk: BulkRunner
  readonly settlements: Settlements
  readonly groupSettlements: GroupSettlements
  readonly events: EventListeners
  readonly #store: Store
  readonly #options: CheckedOptions
  readonly #unsubscribe: () => void
  readonly #atClose: (() => void)[] = []
  #starting: Promise<RecoveryStats> | null = null
  #lastRecovery: RecoveryStats | null = null
  #closed: Promise<void> | null = null
  #isClosed = false

  constructor(context: OperationContext, options: CheckedOptions) {
    const { store, clock, newId } = context
    const { logger } = options
    this.#store = store
    this.#options = options
    this.settlements = new Settlements(store, clock)
    this.groupSettlements = new GroupSettlements(store, clock)
    this.events = new EventListeners(store, clock, logger)
    this.bulk = new BulkRunner({ store, clock, logger, newId })
    const nodeId = newId()
    this.node = new SchedulerNode({
      store,
      clock,
      random: options.random,
      newId,
      logger,
      nodeId,
      name: options.name,
      concurrency: options.concurrency,
      policy: options.policy,
      types: options.types,
      background: [...composeBackground(context, options, nodeId), this.bulk],
      prepareFollowUp: (type, params, followUp) => prepareFollowUp(context, type, params, followUp as EnqueueOptions),
      lateFinish: (late) => this.events.emit('run.late', late),
      nodeRecovered: (node, stats) => this.events.emit('node.recovered', { node, stats }),
    })
    this.directs = new DirectExecutions({ store, clock, newId, logger, node: this.node })
    this.#unsubscribe = store.subscribe((signal) => this.#hear(signal))
  }

  /** It was told to close, and may have done so. */
  get isClosing(): boolean {
    return this.#closed !== null
  }

  /** What the last start recovered; null: it was never started. */
  get lastRecovery(): RecoveryStats | null {
    return this.#lastRecovery
  }

  /** Lives before its first start: executes nothing, but carries out bulk operations, for which no handler is needed. */
  async join(): Promise<void> {
    this.refuseClosed()
    await this.node.join()
    this.bulk.start()
  }

  async start(): Promise<RecoveryStats> {
    if (this.#closed !== null) throw closedError()
    if (this.node.isStarted || this.#starting !== null) {
      throw new PawlError(
        'already_started',
        'This scheduler is started already. Call stop() before you start it again.',
      )
    }
    this.#starting = this.node.start()
    try {
      this.#lastRecovery = await this.#starting
      return this.#lastRecovery
    } finally {
      this.#starting = null
    }
  }

  async stop(timeoutMs: number): Promise<{ readonly stillRunning: readonly string[] }> {
    this.refuseClosed()
    readWhole(timeoutMs, 0, 2_147_483_647, 'timeoutMs')
    await this.#starting?.catch(() => {})
    return { stillRunning: await this.node.stop(timeoutMs) }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  /** Calls back when it begins to close. */
  atClose(callback: () => void): void {
    this.#atClose.push(callback)
  }

  async call<T>(work: () => Promise<T>): Promise<T> {
    this.refuseClosed()
    return work()
  }

  refuseClosed(): void {
    if (this.#isClosed) throw closedError()
  }

  #hear(signal: StoreSignal): void {
    this.node.hear(signal)
    this.settlements.hear(signal)
    this.groupSettlements.hear(signal)
    this.directs.hear(signal)
    this.events.hear(signal)
  }

  async #close(): Promise<void> {
    for (const callback of this.#atClose) callback()
    await this.#starting?.catch(() => {})
    await this.bulk.stop()
    await this.directs.beginClosing(closedError())
    // Bodies that still execute may use this scheduler to their end; only then it refuses.
    const { left } = await this.node.leave(this.#options.shutdownTimeoutMs).finally(() => {
      this.#isClosed = true
      this.settlements.close(closedError())
      this.groupSettlements.close(closedError())
      this.directs.close(closedError())
    })
    if (left === null) return this.#letGo()
    // The bodies that ignored the abort keep the store open until they end, or the process does.
    left
      .then(() => this.#letGo())
      .catch((error) => this.#options.logger.error({ error }, 'The store could not be closed'))
  }

  async #letGo(): Promise<void> {
    this.#unsubscribe()
    await this.#store.close()
  }
}

function prepareFollowUp(
  context: OperationContext,
  type: unknown,
  params: unknown,
  options: EnqueueOptions,
): NewJob | Promise<NewJob> {
  return prepare(context, readEnqueueOptions(typeName(type as string), params, options, context.clock.now()))
}

function closedError(): PawlError {
  return new PawlError('closed', 'This scheduler is closed. Open a new one with openScheduler().')
}
